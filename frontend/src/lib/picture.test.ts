import { expect, it } from "vitest";
import { ends } from "./picture";

const line = (low: number, high: number | null) => ({ label: "", low, high, estimate: null, said: "", weak: false });

it("has zero on the axis of a picture", () => {
  expect(ends([line(5, 9)])).toEqual([0, 9]);
  expect(ends([line(-4, 2), line(1, null)])).toEqual([-4, 2]);
  expect(ends([])).toEqual([0, 1]);
});
