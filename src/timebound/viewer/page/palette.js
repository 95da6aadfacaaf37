// Colours. Lanes have those of Okabe and Ito, which people with any kind of colour vision can tell apart.

export const LANES = {
  light: [[0, 114, 178], [213, 94, 0], [0, 140, 102], [190, 92, 146], [200, 134, 0], [56, 148, 205]],
  dark: [[72, 164, 226], [242, 132, 56], [38, 190, 146], [222, 148, 188], [240, 182, 56], [130, 204, 246]],
};

const GROUND = {
  light: { floor: [252, 251, 248], wall: [62, 68, 82], mud: [168, 136, 92], void: [232, 231, 227] },
  dark: { floor: [27, 31, 40], wall: [92, 100, 120], mud: [128, 100, 62], void: [15, 17, 23] },
};

// From a little to much: lightness alone tells it, whatever colours one sees.
const WARMTH = {
  light: [[255, 222, 110], [242, 128, 44], [140, 8, 44]],
  dark: [[104, 34, 58], [226, 96, 46], [255, 226, 128]],
};

const TINTS = [[120, 170, 220], [240, 180, 100], [140, 200, 140], [225, 140, 150], [180, 160, 220], [225, 215, 110], [190, 150, 110], [120, 205, 205]];

export const MUD = 9; // steps of how dear a cell is, from 1
export const HEAT = 12; // steps of how much was learned
const REGIONS = TINTS.length + 1;
export const UNITS = {
  light: ["#0b5fa5", "#009e73", "#d55e00", "#8a8f99"],
  dark: ["#6cbcf5", "#33c79a", "#ff8a4c", "#8790a0"],
};

export function css(colour, alpha = 1) {
  return `rgba(${colour[0]}, ${colour[1]}, ${colour[2]}, ${alpha})`;
}

export function laneColour(theme, k) {
  return LANES[theme][k % LANES[theme].length];
}

export function groundColour(theme, what) {
  return GROUND[theme][what];
}

function mixed(from, to, share) {
  return from.map((value, k) => value + (to[k] - value) * share);
}

function warmth(theme, share) {
  const [cool, warm, hot] = WARMTH[theme];
  return share < 0.5 ? mixed(cool, warm, share * 2) : mixed(warm, hot, share * 2 - 1);
}

function packed(colour) {
  const [r, g, b] = colour.map(Math.round);
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

// Which colour a cell has, as a table over all that it may be: ground, region, mark, learned, trail.
export class Colours {
  constructor(theme, lane) {
    const ground = GROUND[theme];
    const own = laneColour(theme, lane);
    const dark = theme === "dark";
    this.table = new Uint32Array((MUD + 1) * REGIONS * 3 * (HEAT + 1) * 3);
    let at = 0;
    for (let mud = 0; mud <= MUD; mud++) {
      const bare = mud === 0 ? ground.wall : mixed(ground.floor, ground.mud, (mud - 1) / (MUD - 1));
      for (let region = 0; region < REGIONS; region++) {
        const tinted = region && mud ? mixed(bare, TINTS[region - 1], dark ? 0.35 : 0.5) : bare;
        for (let mark = 0; mark < 3; mark++) {
          const share = mud === 0 ? 0 : [0, 0.62, dark ? 0.3 : 0.24][mark];
          const marked = mixed(tinted, own, share);
          for (let heat = 0; heat <= HEAT; heat++) {
            const warm = heat && mud ? mixed(marked, warmth(theme, (heat - 1) / (HEAT - 1)), 0.5 + (0.35 * heat) / HEAT) : marked;
            for (let seen = 0; seen < 3; seen++) {
              const trail = mud === 0 ? 0 : [0, dark ? 0.5 : 0.46, 0.5][seen];
              this.table[at++] = packed(mixed(warm, seen === 2 ? (dark ? [255, 255, 255] : [20, 22, 30]) : own, trail));
            }
          }
        }
      }
    }
  }

  of(mud, region, mark, heat, seen) {
    return this.table[(((mud * REGIONS + region) * 3 + mark) * (HEAT + 1) + heat) * 3 + seen];
  }
}

// How dear ground is shown: 0 a wall, 1 floor, up to MUD.
export function mudStep(free, cost) {
  if (!free) return 0;
  return cost <= 1 ? 1 : Math.min(MUD, 2 + Math.floor(2 * Math.log2(cost)));
}

export function regionStep(region) {
  return region < 0 ? 0 : 1 + (Math.imul(region + 1, 2654435761) >>> 16) % TINTS.length;
}
