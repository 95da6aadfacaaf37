// The viewer. `mount` builds it in an element and connects it to a line: a socket, a recording, or a notebook's channel.
//
// A line has `live` (whether there is someone who acts), `send(object)`, and `listen(hear)`, which gets texts and buffers.

import { Chart, Series } from "./chart.js";
import { icon, iconButton, make, setIcon, short } from "./dom.js";
import { briefSpec, keysDialog, laneDialog, openDialog } from "./forms.js";
import { css, laneColour } from "./palette.js";
import { Camera, Picture } from "./picture.js";
import { Scene } from "./scene.js";
import { Timeline } from "./timeline.js";
import { STATUS, decode } from "./wire.js";

const SPEEDS = [1, 2, 5, 10, 20, 30, 60, 120, 250, 500, 1000, 2500, 10000, null]; // null: as fast as can be
const BRUSHES = [1, 3, 5, 9];
const MOST_CELLS = 4000; // painted by one message
const MUD_COST = 4;
const CHROME = 150; // pixels of a lane that are not its map
const LEAST_MAP = 130; // pixels of a map's height
const LAYERS = [
  ["closed", "Closed states", "expanded, and done with"],
  ["open", "Open states", "seen, and waiting to be expanded"],
  ["ahead", "Path ahead", "where the agent would walk now"],
  ["trail", "Trail", "where the agent has walked"],
  ["back", "Back-moves", "steps back along its own path"],
  ["learned", "Learned values", "how far a value is above its first estimate"],
  ["regions", "Regions", "of algorithms that search a coarser map"],
  ["subgoals", "Subgoals", "where the agent goes first"],
];
const TOOLS = [
  ["hand", "v", "Move: drag the map, the goal or the agents"],
  ["wall", "w", "Paint walls"],
  ["erase", "e", "Erase walls and mud"],
  ["mud", "m", "Paint mud"],
  ["start", "s", "Set the start"],
  ["goal", "g", "Set the goal"],
];
const KEYS = [
  ["space", "play or pause"],
  ["n", "one tick"],
  ["r", "restart"],
  [", .", "slower, faster"],
  ["[ ]", "back and forth in time"],
  ["l", "live again"],
  ["v w e m s g", "tools: move, wall, erase, mud, start, goal"],
  ["k", "a wider brush"],
  ["← ↑ → ↓", "on a map: move the cursor, with shift by ten"],
  ["enter", "on a map: use the tool at the cursor"],
  ["+ - 0", "closer, farther, the whole map"],
  ["a", "add an algorithm"],
  ["c", "change the algorithm of the first lane, or of the one whose map has the focus"],
  ["b", "budget"],
  ["1 … 8", "layers on and off"],
  ["d", "dark or light"],
  ["?", "this list"],
];
const CHARTS = [
  ["over", "cost / optimal", "What it has paid and must still pay at least, over what it could have been", 1],
  ["per_move", "states / move", "States expanded per move", 0],
  ["revisits", "revisits", "Moves to a place where it had been before", 0],
];
const NUMBERS = [
  ["moves", "moves"],
  ["cost", "cost"],
  ["expanded", "states"],
  ["back_moves", "back"],
  ["memory", "memory"],
];
const CROWD_CHARTS = [
  ["active", "on their way", "Units that walk", 0],
  ["arrived", "arrived", "Units at their goals", 0],
  ["last", "states / tick", "States expanded in the last tick", 0],
];
const CROWD_WORDS = { expanded: "states", p50: "median ms", p99: "p99 ms", unreachable: "without a way" };
const STATUS_WORDS = { active: "on its way", reached: "reached", unreachable: "unreachable", "move-limit": "out of moves", error: "error" };

// What a user chose is kept for the next time, where the browser allows it.
const memory = {
  get(name) {
    try {
      return JSON.parse(localStorage.getItem(`timebound.${name}`));
    } catch {
      return null;
    }
  },
  set(name, value) {
    try {
      localStorage.setItem(`timebound.${name}`, JSON.stringify(value));
    } catch {
      // then it is not kept
    }
  },
};

export class App {
  constructor(root, line, options = {}) {
    this.root = root;
    this.line = line;
    this.options = options;
    this.hello = null;
    this.live = null; // the scene that frames change
    this.past = null; // the scene of another moment, while one looks at it
    this.pastStop = -1; // the stop that is looked at; -1: live
    this.pastPlaying = false;
    this.timeline = new Timeline();
    this.playing = false;
    this.speed = 30;
    this.cards = [];
    this.camera = new Camera();
    this.tool = "hand";
    this.brush = 1;
    this.cursor = -1;
    this.hover = -1;
    this.acks = [];
    this.frames = 0; // pictures drawn
    this.shown = 0; // frames of the line that have been drawn
    this.layers = Object.fromEntries(LAYERS.map(([name]) => [name, name !== "regions"]));
    Object.assign(this.layers, memory.get("layers") || {});
    this.chosenTheme = memory.get("theme");
    this.scheme = matchMedia("(prefers-color-scheme: dark)");
    this.build();
    this.scheme.addEventListener("change", () => this.applyTheme());
    this.applyTheme();
    const keys = options.keysOf || document;
    keys.addEventListener("keydown", (event) => this.key(event));
    this.sizes = new ResizeObserver(() => this.resized());
    line.listen((data) => this.hear(data));
  }

