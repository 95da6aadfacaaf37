// What has been seen, to go back to. A stop is a frame; some stops also hold all there is, and seeking begins there.
// When it grows too large, the oldest stretches keep only those: one can still go back to the begin, in wider steps.

const LIMIT = 96 << 20; // bytes
const LEAST = 1 << 20; // bytes of frames between two whole ones, at least
const STRETCH = 240; // frames between two whole ones

export class Timeline {
  constructor(limit = LIMIT) {
    this.limit = limit;
    this.stops = [];
    this.bytes = 0;
    this.since = 0; // bytes since the last whole one
    this.count = 0; // frames since then
    this.keyBytes = 0;
    this.thinned = 0; // how often stops were dropped, and so numbered anew
  }

  get length() {
    return this.stops.length;
  }

  // A frame that `scene` has just applied.
  add(frame, scene) {
    const crowd = frame.kind === "crowd";
    const due = this.since > Math.max(2 * this.keyBytes, LEAST) || this.count > STRETCH || crowd;
    const key = !this.stops.length || due ? scene.snapshot() : null;
    this.since += frame.bytes;
    this.count++;
    this.bytes += frame.bytes;
    if (key) {
      this.keyBytes = key.bytes;
      this.bytes += key.bytes;
      this.since = this.count = 0;
    }
    this.stops.push({ tick: frame.tick, frame, key, follows: this.stops.length > 0 });
    if (this.bytes > this.limit) this.thin();
    scene.stop = this.stops.length - 1;
  }

  thin() {
    while (this.bytes > this.limit && this.stops.length > 2) {
      const from = this.stops.findIndex((stop, k) => stop.key && this.stops[k + 1] && !this.stops[k + 1].key);
      const last = this.stops.findLastIndex((stop) => stop.key);
      if (from >= 0 && from < last) {
        let to = from + 1;
        while (!this.stops[to].key) to++;
        this.drop((k) => k > from && k < to);
      } else {
        const half = this.stops.length >> 1;
        if (half < 2) return;
        this.drop((k) => k < half && k % 2 === 1);
      }
    }
  }

  drop(unwanted) {
    const kept = [];
    let gap = false;
    this.stops.forEach((stop, k) => {
      if (unwanted(k)) {
        this.bytes -= stop.frame.bytes + (stop.key ? stop.key.bytes : 0);
        gap = true;
      } else {
        if (gap) stop.follows = false;
        gap = false;
        kept.push(stop);
      }
    });
    this.stops = kept;
    this.thinned++;
  }

  // Make `scene` show a stop.
  seek(scene, stop) {
    let from = scene.stop;
    if (from < 0 || from > stop || stop - from > STRETCH || !this.connected(from, stop)) {
      from = stop;
      while (!this.stops[from].key) from--;
      scene.load(this.stops[from].key);
    }
    for (let k = from + 1; k <= stop; k++) scene.apply(this.stops[k].frame);
    scene.stop = stop;
  }

  connected(from, to) {
    for (let k = from + 1; k <= to; k++) if (!this.stops[k].follows) return false;
    return true;
  }
}
