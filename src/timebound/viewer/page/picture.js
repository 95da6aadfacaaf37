// Pictures of lanes and crowds. Cells are pixels of a picture of the map's size, of which only those that changed are
// painted again; it is then drawn, enlarged, into the canvas, and paths and markers on top of it.

import { BACK_MOVE } from "./wire.js";
import { Colours, HEAT, UNITS, css, groundColour, laneColour, mudStep, regionStep } from "./palette.js";

const TAIL = 1200; // moves that are drawn as a line; where it was before is seen from the cells
const NO_REGIONS = new Int32Array(0);

// What part of the map is seen: the same for all lanes. `scale` is CSS pixels per cell, (row, col) is the middle.
export class Camera {
  constructor() {
    this.scale = 1;
    this.row = 0;
    this.col = 0;
    this.fitting = true; // until someone zooms
  }

  fit(rows, cols, width, height) {
    this.scale = Math.max(0.05, Math.min((width - 12) / cols, (height - 12) / rows));
    this.row = rows / 2;
    this.col = cols / 2;
  }

  zoom(factor, x, y, width, height) {
    const [row, col] = this.place(x, y, width, height);
    this.scale = Math.min(80, Math.max(0.05, this.scale * factor));
    this.row = row - (y - height / 2) / this.scale;
    this.col = col - (x - width / 2) / this.scale;
    this.fitting = false;
  }

  pan(dx, dy) {
    this.row -= dy / this.scale;
    this.col -= dx / this.scale;
    this.fitting = false;
  }

  place(x, y, width, height) {
    return [this.row + (y - height / 2) / this.scale, this.col + (x - width / 2) / this.scale];
  }

  // Bring a cell into view.
  show(row, col, width, height) {
    const down = Math.max(0, height / 2 / this.scale - 2);
    const along = Math.max(0, width / 2 / this.scale - 2);
    if (Math.abs(row - this.row) <= down && Math.abs(col - this.col) <= along) return;
    this.row = Math.min(Math.max(this.row, row - down), row + down);
    this.col = Math.min(Math.max(this.col, col - along), col + along);
    this.fitting = false;
  }
}

// The cells of one lane (or of the bare ground) as a picture of the map's size.
class Cells {
  constructor(ground) {
    this.canvas = document.createElement("canvas");
    this.canvas.width = ground.cols;
    this.canvas.height = ground.rows;
    this.context = this.canvas.getContext("2d", { willReadFrequently: true });
    this.image = this.context.createImageData(ground.cols, ground.rows);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.known = ""; // what it was last painted for
    this.read = 0; // of the ground's dirty cells
  }

  update(ground, lane, colours, layers, regions, key) {
    const cols = ground.cols;
    const most = lane ? lane.most : 0;
    const paint = (cell) => {
      const mud = mudStep(ground.free[cell], ground.costs ? ground.costs[cell] : 1);
      let mark = 0;
      let heat = 0;
      let seen = 0;
      if (lane) {
        mark = lane.marks[cell];
        if ((mark === 1 && !layers.open) || (mark === 2 && !layers.closed)) mark = 0;
        if (layers.learned && lane.learned[cell] > 0) heat = Math.ceil(HEAT * Math.sqrt(lane.learned[cell] / most));
        if (layers.trail) seen = lane.seen[cell];
        if (seen === 2 && !layers.back) seen = 1;
      }
      const region = layers.regions && regions.length ? regionStep(regions[cell]) : 0;
      this.pixels[cell] = colours.of(mud, region, mark, Math.min(heat, HEAT), seen);
    };
    if (key !== this.known || (lane && lane.anew)) {
      this.known = key;
      if (lane) lane.anew = false;
      for (let cell = 0; cell < this.pixels.length; cell++) paint(cell);
      this.context.putImageData(this.image, 0, 0);
    } else {
      let top = Infinity;
      let bottom = -1;
      let left = Infinity;
      let right = -1;
      const repaint = (list, from) => {
        for (let k = from; k < list.length; k++) {
          const cell = list.data[k];
          paint(cell);
          const row = (cell / cols) | 0;
          const col = cell - row * cols;
          if (row < top) top = row;
          if (row > bottom) bottom = row;
          if (col < left) left = col;
          if (col > right) right = col;
        }
      };
      repaint(ground.dirty, this.read);
      if (lane) repaint(lane.dirty, 0);
      if (bottom >= 0) this.context.putImageData(this.image, 0, 0, left, top, right - left + 1, bottom - top + 1);
    }
    this.read = ground.dirty.length;
    if (lane) lane.dirty.clear();
  }
}