  get scene() {
    return this.pastStop >= 0 ? this.past : this.live;
  }

  get theme() {
    return this.root.dataset.theme;
  }

  get crowd() {
    return this.hello && this.hello.kind === "crowd";
  }

  send(deed, fields = {}) {
    if (this.line.live) this.line.send({ do: deed, ...fields });
  }

  // --- what there is on the page ----------------------------------------------------------------------------------

  build() {
    const { root } = this;
    root.classList.add("tbv");
    root.dataset.time = "live";
    this.play = iconButton("play", "Play", "space", () => this.togglePlay(), { class: "tbv-button tbv-play", "data-act": "play" });
    this.stepButton = iconButton("step", "One tick", "n", () => this.oneTick(), { "data-act": "tick" });
    this.restartButton = iconButton("restart", "Restart", "r", () => this.restart(), { "data-act": "restart" });
    this.speedSlider = make("input", {
      type: "range", min: 0, max: SPEEDS.length - 1, step: 1, "aria-label": "Speed, in ticks per second", "data-act": "speed",
      on: { input: () => this.setSpeed(SPEEDS[Number(this.speedSlider.value)]) },
    });
    this.speedText = make("output", { class: "tbv-speed" });
    this.budget = make("input", {
      type: "text", class: "tbv-budget", size: 5, "aria-label": "Budget: states per move such as 50, or a time such as 2ms", autocomplete: "off",
      on: { change: () => this.send("budget", { value: this.budget.value.trim() }) },
    });
    this.budgetLabel = make("label", { class: "tbv-inline", title: "What an agent may plan per move (b)" }, make("span", { text: "budget" }), this.budget);
    this.addButton = make("button", { type: "button", class: "tbv-text", "data-act": "add", title: "Add an algorithm (a)", on: { click: () => this.addLane() } }, icon("plus"), make("span", { text: "Lane" }));
    this.title = make("span", { class: "tbv-title" });
    const top = make(
      "header",
      { class: "tbv-top" },
      make("h1", { class: "tbv-brand", text: this.options.title || "timebound" }),
      this.title,
      make("div", { class: "tbv-group", role: "group", "aria-label": "Time" }, this.restartButton, this.play, this.stepButton),
      make("label", { class: "tbv-inline tbv-pace", title: "Ticks per second (, and .)" }, make("span", { text: "speed" }), this.speedSlider, this.speedText),
      this.budgetLabel,
      this.addButton,
      make("span", { class: "tbv-space" }),
      make(
        "div",
        { class: "tbv-group" },
        iconButton("layers", "Layers and values", "", () => this.toggleSide(), { "data-act": "side" }),
        iconButton("theme", "Dark or light", "d", () => this.toggleTheme(), { "data-act": "theme" }),
        iconButton("help", "Keys", "?", () => this.help(), { "data-act": "help" }),
      ),
    );
    this.toolButtons = new Map();
    for (const [name, key, words] of TOOLS) {
      const button = iconButton(name, words, key, () => this.setTool(name), { "data-tool": name, "aria-pressed": "false" });
      this.toolButtons.set(name, button);
    }
    this.brushButton = make("button", { type: "button", class: "tbv-button tbv-brush", "data-act": "brush", title: "Width of the brush (k)", on: { click: () => this.nextBrush() } });
    this.toolbar = make(
      "div",
      { class: "tbv-tools", role: "toolbar", "aria-label": "Tools", "aria-orientation": "vertical" },
      [...this.toolButtons.values()],
      this.brushButton,
      make("hr"),
      iconButton("plus", "Closer", "+", () => this.zoomBy(1.4), { "data-act": "closer" }),
      iconButton("minus", "Farther", "-", () => this.zoomBy(1 / 1.4), { "data-act": "farther" }),
      iconButton("fit", "The whole map", "0", () => this.fit(), { "data-act": "fit" }),
    );
    this.lanes = make("main", { class: "tbv-lanes", "aria-label": "Lanes" });
    this.layerBoxes = new Map();
    const layers = LAYERS.map(([name, label, words], k) => {
      const box = make("input", { type: "checkbox", "data-layer": name, on: { change: () => this.setLayer(name, box.checked) } });
      this.layerBoxes.set(name, box);
      return make("label", { title: `${words} (${k + 1})` }, box, make("i", { class: `tbv-swatch tbv-swatch-${name}` }), make("span", { text: label }));
    });
    this.layerList = make("fieldset", { class: "tbv-layers" }, make("legend", { text: "Layers" }), layers);
    this.values = make("div", { class: "tbv-values", "aria-live": "off" });
    this.side = make(
      "aside",
      { class: "tbv-side", "aria-label": "Layers and values" },
      this.layerList,
      make("section", {}, make("h2", { text: "Under the pointer" }), this.values),
    );
    this.slider = make("input", {
      type: "range", min: 0, max: 0, value: 0, step: 1, class: "tbv-slider", "aria-label": "Timeline", "data-act": "timeline",
      on: { input: () => this.goTo(Number(this.slider.value)) },
    });
    this.tickText = make("output", { class: "tbv-tick" });
    this.liveButton = make("button", { type: "button", class: "tbv-live", "data-act": "live", title: "Back to now (l)", on: { click: () => this.goLive() } }, icon("live"), make("span", { text: "Live" }));
    this.rateText = make("span", { class: "tbv-rate tbv-faint" });
    this.bottom = make("footer", { class: "tbv-time" }, this.tickText, this.slider, this.rateText, this.liveButton);
    this.toast = make("div", { class: "tbv-toast", role: "status", "aria-live": "polite", hidden: true });
    this.busy = make("div", { class: "tbv-busy", role: "status" }, make("i"), make("span", { text: "connecting" }));
    root.append(top, make("div", { class: "tbv-body" }, this.toolbar, this.lanes, this.side), this.bottom, this.busy, this.toast);
    if (!this.line.live) {
      root.dataset.replay = "true";
      for (const one of [this.stepButton, this.budgetLabel, this.addButton, this.liveButton]) one.hidden = true;
      for (const [name] of TOOLS) this.toolButtons.get(name).hidden = true;
      this.brushButton.hidden = true;
      this.toolbar.querySelector("hr").hidden = true;
    }
    for (const [name, box] of this.layerBoxes) box.checked = this.layers[name];
    this.setTool("hand");
    this.showBrush();
    this.showState();
  }

