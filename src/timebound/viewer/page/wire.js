// What comes over the wire, as in wire.py: little endian, every array at a multiple of four bytes.

export const STATUS = ["active", "reached", "unreachable", "move-limit", "error"];
export const BACK_MOVE = 0x80000000;
export const FORGET_MARKS = 1;
export const FORGET_LEARNED = 2;
export const FORGET_TRAIL = 4;

class Reader {
  constructor(buffer) {
    this.buffer = buffer;
    this.view = new DataView(buffer);
    this.at = 0;
  }

  u8() {
    return this.view.getUint8(this.at++);
  }

  u16() {
    this.at += 2;
    return this.view.getUint16(this.at - 2, true);
  }

  u32() {
    this.at += 4;
    return this.view.getUint32(this.at - 4, true);
  }

  i32() {
    this.at += 4;
    return this.view.getInt32(this.at - 4, true);
  }

  array(Kind, count) {
    const found = new Kind(this.buffer, this.at, count);
    this.at += (count * Kind.BYTES_PER_ELEMENT + 3) & ~3;
    return found;
  }

  edits() {
    const count = this.u32();
    return { cells: this.array(Uint32Array, count), costs: this.array(Float32Array, count) };
  }

  cells() {
    return this.array(Uint32Array, this.u32());
  }
}

function lane(reader) {
  const end = reader.u32() + reader.at;
  const part = { epoch: reader.u32(), tick: reader.u32(), status: reader.u8(), flags: reader.u8() };
  const counters = reader.u16();
  part.position = reader.i32();
  part.goal = reader.i32();
  part.counters = reader.array(Float32Array, counters);
  const marks = reader.u32();
  part.markCells = reader.array(Uint32Array, marks);
  part.g = reader.array(Float32Array, marks);
  part.h = reader.array(Float32Array, marks);
  part.marks = reader.array(Uint8Array, marks);
  const learned = reader.u32();
  part.learnedCells = reader.array(Uint32Array, learned);
  part.learned = reader.array(Float32Array, learned);
  part.trail = reader.cells();
  part.ahead = reader.cells();
  part.subgoals = reader.cells();
  reader.at = end;
  return part;
}

// A message as an object whose arrays are views of its bytes.
export function decode(buffer) {
  const reader = new Reader(buffer);
  const kind = reader.u8();
  const second = reader.u8();
  reader.u16();
  if (kind === 0) {
    const rows = reader.u32();
    const cols = reader.u32();
    const free = reader.array(Uint8Array, rows * cols);
    return { kind: "map", rows, cols, free, costs: second ? reader.array(Float32Array, rows * cols) : null };
  }
  if (kind === 3) {
    return { kind: "regions", lane: second, regions: reader.array(Int32Array, reader.u32()) };
  }
  const message = { number: reader.u32(), edits: reader.edits(), bytes: buffer.byteLength };
  if (kind === 1) {
    const lanes = [];
    for (let k = 0; k < second; k++) lanes.push(lane(reader));
    const tick = lanes.reduce((most, one) => Math.max(most, one.tick), 0);
    return { kind: "frame", tick, lanes, ...message };
  }
  const tick = reader.u32();
  const count = reader.u32();
  const cells = reader.array(Uint32Array, count);
  const statuses = reader.array(Uint8Array, count);
  return { kind: "crowd", tick, cells, statuses, stats: reader.array(Float32Array, reader.u32()), ...message };
}
