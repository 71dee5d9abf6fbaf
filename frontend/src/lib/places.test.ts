import { expect, it } from "vitest";
import { frame } from "./places";

it("has north above and keeps lengths", () => {
  const spots = [{ lat: -41, lon: 160 }, { lat: -40.9, lon: 160 }, { lat: -41, lon: 160 + 0.1 / Math.cos((40.95 * Math.PI) / 180) }];
  const { at } = frame(spots);
  const [south, north, east] = spots.map(at) as [ReturnType<typeof at>, ReturnType<typeof at>, ReturnType<typeof at>];
  expect(north.y).toBeLessThan(south.y);
  expect(east.x - south.x).toBeCloseTo(south.y - north.y, 6);
});

it("stands one place still", () => {
  const { at, width, height } = frame([{ lat: 1, lon: 2 }]);
  expect(Number.isFinite(at({ lat: 1, lon: 2 }).x + width + height)).toBe(true);
});
