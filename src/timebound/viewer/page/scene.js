// What there is to see at one moment: the ground, and either lanes or a crowd. Frames change it, snapshots restore it.

import { BACK_MOVE, FORGET_LEARNED, FORGET_MARKS, FORGET_TRAIL } from "./wire.js";

// Numbers that are only ever added, or forgotten all at once.
class Growing {
  constructor() {
    this.data = new Uint32Array(256);
    this.length = 0;
  }

  push(value) {
    if (this.length === this.data.length) {
      const larger = new Uint32Array(this.length * 2);
      larger.set(this.data);
      this.data = larger;
    }
    this.data[this.length++] = value;
  }

  clear() {
    this.length = 0;
  }

  copy() {
    return this.data.slice(0, this.length);
  }
}

// The ground: which cells are free and what they cost, and which were painted since the map was sent.
export class Ground {
  constructor(map) {
    this.rows = map.rows;
    this.cols = map.cols;
    this.base = map;
    this.free = map.free.slice();
    this.costs = map.costs ? map.costs.slice() : null;
    this.painted = new Map();
    this.version = 0; // changes with every edit
    this.dirty = new Growing(); // cells that the picture does not show yet
  }

  apply(edits) {
    for (let k = 0; k < edits.cells.length; k++) this.set(edits.cells[k], edits.costs[k]);
    if (edits.cells.length) this.version++;
  }

  set(cell, cost) {
    this.free[cell] = cost > 0 ? 1 : 0;
    if (this.costs) this.costs[cell] = cost;
    this.painted.set(cell, cost);
    this.dirty.push(cell);
  }

  load(painted) {
    for (const cell of this.painted.keys()) {
      this.free[cell] = this.base.free[cell];
      if (this.costs) this.costs[cell] = this.base.costs[cell];
      this.dirty.push(cell);
    }
    this.painted = new Map();
    for (const [cell, cost] of painted) this.set(cell, cost);
    this.version++;
  }
}

// One lane. `dirty` are the cells whose colour may have changed; `anew` says that all may have.
export class LaneScene {
  constructor(size) {
    this.size = size;
    this.epoch = -1;
    this.tick = 0;
    this.status = 0;
    this.position = -1;
    this.goal = -1;
    this.counters = new Float32Array(0);
    this.marks = new Uint8Array(size);
    this.g = new Float32Array(size);
    this.h = new Float32Array(size);
    this.marked = new Growing();
    this.learned = new Float32Array(size);
    this.taught = new Growing();
    this.most = 0; // of the learned values, rounded up to a power of two
    this.seen = new Uint8Array(size); // 1: on the trail, 2: come back to
    this.trail = new Growing();
    this.backs = 0;
    this.ahead = new Uint32Array(0);
    this.subgoals = new Uint32Array(0);
    this.dirty = new Growing();
    this.anew = true;
  }

  apply(part) {
    if (part.epoch !== this.epoch) {
      this.epoch = part.epoch;
      this.forget(FORGET_MARKS | FORGET_LEARNED | FORGET_TRAIL);
    } else {
      this.forget(part.flags);
    }
    this.tick = part.tick;
    this.status = part.status;
    this.position = part.position;
    this.goal = part.goal;
    this.counters = part.counters;
    this.ahead = part.ahead;
    this.subgoals = part.subgoals;
    const { markCells, marks, g, h } = part;
    for (let k = 0; k < markCells.length; k++) {
      const cell = markCells[k];
      if (this.marks[cell] === 0) this.marked.push(cell);
      this.marks[cell] = marks[k];
      this.g[cell] = g[k];
      this.h[cell] = h[k];
      this.dirty.push(cell);
    }
    let most = this.most;
    for (let k = 0; k < part.learnedCells.length; k++) {
      const cell = part.learnedCells[k];
      if (this.learned[cell] === 0) this.taught.push(cell);
      this.learned[cell] = part.learned[k];
      if (part.learned[k] > most) most = part.learned[k];
      this.dirty.push(cell);
    }
    if (most > this.most) {
      this.most = 2 ** Math.ceil(Math.log2(most));
      for (let k = 0; k < this.taught.length; k++) this.dirty.push(this.taught.data[k]);
    }
    for (let k = 0; k < part.trail.length; k++) this.walk(part.trail[k]);
    if (this.marked.length > 2 * this.size) this.tidy();
    if (this.dirty.length > this.size) {
      this.dirty.clear();
      this.anew = true;
    }
  }