  applyTheme() {
    const dark = this.chosenTheme ? this.chosenTheme === "dark" : this.scheme.matches;
    this.root.dataset.theme = dark ? "dark" : "light";
    this.cards.forEach((card) => card.style());
    this.schedule();
  }

  toggleTheme() {
    this.chosenTheme = this.theme === "dark" ? "light" : "dark";
    memory.set("theme", this.chosenTheme);
    this.applyTheme();
  }

  toggleSide() {
    if (this.root.clientWidth < 720) {
      const place = make("div");
      this.side.replaceWith(place);
      const dialog = openDialog(this.root, "Layers and values", this.side);
      dialog.addEventListener("close", () => place.replaceWith(this.side));
    } else {
      this.root.classList.toggle("tbv-wide");
    }
  }

  help() {
    if (!this.root.querySelector("dialog[open]")) keysDialog(this.root, KEYS);
  }

  say(text) {
    this.toast.textContent = text;
    this.toast.hidden = false;
    clearTimeout(this.toastTimer);
    this.toastTimer = setTimeout(() => { this.toast.hidden = true; }, 6000);
  }

  // --- what comes over the line -----------------------------------------------------------------------------------

  hear(data) {
    if (typeof data !== "string") return this.hearBytes(data);
    const message = JSON.parse(data);
    if (message.is === "hello") this.meet(message);
    else if (message.is === "state") {
      this.playing = message.playing;
      this.speed = message.speed;
      this.rate = message.ticks_per_second;
      this.showState();
    } else if (message.is === "error") this.say(message.text);
    else if (message.is === "busy") this.showBusy(message.text);
    else if (message.is === "lost") this.lost(message.text);
    return undefined;
  }

  lost(text) {
    this.root.dataset.ready = "false";
    this.acks = [];
    this.showBusy(text);
  }

  showBusy(text) {
    this.busy.hidden = !text;
    if (text) this.busy.querySelector("span").textContent = text;
  }

  meet(hello) {
    this.hello = hello;
    this.playing = this.line.live && Boolean(hello.playing);
    if (hello.speed !== undefined) this.speed = hello.speed;
    this.columns = Object.fromEntries((hello.counters || hello.stats).map((one, k) => [one.name, k]));
    this.title.textContent = [hello.name, `${hello.rows} × ${hello.cols}`].filter(Boolean).join(" · ");
    if (document.activeElement !== this.budget) this.budget.value = hello.budget ?? "";
    this.live = null;
    this.acks = [];
    this.root.dataset.kind = hello.kind;
    const muddy = this.toolButtons.get("mud");
    muddy.disabled = !hello.costs;
    muddy.title = hello.costs ? "Paint mud (m)" : "This map knows walls and floor only; start the viewer with --mud";
    this.addButton.hidden = this.budgetLabel.hidden = this.crowd || !this.line.live;
    this.toolButtons.get("start").hidden = this.crowd || !this.line.live;
    for (const one of this.layerList.querySelectorAll("label")) one.hidden = this.crowd;
    this.layerList.hidden = this.crowd;
    this.addButton.disabled = !this.crowd && hello.lanes.length >= (hello.most_lanes || 6);
  }

  hearBytes(buffer) {
    if (!this.hello) return;
    const message = decode(buffer);
    if (message.kind === "map") this.begin(message);
    else if (message.kind === "regions") this.cards[message.lane]?.picture.setRegions(message.regions);
    else if (this.live) this.take(message);
    this.schedule();
  }

  // A map: everything begins anew.
  begin(map) {
    const lanes = this.crowd ? 0 : this.hello.lanes.length;
    const same = this.map && this.map.rows === map.rows && this.map.cols === map.cols;
    this.map = map;
    this.live = new Scene(map, lanes);
    this.past = null;
    this.pastStop = -1;
    this.pastPlaying = false;
    this.timeline = new Timeline(this.options.limit);
    this.root.dataset.time = this.line.live ? "live" : "past";
    this.buildCards(Math.max(lanes, 1));
    if (!same) {
      this.camera.fitting = true;
      this.cursor = -1;
    }
    if (this.layers.regions) this.askRegions();
    this.root.dataset.ready = "true";
    this.showBusy("");
    this.resized();
    this.showState();
  }