// A canvas that shows a lane, or a crowd.
export class Picture {
  constructor(canvas, number) {
    this.canvas = canvas;
    this.number = number;
    this.context = canvas.getContext("2d", { alpha: false });
    this.cells = null;
    this.regions = NO_REGIONS;
    this.regionsVersion = 0;
    this.width = this.height = 1;
    this.ratio = 1;
    this.scene = null;
  }

  resize(width, height, ratio) {
    if (width === this.width && height === this.height && ratio === this.ratio) return;
    this.width = Math.max(1, width);
    this.height = Math.max(1, height);
    this.ratio = ratio;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
  }

  setRegions(regions) {
    this.regions = regions;
    this.regionsVersion++;
  }

  // Draw `lane` of the scene, or its crowd if there are no lanes.
  draw(scene, camera, look) {
    const { ground } = scene;
    const lane = scene.lanes[this.number];
    if (!this.cells || this.scene !== scene) {
      this.cells = new Cells(ground);
      this.scene = scene;
    }
    if (!this.colours || this.theme !== look.theme) {
      this.theme = look.theme;
      this.colours = new Colours(look.theme, lane ? this.number : 0);
    }
    const shown = look.layers;
    const key = [look.theme, this.regionsVersion, shown.open, shown.closed, shown.learned, shown.trail, shown.back, shown.regions].join();
    this.cells.update(ground, lane, this.colours, shown, this.regions, key);

    const context = this.context;
    const scale = camera.scale * this.ratio;
    const x = this.canvas.width / 2 - camera.col * scale;
    const y = this.canvas.height / 2 - camera.row * scale;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = css(groundColour(look.theme, "void"));
    context.fillRect(0, 0, this.canvas.width, this.canvas.height);
    // Only the cells that can be seen.
    const left = Math.max(0, Math.floor(-x / scale));
    const top = Math.max(0, Math.floor(-y / scale));
    const right = Math.min(ground.cols, Math.ceil((this.canvas.width - x) / scale));
    const bottom = Math.min(ground.rows, Math.ceil((this.canvas.height - y) / scale));
    if (right <= left || bottom <= top) return;
    context.imageSmoothingEnabled = scale < 1;
    context.drawImage(
      this.cells.canvas, left, top, right - left, bottom - top,
      x + left * scale, y + top * scale, (right - left) * scale, (bottom - top) * scale,
    );
    if (scale / this.ratio >= 14) this.grid(context, x, y, scale, left, top, right, bottom, look.theme);
    const at = (cell) => {
      const row = Math.floor(cell / ground.cols);
      return [x + (cell - row * ground.cols + 0.5) * scale, y + (row + 0.5) * scale];
    };
    if (lane) this.paths(context, lane, at, camera, look);
    else this.units(context, scene.crowd, ground.cols, x, y, scale, look);
    if (look.cursor >= 0) this.cursor(context, at(look.cursor), scale, look);
  }

  grid(context, x, y, scale, left, top, right, bottom, theme) {
    context.strokeStyle = theme === "dark" ? "rgba(255,255,255,0.07)" : "rgba(20,30,50,0.08)";
    context.lineWidth = 1;
    context.beginPath();
    for (let col = left; col <= right; col++) {
      context.moveTo(Math.round(x + col * scale) + 0.5, y + top * scale);
      context.lineTo(Math.round(x + col * scale) + 0.5, y + bottom * scale);
    }
    for (let row = top; row <= bottom; row++) {
      context.moveTo(x + left * scale, Math.round(y + row * scale) + 0.5);
      context.lineTo(x + right * scale, Math.round(y + row * scale) + 0.5);
    }
    context.stroke();
  }

