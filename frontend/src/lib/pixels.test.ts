import { describe, expect, it } from "vitest";
import { bands, cellNumbers, colour, middle, paint, type Palette, pixels, rowAt } from "./pixels";

const base64 = (bytes: ArrayBuffer) => btoa(String.fromCharCode(...new Uint8Array(bytes)));
const ints = (values: number[]) => base64(new Int32Array(values).buffer);
const palette: Palette = {
  paper: [1, 1, 1],
  impossible: [2, 2, 2],
  empty: [3, 3, 3],
  hidden: [[10, 10, 10], [20, 20, 20]],
  occupied: [30, 30, 30],
  sharp: [40, 40, 40],
  published: [[50, 50, 50], [60, 60, 60], [70, 70, 70], [80, 80, 80]],
};

describe("packed numbers", () => {
  it("are read in whatever width they came", () => {
    for (const kind of [Int8Array, Int16Array, Int32Array]) {
      expect([...cellNumbers(base64(new kind([-1, 7, 100, 3]).buffer as ArrayBuffer), 2, 2)]).toEqual([-1, 7, 100, 3]);
    }
    expect([...cellNumbers({ rows: [10, 40], step: 3 }, 3, 2)]).toEqual([10, 13, 16, 40, 43, 46]);
  });
});

describe("a map", () => {
  const map = pixels(
    { cell: ints([0, 1, 2, 3, -1, 5]), state: base64(new Uint8Array([6, 6, 2, 3, 0, 4]).buffer), low: ints([9, 90, 0, 1, 0, 5]), high: ints([11, 110, 8, 16, 0, 6]), shown: ints([10, 100, -1, -1, -1, -1]) },
    3,
    2,
  );
  const at = (out: Uint8ClampedArray, i: number) => out[i * 4];

  it("paints the least and the most published count at the ends of the blues", () => {
    const out = paint(map, palette);
    expect(at(out, 0)).toBe(50);
    expect(at(out, 1)).toBe(80);
  });
  it("paints leaks orange, holes by what they could hold, and nothing where there is no cell", () => {
    const out = paint(map, palette);
    expect([at(out, 2), at(out, 3), at(out, 4), at(out, 5)]).toEqual([15, 30, 1, 40]);
  });
  it("shows only the states that are asked for", () => {
    const out = paint(map, palette, new Set([3]));
    expect([at(out, 0), at(out, 3), at(out, 5)]).toEqual([1, 30, 1]);
  });
  it("paints every one of 100,000 cells", () => {
    const n = 100_000;
    const big = { width: 400, height: 250, cell: new Int32Array(n), state: new Uint8Array(n).fill(2), low: new Int32Array(n), high: new Int32Array(n).fill(7), shown: new Int32Array(n) };
    const out = paint(big, palette);
    expect(out.length).toBe(4 * n);
    expect(new Set(out.filter((_, i) => i % 4 === 0))).toEqual(new Set([20]));
  });
});

describe("bands of rows", () => {
  const rows = ["a", "a", "b", "b", "b"].map((group) => ({ group }));
  it("find every row again at its own middle, and nothing in the gap", () => {
    const found = bands(rows, 108, 8);
    for (let row = 0; row < rows.length; row++) {
      const { y, height } = middle(found, row);
      expect(rowAt(found, y + height / 2)).toBe(row);
    }
    expect(rowAt(found, (found[0]?.height ?? 0) + 4)).toBeNull();
    expect(rowAt(found, 1e6)).toBeNull();
  });
  it("give each row a pixel however many there are", () => {
    const many = Array.from({ length: 3000 }, () => ({ group: "" }));
    expect(bands(many, 500)[0]?.height).toBe(3000);
  });
});

it("reads colours", () => {
  expect(colour(" #db7c17 ")).toEqual([219, 124, 23]);
  expect(colour("red")).toEqual([0, 0, 0]);
});
