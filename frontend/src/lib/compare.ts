/** Two maps side by side: the same rows in the same order, so that one place is at one height in both. */

import type { Pixels } from "./pixels";

export interface Row {
  label: string;
  group: string;
}

const key = (row: Row): string => `${row.group}\u0000${row.label}`;

/** The order in which `rows` stand beside `model`: by its groups, within each first what it has, as it has it, then the rest. */
export function order(model: Row[], rows: Row[]): number[] {
  const places = new Map(model.map((row, k) => [key(row), k]));
  const groups = new Map<string, number>();
  for (const row of [...model, ...rows]) if (!groups.has(row.group)) groups.set(row.group, groups.size);
  return rows
    .map((row, k) => ({ k, group: groups.get(row.group) ?? 0, place: places.get(key(row)) ?? model.length + k }))
    .sort((a, b) => a.group - b.group || a.place - b.place)
    .map(({ k }) => k);
}

/** The map with its rows in another order. */
export function reordered(map: Pixels, rows: number[]): Pixels {
  const { width } = map;
  const moved = <T extends Int32Array | Uint8Array>(values: T): T => {
    const out = values.slice() as T;
    rows.forEach((from, to) => out.set(values.subarray(from * width, (from + 1) * width), to * width));
    return out;
  };
  return { width, height: map.height, cell: moved(map.cell), state: moved(map.state), low: moved(map.low), high: moved(map.high), shown: moved(map.shown) };
}

/** The pixel of the other map at the same row and column; null if it has none. */
export function twin(pixel: number, here: { rows: Row[]; columns: string[] }, there: { rows: Row[]; columns: string[] }): number | null {
  const row = here.rows[Math.floor(pixel / here.columns.length)];
  const column = here.columns[pixel % here.columns.length];
  if (!row || column === undefined) return null;
  const r = there.rows.findIndex((one) => key(one) === key(row));
  const c = there.columns.indexOf(column);
  return r < 0 || c < 0 ? null : r * there.columns.length + c;
}

/** The largest finding of each kind on either side, kinds of the left side first. */
export function paired<F extends { id: string }>(left: F[], right: F[]): { id: string; left: F | null; right: F | null }[] {
  const ids = [...new Set([...left, ...right].map((one) => one.id))];
  return ids.map((id) => ({ id, left: left.find((one) => one.id === id) ?? null, right: right.find((one) => one.id === id) ?? null }));
}
