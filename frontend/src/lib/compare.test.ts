import { expect, it } from "vitest";
import { order, paired, reordered, twin } from "./compare";

const row = (group: string, label: string) => ({ group, label });
const left = [row("train", "b"), row("train", "a"), row("bus", "c")];
const right = [row("bus", "d"), row("bus", "c"), row("train", "a"), row("train", "b")];

it("puts rows in the order of the other map, and what only one has at the end of its group", () => {
  expect(order(left, right).map((k) => right[k])).toEqual([row("train", "b"), row("train", "a"), row("bus", "c"), row("bus", "d")]);
});

it("moves whole rows", () => {
  const map = { width: 2, height: 2, cell: new Int32Array([1, 2, 3, 4]), state: new Uint8Array(4), low: new Int32Array(4), high: new Int32Array(4), shown: new Int32Array(4) };
  expect([...reordered(map, [1, 0]).cell]).toEqual([3, 4, 1, 2]);
});

it("finds the same place, or says that there is none", () => {
  const here = { rows: left, columns: ["x", "y"] };
  const there = { rows: right, columns: ["y", "x"] };
  expect(twin(0, here, there)).toBe(7);
  expect(twin(1, here, there)).toBe(6);
  expect(twin(4, here, { rows: [], columns: ["x"] })).toBeNull();
});

it("pairs findings of a kind", () => {
  expect(paired([{ id: "a" }, { id: "b" }], [{ id: "c" }, { id: "a" }]).map((one) => [one.id, one.left !== null, one.right !== null])).toEqual([
    ["a", true, true],
    ["b", true, false],
    ["c", false, true],
  ]);
});
