// Small charts: one line over time each, with its newest value beside its name.

import { make, short } from "./dom.js";

const POINTS = 512; // points; when there are more, every second one is dropped

// Points of all charts of a lane, for the whole race in bounded room.
export class Series {
  constructor(width) {
    this.width = width;
    this.clear();
  }

  clear() {
    this.ticks = [];
    this.values = [];
    this.every = 1;
    this.count = 0;
  }

  add(tick, values) {
    if (this.ticks.length && tick <= this.ticks[this.ticks.length - 1]) return;
    if (this.count++ % this.every !== 0) return;
    this.ticks.push(tick);
    this.values.push(values);
    if (this.ticks.length > POINTS) {
      this.ticks = this.ticks.filter((_, k) => k % 2 === 0);
      this.values = this.values.filter((_, k) => k % 2 === 0);
      this.every *= 2;
    }
  }
}

export class Chart {
  constructor(label, column, explanation, least) {
    this.column = column;
    this.least = least; // what the line stands on
    this.value = make("b", { text: "–" });
    this.canvas = make("canvas", { "aria-hidden": "true" });
    this.element = make("div", { class: "tbv-chart", title: explanation }, make("span", {}, this.value, ` ${label}`), this.canvas);
    this.context = this.canvas.getContext("2d");
    this.width = 0;
    this.height = 0;
  }

  measure(ratio) {
    this.ratio = ratio;
    this.width = this.canvas.clientWidth;
    this.height = this.canvas.clientHeight;
    this.canvas.width = Math.max(1, Math.round(this.width * ratio));
    this.canvas.height = Math.max(1, Math.round(this.height * ratio));
  }

  draw(series, counters, tick, colour, faint) {
    const text = short(counters[this.column]);
    if (this.value.textContent !== text) this.value.textContent = text;
    const { context, canvas } = this;
    context.clearRect(0, 0, canvas.width, canvas.height);
    if (!this.width || series.ticks.length < 2) return;
    const { ticks, values } = series;
    const last = ticks[ticks.length - 1] || 1;
    let low = this.least;
    let high = -Infinity;
    for (const row of values) {
      const value = row[this.column];
      if (value < low) low = value;
      if (value > high) high = value;
    }
    if (!(high >= low)) return;
    if (high - low < 1e-9) high = low + 1;
    const pad = 1.5 * this.ratio;
    const tall = canvas.height - 2 * pad;
    const across = (t) => (t / last) * (canvas.width - 2 * pad) + pad;
    const up = (value) => canvas.height - pad - ((value - low) / (high - low)) * tall;
    context.beginPath();
    let drawing = false;
    for (let k = 0; k < ticks.length; k++) {
      const value = values[k][this.column];
      if (Number.isFinite(value)) {
        if (drawing) context.lineTo(across(ticks[k]), up(value));
        else context.moveTo(across(ticks[k]), up(value));
      }
      drawing = Number.isFinite(value);
    }
    context.strokeStyle = colour;
    context.lineWidth = 1.5 * this.ratio;
    context.lineJoin = "round";
    context.stroke();
    if (tick < last) {
      context.fillStyle = faint;
      context.fillRect(across(tick) - this.ratio / 2, 0, this.ratio, canvas.height);
    }
  }
}