  take(frame) {
    this.live.apply(frame);
    this.timeline.add(frame, this.live);
    if (frame.kind === "crowd") this.cards[0].note(frame.tick, frame.stats);
    else frame.lanes.forEach((part, k) => this.cards[k]?.note(part.tick, part.counters, part.epoch));
    if (this.line.live) this.acks.push(frame.number);
    if (frame.edits.cells.length && this.layers.regions) this.askRegions();
  }

  askRegions() {
    clearTimeout(this.regionsTimer);
    this.regionsTimer = setTimeout(() => this.cards.forEach((_, k) => this.send("regions", { lane: k })), 200);
  }

  // --- time ---------------------------------------------------------------------------------------------------------

  togglePlay() {
    if (this.pastStop >= 0) {
      if (!this.pastPlaying && this.pastStop >= this.timeline.length - 1 && !this.line.live) this.goTo(0);
      this.pastPlaying = !this.pastPlaying;
      this.pastTick = this.past.tick;
      this.pastThen = performance.now();
      this.showState();
      this.schedule();
    } else {
      this.playing = !this.playing;
      this.send(this.playing ? "play" : "pause");
      this.showState();
    }
  }

  oneTick() {
    if (this.pastStop >= 0) this.goTo(this.pastStop + 1);
    else this.send("tick");
  }

  restart() {
    if (!this.line.live) {
      this.goTo(0);
      return;
    }
    this.goLive();
    this.send("restart");
  }

  setSpeed(speed) {
    this.speed = speed;
    this.send("speed", { value: speed });
    this.pastThen = performance.now();
    this.pastTick = this.past ? this.past.tick : 0;
    this.showState();
  }

  speedStep() {
    if (this.speed === null) return SPEEDS.length - 1;
    let best = 0;
    SPEEDS.forEach((one, k) => {
      if (one !== null && Math.abs(one - this.speed) < Math.abs(SPEEDS[best] - this.speed)) best = k;
    });
    return best;
  }

  goTo(stop) {
    if (!this.timeline.length) return;
    const last = this.timeline.length - 1;
    if (this.line.live && stop >= last) {
      this.goLive();
      return;
    }
    if (this.line.live && this.pastStop < 0 && this.playing) {
      this.playing = false;
      this.send("pause");
    }
    this.pastPlaying = this.pastPlaying && this.pastStop >= 0 && stop !== 0 && stop <= last;
    this.look(Math.max(0, Math.min(last, stop)));
    this.pastTick = this.past.tick;
    this.pastThen = performance.now();
    this.showState();
  }

  look(stop) {
    if (!this.past) this.past = new Scene(this.map, this.crowd ? 0 : this.hello.lanes.length);
    if (this.pastThinned !== this.timeline.thinned) this.past.stop = -1;
    this.pastThinned = this.timeline.thinned;
    this.timeline.seek(this.past, stop);
    this.pastStop = stop;
    this.root.dataset.time = "past";
    this.schedule();
  }

  goLive() {
    if (!this.line.live || this.pastStop < 0) return;
    const go = this.pastPlaying;
    this.pastStop = -1;
    this.pastPlaying = false;
    this.past = null;
    this.root.dataset.time = "live";
    if (go) {
      this.playing = true;
      this.send("play");
    }
    this.showState();
    this.schedule();
  }

  // Play what was recorded.
  advance() {
    if (!this.pastPlaying || this.pastStop < 0) return;
    const now = performance.now();
    const speed = this.speed === null ? Infinity : this.speed;
    this.pastTick += ((now - this.pastThen) / 1000) * speed;
    this.pastThen = now;
    const { stops } = this.timeline;
    let stop = this.pastStop;
    while (stop + 1 < stops.length && (stops[stop + 1].tick <= this.pastTick || stops[stop + 1].tick < stops[stop].tick)) {
      if (stops[stop + 1].tick < stops[stop].tick) this.pastTick = stops[stop + 1].tick; // a restart
      stop++;
      if (speed === Infinity) break;
    }
    if (stop !== this.pastStop) this.look(stop);
    if (stop >= stops.length - 1) {
      if (this.line.live) this.goLive();
      this.pastPlaying = false;
      this.showState();
    } else {
      this.schedule();
    }
  }

  showState() {
    const going = this.pastStop >= 0 ? this.pastPlaying : this.playing;
    setIcon(this.play, going ? "pause" : "play");
    this.play.setAttribute("aria-label", going ? "Pause" : "Play");
    this.root.dataset.playing = String(going);
    this.speedSlider.value = this.speedStep();
    const words = this.speed === null ? "as fast as it can" : `${this.speed.toLocaleString("en")} ticks per second`;
    this.speedSlider.setAttribute("aria-valuetext", words);
    this.speedText.textContent = this.speed === null ? "max" : `${short(this.speed)}/s`;
    const measured = this.playing && this.pastStop < 0 && this.rate > 0;
    this.rateText.textContent = measured ? `${short(Math.round(this.rate))} ticks/s` : "";
  }

  // --- what a user does on the map --------------------------------------------------------------------------------

