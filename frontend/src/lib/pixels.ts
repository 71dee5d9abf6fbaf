/** The map as one image, a pixel for each cell. */

export const STATES = ["impossible", "empty", "hidden", "occupied", "sharp", "exact", "published"] as const;
export const PUBLISHED = 6;
export const NONE = 255;

export interface Pixels {
  width: number;
  height: number;
  cell: Int32Array;
  state: Uint8Array;
  low: Int32Array;
  high: Int32Array;
  shown: Int32Array;
}

export type Colour = [number, number, number];

export interface Palette {
  paper: Colour;
  impossible: Colour;
  empty: Colour;
  hidden: [Colour, Colour];
  occupied: Colour;
  sharp: Colour;
  published: [Colour, Colour, Colour, Colour];
}

export function unpack(text: string): Uint8Array {
  const bits = atob(text);
  const bytes = new Uint8Array(bits.length);
  for (let i = 0; i < bits.length; i++) bytes[i] = bits.charCodeAt(i);
  return bytes;
}

/** Whole numbers that were packed in one, two or four bytes each; how many there are tells in how many. */
export function numbers(bytes: Uint8Array, count: number): Int32Array {
  if (bytes.length === count * 4) return new Int32Array(bytes.buffer);
  return Int32Array.from(bytes.length === count * 2 ? new Int16Array(bytes.buffer) : new Int8Array(bytes.buffer));
}

/** The numbers of cells: packed, or the first of each row and the step to the next. */
export type CellNumbers = string | { rows: number[]; step: number };

export function cellNumbers(told: CellNumbers, width: number, height: number): Int32Array {
  if (typeof told === "string") return numbers(unpack(told), width * height);
  const out = new Int32Array(width * height);
  told.rows.forEach((first, row) => {
    for (let k = 0; k < width; k++) out[row * width + k] = first + k * told.step;
  });
  return out;
}

export function pixels(
  cells: { cell: CellNumbers; state: string; low: string; high: string; shown: string },
  width: number,
  height: number,
): Pixels {
  const ints = (text: string) => numbers(unpack(text), width * height);
  return {
    width,
    height,
    cell: cellNumbers(cells.cell, width, height),
    state: Uint8Array.from(ints(cells.state)),
    low: ints(cells.low),
    high: ints(cells.high),
    shown: ints(cells.shown),
  };
}

export function colour(text: string): Colour {
  const found = /^#?([0-9a-f]{6})$/i.exec(text.trim());
  const value = found ? Number.parseInt(found[1] as string, 16) : 0;
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}

const mix = (a: Colour, b: Colour, t: number): Colour => [
  Math.round(a[0] + (b[0] - a[0]) * t),
  Math.round(a[1] + (b[1] - a[1]) * t),
  Math.round(a[2] + (b[2] - a[2]) * t),
];

/** The colours of all cells: published by size, hidden by how many there could be, orange where something leaked. */
export function paint(map: Pixels, palette: Palette, only: ReadonlySet<number> | null = null): Uint8ClampedArray<ArrayBuffer> {
  const out = new Uint8ClampedArray(map.width * map.height * 4);
  let most = 1;
  let least = Number.POSITIVE_INFINITY;
  let roof = 1;
  for (let i = 0; i < map.state.length; i++) {
    if (map.state[i] === PUBLISHED) {
      const value = map.shown[i] as number;
      if (value > most) most = value;
      if (value < least) least = value;
    } else if ((map.high[i] as number) > roof) roof = map.high[i] as number;
  }
  const floor = Math.log(Math.max(1, least));
  const span = Math.max(Math.log(Math.max(2, most)) - floor, 1e-9);
  for (let i = 0; i < map.state.length; i++) {
    const state = map.state[i] as number;
    let rgb: Colour = palette.paper;
    if ((map.cell[i] as number) >= 0 && (only === null || only.has(state))) {
      if (state === PUBLISHED) {
        const t = (3 * (Math.log(Math.max(1, map.shown[i] as number)) - floor)) / span;
        const step = Math.min(2, Math.max(0, Math.floor(t)));
        rgb = mix(palette.published[step as 0 | 1 | 2], palette.published[(step + 1) as 1 | 2 | 3], Math.min(1, t - step));
      } else if (state >= 4) rgb = palette.sharp;
      else if (state === 3) rgb = palette.occupied;
      else if (state === 2) rgb = mix(palette.hidden[0], palette.hidden[1], Math.min(1, (map.high[i] as number) / roof));
      else rgb = state === 1 ? palette.empty : palette.impossible;
    }
    out[i * 4] = rgb[0];
    out[i * 4 + 1] = rgb[1];
    out[i * 4 + 2] = rgb[2];
    out[i * 4 + 3] = 255;
  }
  return out;
}

export interface Band {
  label: string;
  from: number;
  to: number;
  y: number;
  height: number;
}

/** Groups of rows one below the other with a gap between, in CSS pixels; rows keep at least a pixel. */
export function bands(rows: { group: string }[], height: number, gap = 8): Band[] {
  const groups: { label: string; from: number; to: number }[] = [];
  rows.forEach((row, i) => {
    const last = groups[groups.length - 1];
    if (last && last.label === row.group) last.to = i + 1;
    else groups.push({ label: row.group, from: i, to: i + 1 });
  });
  const room = Math.max(height - gap * (groups.length - 1), rows.length);
  let y = 0;
  return groups.map((group) => {
    const tall = (room * (group.to - group.from)) / rows.length;
    const band = { ...group, y, height: tall };
    y += tall + gap;
    return band;
  });
}

/** The row at a height, or null between groups. */
export function rowAt(groups: Band[], y: number): number | null {
  for (const band of groups) {
    if (y >= band.y && y < band.y + band.height) {
      return band.from + Math.min(band.to - band.from - 1, Math.floor(((y - band.y) / band.height) * (band.to - band.from)));
    }
  }
  return null;
}

/** The middle of a row. */
export function middle(groups: Band[], row: number): { y: number; height: number } {
  for (const band of groups) {
    if (row >= band.from && row < band.to) {
      const tall = band.height / (band.to - band.from);
      return { y: band.y + (row - band.from) * tall, height: tall };
    }
  }
  return { y: 0, height: 0 };
}