  walk(step) {
    const back = step >= BACK_MOVE;
    const cell = back ? step - BACK_MOVE : step;
    if (back) this.backs++;
    this.trail.push(step);
    if (back) this.seen[cell] = 2;
    else if (this.seen[cell] === 0) this.seen[cell] = 1;
    this.dirty.push(cell);
  }

  forget(flags) {
    if (flags & FORGET_MARKS) {
      for (let k = 0; k < this.marked.length; k++) {
        const cell = this.marked.data[k];
        this.marks[cell] = 0;
        this.dirty.push(cell);
      }
      this.marked.clear();
    }
    if (flags & FORGET_LEARNED) {
      for (let k = 0; k < this.taught.length; k++) {
        const cell = this.taught.data[k];
        this.learned[cell] = 0;
        this.dirty.push(cell);
      }
      this.taught.clear();
      this.most = 0;
    }
    if (flags & FORGET_TRAIL) {
      for (let k = 0; k < this.trail.length; k++) {
        const cell = this.trail.data[k] & ~BACK_MOVE;
        this.seen[cell] = 0;
        this.dirty.push(cell);
      }
      this.trail.clear();
      this.backs = 0;
    }
  }

  // Cells that were marked, unmarked and marked again are listed more than once.
  tidy() {
    const listed = new Uint8Array(this.size);
    const before = this.marked.copy();
    this.marked.clear();
    for (const cell of before) {
      if (this.marks[cell] && !listed[cell]) {
        listed[cell] = 1;
        this.marked.push(cell);
      }
    }
  }

  // All there is, as a part of a frame would tell it.
  snapshot() {
    const markCells = this.marked.copy();
    const learnedCells = this.taught.copy();
    return {
      epoch: this.epoch,
      tick: this.tick,
      status: this.status,
      flags: FORGET_MARKS | FORGET_LEARNED | FORGET_TRAIL,
      position: this.position,
      goal: this.goal,
      counters: this.counters,
      markCells,
      marks: Uint8Array.from(markCells, (cell) => this.marks[cell]),
      g: Float32Array.from(markCells, (cell) => this.g[cell]),
      h: Float32Array.from(markCells, (cell) => this.h[cell]),
      learnedCells,
      learned: Float32Array.from(learnedCells, (cell) => this.learned[cell]),
      trail: this.trail.copy(),
      ahead: this.ahead,
      subgoals: this.subgoals,
    };
  }
}

// All lanes, or the crowd, on one ground.
export class Scene {
  constructor(map, lanes) {
    this.ground = new Ground(map);
    this.lanes = Array.from({ length: lanes }, () => new LaneScene(map.rows * map.cols));
    this.crowd = { cells: new Uint32Array(0), statuses: new Uint8Array(0), stats: new Float32Array(0) };
    this.tick = 0;
    this.stop = -1; // which stop of the timeline it shows
  }

  apply(frame) {
    this.ground.apply(frame.edits);
    this.tick = frame.tick;
    if (frame.kind === "crowd") this.crowd = frame;
    else frame.lanes.forEach((part, k) => this.lanes[k]?.apply(part));
  }

  snapshot() {
    const painted = [...this.ground.painted];
    if (!this.lanes.length) return { painted, crowd: this.crowd, tick: this.tick, bytes: 64 + painted.length * 32 };
    const lanes = this.lanes.map((lane) => lane.snapshot());
    const size = lanes.reduce(
      (sum, one) => sum + 200 + 16 * one.markCells.length + 8 * one.learnedCells.length + 4 * one.trail.length,
      0,
    );
    return { painted, lanes, tick: this.tick, bytes: size + painted.length * 32 };
  }

  load(snapshot) {
    this.ground.load(snapshot.painted);
    this.tick = snapshot.tick;
    if (snapshot.crowd) this.crowd = snapshot.crowd;
    else snapshot.lanes.forEach((part, k) => this.lanes[k].apply(part));
  }
}