  setTool(name) {
    if (this.toolButtons.get(name).disabled) {
      this.say(this.toolButtons.get(name).title);
      return;
    }
    this.tool = name;
    this.root.dataset.tool = name;
    for (const [other, button] of this.toolButtons) button.setAttribute("aria-pressed", String(other === name));
  }

  nextBrush() {
    this.brush = BRUSHES[(BRUSHES.indexOf(this.brush) + 1) % BRUSHES.length];
    this.showBrush();
  }

  showBrush() {
    this.brushButton.textContent = `${this.brush}×`;
    this.brushButton.setAttribute("aria-label", `Width of the brush: ${this.brush}`);
  }

  setLayer(name, on) {
    this.layers[name] = on;
    this.layerBoxes.get(name).checked = on;
    memory.set("layers", this.layers);
    if (name === "regions" && on) this.askRegions();
    this.schedule();
  }

  cellAt(card, x, y) {
    const [row, col] = this.camera.place(x, y, card.picture.width, card.picture.height).map(Math.floor);
    return row >= 0 && col >= 0 && row < this.map.rows && col < this.map.cols ? row * this.map.cols + col : -1;
  }

  // The cells under the brush from one cell to another.
  stroke(from, to) {
    const { rows, cols } = this.map;
    const half = (this.brush - 1) / 2;
    const cells = new Set();
    const [fromRow, fromCol] = [Math.floor(from / cols), from % cols];
    const [toRow, toCol] = [Math.floor(to / cols), to % cols];
    const steps = Math.max(Math.abs(toRow - fromRow), Math.abs(toCol - fromCol), 1);
    for (let k = 0; k <= steps; k++) {
      const row = Math.round(fromRow + ((toRow - fromRow) * k) / steps);
      const col = Math.round(fromCol + ((toCol - fromCol) * k) / steps);
      for (let r = Math.max(0, row - half); r <= Math.min(rows - 1, row + half); r++) {
        for (let c = Math.max(0, col - half); c <= Math.min(cols - 1, col + half); c++) cells.add(r * cols + c);
      }
    }
    return cells;
  }

  // Use the tool on the way from one cell to another.
  use(from, to) {
    if (!this.line.live || to < 0) return;
    if (this.pastStop >= 0) {
      this.say("This is the past. Go live to change something.");
      return;
    }
    if (this.tool === "start") this.setStart(to);
    else if (this.tool === "goal") this.setGoal(to);
    else if (this.tool !== "hand") {
      const cost = { wall: 0, erase: 1, mud: MUD_COST }[this.tool];
      this.painting = this.painting || { cost, cells: new Set() };
      if (this.painting.cost !== cost) this.flushPaint();
      this.painting = this.painting || { cost, cells: new Set() };
      for (const cell of this.stroke(from < 0 ? to : from, to)) this.painting.cells.add(cell);
      this.schedule();
    }
  }

  flushPaint() {
    if (!this.painting) return;
    const cells = [...this.painting.cells];
    for (let k = 0; k < cells.length; k += MOST_CELLS) {
      this.send("paint", { cells: cells.slice(k, k + MOST_CELLS), cost: this.painting.cost });
    }
    this.painting = null;
  }

  setGoal(cell) {
    if (cell < 0 || cell === this.hello.goal) return;
    this.hello.goal = cell;
    this.send("goal", { cell });
    this.schedule();
  }

  setStart(cell) {
    if (cell < 0 || !this.live.ground.free[cell]) return;
    this.hello.start = cell;
    this.send("start", { cell });
  }

  place(cell) {
    if (cell < 0 || !this.live.ground.free[cell]) return;
    if (this.live.tick === 0) this.setStart(cell);
    else this.send("place", { cell });
  }

  zoomBy(factor, x, y) {
    const { width, height } = this.cards[0].picture;
    this.camera.zoom(factor, x ?? width / 2, y ?? height / 2, width, height);
    this.schedule();
  }

  fit() {
    this.camera.fitting = true;
    this.resized();
  }

  // --- lanes --------------------------------------------------------------------------------------------------------

  specs() {
    return this.hello.lanes.map((lane) => briefSpec(lane, this.hello.algorithms));
  }

  setLanes(specs) {
    this.goLive();
    this.showBusy("getting ready");
    clearTimeout(this.busyTimer);
    this.busyTimer = setTimeout(() => this.showBusy(""), 120000);
    this.send("lanes", { specs });
  }

  addLane() {
    if (this.addButton.hidden || this.addButton.disabled) return;
    laneDialog(this.root, this.hello.algorithms, null, { done: (spec) => this.setLanes([...this.specs(), spec]) });
  }

  changeLane(k) {
    if (!this.line.live || this.crowd) return;
    const specs = this.specs();
    laneDialog(this.root, this.hello.algorithms, this.hello.lanes[k], {
      done: (spec) => this.setLanes(specs.map((one, other) => (other === k ? spec : one))),
      remove: specs.length > 1 ? () => this.setLanes(specs.filter((_, other) => other !== k)) : null,
    });
  }

  buildCards(count) {
    this.sizes.disconnect();
    const focused = this.cards.findIndex((card) => card.picture.canvas === document.activeElement);
    this.cards = Array.from({ length: count }, (_, k) => new Card(this, k));
    this.lanes.replaceChildren(...this.cards.map((card) => card.element));
    this.lanes.dataset.count = count;
    for (const card of this.cards) this.sizes.observe(card.frame);
    if (focused >= 0 && this.cards[focused]) this.cards[focused].picture.canvas.focus();
  }