  paths(context, lane, at, camera, look) {
    const dark = look.theme === "dark";
    const own = laneColour(look.theme, this.number);
    const unit = this.ratio * Math.min(3.2, Math.max(1.4, camera.scale * 0.22));
    const halo = dark ? "rgba(8,10,16,0.75)" : "rgba(255,255,255,0.85)";
    context.lineCap = context.lineJoin = "round";
    const cells = lane.trail;
    if (look.layers.trail && cells.length > 1) {
      const from = Math.max(0, cells.length - TAIL);
      context.beginPath();
      for (let k = from; k < cells.length; k++) {
        const [px, py] = at(cells.data[k] & ~BACK_MOVE);
        if (k === from) context.moveTo(px, py);
        else context.lineTo(px, py);
      }
      context.strokeStyle = css(own);
      context.lineWidth = unit;
      context.stroke();
      if (look.layers.back && lane.backs) {
        context.beginPath();
        for (let k = Math.max(1, from); k < cells.length; k++) {
          if (cells.data[k] < BACK_MOVE) continue;
          context.moveTo(...at(cells.data[k - 1] & ~BACK_MOVE));
          context.lineTo(...at(cells.data[k] & ~BACK_MOVE));
        }
        context.strokeStyle = dark ? "#ffffff" : "#14161e";
        context.lineWidth = unit * 0.7;
        context.stroke();
      }
    }
    if (look.layers.ahead && lane.ahead.length) {
      context.beginPath();
      if (lane.position >= 0) context.moveTo(...at(lane.position));
      for (const cell of lane.ahead) context.lineTo(...at(cell));
      context.setLineDash([unit * 0.2, unit * 2.2]);
      context.strokeStyle = halo;
      context.lineWidth = unit * 1.9;
      context.stroke();
      context.strokeStyle = dark ? "#ffffff" : css(own.map((value) => value * 0.55));
      context.lineWidth = unit * 1.2;
      context.stroke();
      context.setLineDash([]);
    }
    if (look.layers.subgoals) {
      const reach = this.ratio * Math.min(9, Math.max(4, camera.scale * 0.45));
      for (const cell of lane.subgoals) {
        const [px, py] = at(cell);
        context.beginPath();
        context.moveTo(px, py - reach);
        context.lineTo(px + reach, py);
        context.lineTo(px, py + reach);
        context.lineTo(px - reach, py);
        context.closePath();
        context.fillStyle = dark ? "#ffe08a" : "#ffd043";
        context.strokeStyle = dark ? "#14161e" : "#2a2d36";
        context.lineWidth = this.ratio * 1.2;
        context.fill();
        context.stroke();
      }
    }
    const reach = this.ratio * Math.min(11, Math.max(4.5, camera.scale * 0.42));
    if (look.start >= 0) this.ring(context, at(look.start), reach * 0.8, css(own, 0.9), halo);
    if (lane.goal >= 0) this.target(context, at(lane.goal), reach, look.theme, halo);
    if (lane.position >= 0) {
      const [px, py] = at(lane.position);
      context.beginPath();
      context.arc(px, py, reach, 0, 7);
      context.fillStyle = css(own);
      context.fill();
      context.lineWidth = this.ratio * 2;
      context.strokeStyle = dark ? "#0f1117" : "#ffffff";
      context.stroke();
    }
  }

  ring(context, [px, py], reach, colour, halo) {
    context.beginPath();
    context.arc(px, py, reach, 0, 7);
    context.lineWidth = this.ratio * 4;
    context.strokeStyle = halo;
    context.stroke();
    context.lineWidth = this.ratio * 2;
    context.strokeStyle = colour;
    context.stroke();
  }

  target(context, [px, py], reach, theme, halo) {
    const ink = theme === "dark" ? "#ffffff" : "#14161e";
    this.ring(context, [px, py], reach * 1.25, ink, halo);
    context.beginPath();
    context.arc(px, py, reach * 0.5, 0, 7);
    context.fillStyle = ink;
    context.fill();
  }

  units(context, crowd, cols, x, y, scale, look) {
    const size = Math.max(1.6 * this.ratio, scale * 0.8);
    const inset = (scale - size) / 2;
    const { cells, statuses } = crowd;
    const colours = UNITS[look.theme];
    // One colour at a time: changing it is what takes long.
    for (let status = 3; status >= 0; status--) {
      context.fillStyle = colours[status];
      for (let k = 0; k < cells.length; k++) {
        if (statuses[k] !== status && !(status === 3 && statuses[k] > 3)) continue;
        const row = (cells[k] / cols) | 0;
        const px = x + (cells[k] - row * cols) * scale + inset;
        const py = y + row * scale + inset;
        if (px > -size && py > -size && px < this.canvas.width && py < this.canvas.height) context.fillRect(px, py, size, size);
      }
    }
    if (look.goal >= 0) {
      const row = Math.floor(look.goal / cols);
      const at = [x + (look.goal - row * cols + 0.5) * scale, y + (row + 0.5) * scale];
      this.target(context, at, this.ratio * Math.min(11, Math.max(5, scale * 0.42)), look.theme, "rgba(255,255,255,0.8)");
    }
  }

  cursor(context, [px, py], scale, look) {
    const half = Math.max(scale / 2, 5 * this.ratio);
    context.lineWidth = this.ratio * 3;
    context.strokeStyle = look.theme === "dark" ? "#0f1117" : "#ffffff";
    context.strokeRect(px - half, py - half, half * 2, half * 2);
    context.lineWidth = this.ratio * 1.5;
    context.strokeStyle = look.theme === "dark" ? "#ffffff" : "#14161e";
    context.strokeRect(px - half, py - half, half * 2, half * 2);
  }
}
