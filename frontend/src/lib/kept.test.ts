import { describe, expect, it } from "vitest";
import { answer, embedded, type Kept, lookKey } from "./kept";

const cells = (numbers: number[]) => ({ cell: btoa(String.fromCharCode(...new Uint8Array(new Int32Array(numbers).buffer))) });
const kept = {
  pages: { "/start.json": { folder: "x" } },
  maps: [
    { view: { at: { day: "Mon" } }, rows: [{}], columns: ["a", "b"], cells: cells([1, 2]) },
    { view: { at: { day: "Tue" } }, rows: [{}], columns: ["a", "b"], cells: { cell: { rows: [3], step: 1 } } },
  ],
  looks: { [lookKey("3", ["b", "a"])]: { cell: 3 } },
} as unknown as Kept;

describe("a kept page", () => {
  it("answers as the server would", () => {
    expect(answer(kept, "/start.json")).toEqual({ found: { folder: "x" } });
    expect(answer(kept, "/r/a/microscope.json?at.day=Tue")).toEqual({ found: kept.maps[1] });
    expect(answer(kept, "/r/a/microscope.json?cell=4")).toEqual({ found: kept.maps[1] });
    expect(answer(kept, "/r/a/microscope.json?")).toEqual({ found: kept.maps[0] });
    expect(answer(kept, `/r/a/cell.json?cell=3&without=${encodeURIComponent('["a","b"]')}`)).toEqual({ found: { cell: 3 } });
  });
  it("says what it does not hold", () => {
    for (const one of ["/r/a/microscope.json?at.day=Wed", "/r/a/cell.json?cell=1", "/r/a/ask.json"]) expect(answer(kept, one)).toHaveProperty("missing");
  });
  it("is read from the page, if there is one in it", () => {
    expect(embedded({ getElementById: () => null })).toBeNull();
    expect(embedded({ getElementById: () => ({ textContent: JSON.stringify(kept) }) as HTMLElement })?.maps.length).toBe(2);
  });
});