  resized() {
    if (!this.map || !this.cards.length) return;
    const ratio = Math.min(2, globalThis.devicePixelRatio || 1);
    this.arrange();
    for (const card of this.cards) card.measure(ratio);
    const { width, height } = this.cards[0].picture;
    if (this.camera.fitting) this.camera.fit(this.map.rows, this.map.cols, width, height);
    this.schedule();
  }

  // As many lanes side by side as lets the map be largest.
  arrange() {
    const { clientWidth, clientHeight } = this.lanes;
    const count = this.cards.length;
    let best = 1;
    let largest = 0;
    for (let across = 1; across <= count && clientWidth / across > 230; across++) {
      const down = Math.ceil(count / across);
      const width = clientWidth / across - 26;
      const height = Math.max(clientHeight / down - CHROME, LEAST_MAP);
      const scale = Math.min(width / this.map.cols, height / this.map.rows);
      if (scale > largest * 1.02) {
        largest = scale;
        best = across;
      }
    }
    if (this.lanes.dataset.across !== String(best)) {
      this.lanes.dataset.across = best;
      this.lanes.style.setProperty("--across", best);
    }
  }

  // --- drawing ------------------------------------------------------------------------------------------------------

  schedule() {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      this.draw();
    });
  }

  draw() {
    this.flushPaint();
    this.advance();
    const { scene } = this;
    if (!scene || !this.cards.length) return;
    const look = { theme: this.theme, layers: this.layers, cursor: this.cursor, start: this.crowd ? -1 : this.hello.start, goal: this.hello.goal ?? -1 };
    const now = performance.now();
    const charts = now - (this.chartsThen || 0) > 120 || this.pastStop >= 0 || !this.playing;
    if (charts) this.chartsThen = now;
    for (const card of this.cards) card.draw(scene, look, charts);
    scene.ground.dirty.clear();
    for (const card of this.cards) card.picture.cells.read = 0;
    this.showTime(scene);
    this.showValues(scene);
    for (const number of this.acks) this.send("ack", { number });
    this.shown += this.acks.length;
    this.acks.length = 0;
    this.frames++;
  }

  showTime(scene) {
    const last = this.timeline.length - 1;
    const stop = this.pastStop >= 0 ? this.pastStop : last;
    if (this.slider.max !== String(last)) this.slider.max = last;
    if (this.slider.value !== String(stop)) this.slider.value = stop;
    const text = `tick ${scene.tick.toLocaleString("en")}`;
    if (this.tickText.textContent !== text) {
      this.tickText.textContent = text;
      this.slider.setAttribute("aria-valuetext", text);
      this.root.dataset.tick = scene.tick;
    }
    this.slider.style.setProperty("--share", last > 0 ? stop / last : 1);
  }

  showValues(scene) {
    const cell = this.hover >= 0 ? this.hover : this.cursor;
    if (cell < 0) {
      if (this.valuesShown !== -1) this.values.replaceChildren(make("p", { class: "tbv-faint", text: "Point at a cell, or focus a map and use the arrow keys." }));
      this.valuesShown = -1;
      return;
    }
    const now = performance.now();
    if (this.valuesShown === cell && now - this.valuesThen < 150) return;
    this.valuesShown = cell;
    this.valuesThen = now;
    const { ground } = scene;
    const cost = ground.costs ? ground.costs[cell] : 1;
    const kind = !ground.free[cell] ? "wall" : cost === 1 ? "floor" : `costs ${short(cost)}`;
    const rows = scene.lanes.map((lane, k) => {
      const mark = lane.marks[cell];
      const numbers = mark ? [lane.g[cell], lane.h[cell], lane.g[cell] + lane.h[cell]] : [NaN, NaN, NaN];
      const dot = make("i", { class: "tbv-dot" });
      dot.style.setProperty("--lane", css(laneColour(this.theme, k)));
      const learned = lane.learned[cell] > 0 ? short(lane.learned[cell]) : "";
      return make("tr", {}, make("th", { scope: "row", "aria-label": this.hello.lanes[k].name }, dot), numbers.map((value) => make("td", { text: short(value) })), make("td", { text: learned ? `+${learned}` : "" }));
    });
    const head = make("tr", {}, make("th"), ["g", "h", "f", "learned"].map((name) => make("th", { scope: "col", text: name })));
    const place = make("p", {}, make("b", { text: `(${Math.floor(cell / ground.cols)}, ${cell % ground.cols})` }), ` ${kind}`);
    this.values.replaceChildren(place, ...(rows.length ? [make("table", {}, head, rows)] : []));
  }

  // --- keys ---------------------------------------------------------------------------------------------------------

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.hello) return;
    if (this.root.querySelector("dialog[open]")) return;
    const { target } = event;
    const inText = target.matches?.("input[type=text], select, textarea");
    if (inText) return;
    if (target.matches?.("input[type=range]") && event.key.startsWith("Arrow")) return;
    if (event.key === " " && target.matches?.("button, input, a")) return;
    const deeds = {
      " ": () => this.togglePlay(),
      n: () => this.oneTick(),
      r: () => this.restart(),
      ",": () => this.setSpeed(SPEEDS[Math.max(0, this.speedStep() - 1)]),
      ".": () => this.setSpeed(SPEEDS[Math.min(SPEEDS.length - 1, this.speedStep() + 1)]),
      "[": () => this.goTo((this.pastStop >= 0 ? this.pastStop : this.timeline.length - 1) - 1),
      "]": () => { if (this.pastStop >= 0) this.goTo(this.pastStop + 1); },
      l: () => this.goLive(),
      k: () => this.nextBrush(),
      "+": () => this.zoomBy(1.4),
      "=": () => this.zoomBy(1.4),
      "-": () => this.zoomBy(1 / 1.4),
      0: () => this.fit(),
      a: () => this.addLane(),
      c: () => this.changeLane(Math.max(0, this.cards.findIndex((card) => card.picture.canvas === target))),
      b: () => { if (!this.budgetLabel.hidden) this.budget.select(); },
      d: () => this.toggleTheme(),
      "?": () => this.help(),
    };
    for (const [name, key] of TOOLS) deeds[key] = () => { if (this.line.live) this.setTool(name); };
    LAYERS.forEach(([name], k) => { deeds[k + 1] = () => this.setLayer(name, !this.layers[name]); });
    const deed = deeds[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (deed) {
      event.preventDefault();
      deed();
    }
  }

  // Keys of a map: the cursor, and the tool at it.
  mapKey(event, card) {
    const step = event.shiftKey ? 10 : 1;
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    const { rows, cols } = this.map;
    if (move) {
      event.preventDefault();
      if (this.cursor < 0) this.cursor = Math.max(0, this.scene.lanes[card.number]?.position ?? (rows >> 1) * cols + (cols >> 1));
      const row = Math.min(rows - 1, Math.max(0, Math.floor(this.cursor / cols) + move[0] * step));
      const col = Math.min(cols - 1, Math.max(0, (this.cursor % cols) + move[1] * step));
      this.cursor = row * cols + col;
      this.root.dataset.cursor = `${row},${col}`;
      this.camera.show(row + 0.5, col + 0.5, card.picture.width, card.picture.height);
      this.schedule();
    } else if (event.key === "Enter" && this.cursor >= 0) {
      event.preventDefault();
      this.use(this.cursor, this.cursor);
    } else if (event.key === "Escape") {
      this.cursor = -1;
      this.schedule();
    }
  }
}

// One lane on the page: its name, its picture, its numbers.
class Card {
  constructor(app, number) {
    this.app = app;
    this.number = number;
    const { hello } = app;
    const lane = app.crowd ? null : hello.lanes[number];
    const name = lane ? briefSpec(lane, hello.algorithms) : `${short(hello.units)} units${hello.spec ? ` · ${hello.spec}` : ""}`;
    this.dot = make("i", { class: "tbv-dot" });
    this.status = make("span", { class: "tbv-status", role: "status" });
    const label = `Map of ${name}. Arrow keys move a cursor, Enter uses the tool.`;
    const canvas = make("canvas", { tabindex: 0, role: "application", "aria-label": label });
    this.frame = make("div", { class: "tbv-map" }, canvas);
    this.picture = new Picture(canvas, number);
    this.series = new Series();
    this.epoch = -1;
    this.charts = (lane ? CHARTS : CROWD_CHARTS)
      .filter(([column]) => app.columns[column] !== undefined)
      .map(([column, text, words, least]) => new Chart(text, app.columns[column], words, least));
    this.numbers = new Map();
    const shown = lane ? NUMBERS : (hello.stats || []).filter((one) => !CROWD_CHARTS.some(([column]) => column === one.name)).map((one) => [one.name, CROWD_WORDS[one.name] || one.name]);
    const units = Object.fromEntries((hello.stats || hello.counters).map((one) => [one.name, one.label || one.name]));
    const items = shown.filter(([column]) => app.columns[column] !== undefined).map(([column, text]) => {
      const value = make("dd", { text: "–" });
      this.numbers.set(app.columns[column], value);
      return make("div", { title: units[column] }, make("dt", { text }), value);
    });
    this.name = lane && app.line.live
      ? make("button", { type: "button", class: "tbv-name", "data-act": "change", title: "Change the algorithm (c)", on: { click: () => app.changeLane(number) } }, make("span", { text: name }), icon("edit"))
      : make("span", { class: "tbv-name", text: name });
    this.element = make(
      "article",
      { class: "tbv-lane", "aria-label": `Lane ${number + 1}: ${name}`, "data-spec": name },
      make("header", {}, this.dot, this.name, make("span", { class: "tbv-space" }), this.status),
      this.frame,
      make("dl", { class: "tbv-numbers" }, items),
      make("div", { class: "tbv-charts" }, this.charts.map((chart) => chart.element)),
    );
    this.style();
    this.listen(canvas);
  }

  style() {
    this.element.style.setProperty("--lane", css(laneColour(this.app.theme || "light", this.number)));
  }

  note(tick, counters, epoch = 0) {
    if (epoch !== this.epoch) {
      this.epoch = epoch;
      this.series.clear();
    }
    this.series.add(tick, counters);
  }

  measure(ratio) {
    this.picture.resize(this.frame.clientWidth, this.frame.clientHeight, ratio);
    for (const chart of this.charts) chart.measure(ratio);
  }

  draw(scene, look, charts) {
    this.picture.draw(scene, this.app.camera, look);
    const lane = scene.lanes[this.number];
    const counters = lane ? lane.counters : scene.crowd.stats;
    const status = lane ? STATUS[lane.status] : "";
    if (this.element.dataset.status !== status) {
      this.element.dataset.status = status;
      this.status.textContent = STATUS_WORDS[status] || "";
    }
    if (lane) {
      this.element.dataset.position = lane.position;
      this.element.dataset.goal = lane.goal;
    }
    this.element.dataset.tick = lane ? lane.tick : scene.tick;
    if (!charts) return;
    for (const [column, value] of this.numbers) {
      const text = short(counters[column]);
      if (value.textContent !== text) value.textContent = text;
    }
    const own = css(laneColour(look.theme, this.number));
    const faint = look.theme === "dark" ? "rgba(255,255,255,0.5)" : "rgba(20,22,30,0.45)";
    for (const chart of this.charts) chart.draw(this.series, counters, lane ? lane.tick : scene.tick, own, faint);
  }

  // --- pointers: one paints, drags or moves the map; two zoom --------------------------------------------------------

  listen(canvas) {
    const { app } = this;
    const pointers = new Map();
    let dragging = null; // goal, agent, map, paint
    let last = -1;
    let waiting = -1; // the cell on which a finger lies
    let spread = 0;
    const at = (event) => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    const middle = () => {
      const [a, b] = [...pointers.values()];
      return [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2, Math.hypot(a[0] - b[0], a[1] - b[1])];
    };
    canvas.addEventListener("pointerdown", (event) => {
      if (!app.map || (event.button !== 0 && event.button !== 1)) return;
      canvas.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, at(event));
      if (pointers.size === 2) {
        [, , spread] = middle();
        dragging = "pinch";
        waiting = -1;
        return;
      }
      const [x, y] = at(event);
      const cell = app.cellAt(this, x, y);
      last = cell;
      if (event.button === 1) dragging = "map";
      else if (app.tool === "hand") dragging = this.grabbed(x, y) || "map";
      else {
        dragging = "paint";
        // A finger may be the first of two, which zoom and do not paint: it paints when it moves or is lifted.
        waiting = event.pointerType === "touch" ? cell : -1;
        if (waiting < 0) app.use(-1, cell);
      }
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!app.map) return;
      const [x, y] = at(event);
      const cell = app.cellAt(this, x, y);
      if (cell !== app.hover) {
        app.hover = cell;
        app.schedule();
      }
      const before = pointers.get(event.pointerId);
      if (!before) {
        canvas.style.cursor = app.tool === "hand" ? (this.grabbed(x, y) ? "pointer" : "grab") : "crosshair";
        return;
      }
      const old = pointers.size === 2 ? middle() : null;
      pointers.set(event.pointerId, [x, y]);
      if (pointers.size === 2 && dragging === "pinch") {
        const [px, py, now] = middle();
        app.camera.pan(px - old[0], py - old[1]);
        if (spread > 0) app.zoomBy(now / spread, px, py);
        spread = now;
      } else if (dragging === "map") {
        app.camera.pan(x - before[0], y - before[1]);
        app.schedule();
      } else if (cell !== last && cell >= 0) {
        if (dragging === "goal") app.setGoal(cell);
        else if (dragging === "agent") app.place(cell);
        else if (dragging === "paint") app.use(last, cell);
        waiting = -1;
        last = cell;
      }
    });
    const up = (event) => {
      if (waiting >= 0 && event.type === "pointerup") app.use(-1, waiting);
      waiting = -1;
      pointers.delete(event.pointerId);
      if (pointers.size === 0) dragging = null;
      else if (dragging === "pinch") dragging = "map";
    };
    canvas.addEventListener("pointerup", up);
    canvas.addEventListener("pointercancel", up);
    canvas.addEventListener("pointerleave", () => {
      app.hover = -1;
      app.schedule();
    });
    canvas.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        const [x, y] = at(event);
        app.zoomBy(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0018)), x, y);
      },
      { passive: false },
    );
    canvas.addEventListener("keydown", (event) => app.mapKey(event, this));
  }

  // What can be dragged at a place: the goal, or the agent.
  grabbed(x, y) {
    const { app } = this;
    if (!app.line.live || app.pastStop >= 0 || !app.live) return null;
    const lane = app.live.lanes[this.number];
    const near = (cell) => {
      if (cell === undefined || cell === null || cell < 0) return Infinity;
      const row = Math.floor(cell / app.map.cols) + 0.5;
      const col = (cell % app.map.cols) + 0.5;
      const { scale } = app.camera;
      const dx = (col - app.camera.col) * scale + this.picture.width / 2 - x;
      const dy = (row - app.camera.row) * scale + this.picture.height / 2 - y;
      return Math.hypot(dx, dy) / Math.max(14, scale * 0.8);
    };
    const goal = near(lane ? lane.goal : app.hello.goal);
    const agent = near(lane ? lane.position : -1);
    if (Math.min(goal, agent) > 1) return null;
    return goal <= agent ? "goal" : "agent";
  }
}

export function mount(root, line, options) {
  return new App(root, line, options);
}
