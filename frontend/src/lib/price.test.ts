import { describe, expect, it } from "vitest";
import { about, between, ceiling, epsilonFor, errorAt, guesses, losses, said, type Curve } from "./price";

const curve: Curve = [0.5, 1, 2, 4].map((e) => [e, 10 / e]);

describe("a price", () => {
  it("is found on the curve, and the error at it again", () => {
    expect(epsilonFor(curve, 5)).toBe(2);
    expect(errorAt(curve, epsilonFor(curve, 7))).toBeLessThanOrEqual(7);
    expect(epsilonFor(curve, 7)).toBeCloseTo(10 / 7, 1);
  });
  it("goes on beyond the points as noise does", () => {
    expect(epsilonFor(curve, 1)).toBeCloseTo(10, 1);
    expect(epsilonFor(curve, 100)).toBeCloseTo(0.1, 2);
  });
  it("is higher for a smaller error", () => {
    const prices = [1, 2, 4, 8, 16].map((error) => epsilonFor(curve, error));
    expect([...prices].sort((a, b) => b - a)).toEqual(prices);
  });
});

describe("what an attacker is sure of", () => {
  it("starts at a coin and never passes the ceiling", () => {
    expect(guesses(0)).toBe(50);
    expect(ceiling(0)).toBe(50);
    for (const e of [0.1, 0.5, 1, 2, 5, 10, 80]) expect(guesses(e)).toBeLessThanOrEqual(ceiling(e) + 1e-9);
  });
  it("says always only if it rounds to 100", () => {
    expect(said(guesses(2.02))).toBe("82 of 100 right");
    expect(said(guesses(20))).toBe("always right");
  });
  it("adds up over days and taps", () => {
    expect(losses("person-day", 2, 4, 7).map((one) => one.epsilon)).toEqual([0.5, 2, 14]);
    expect(losses("event", 2, null, 7).map((one) => one.epsilon)).toEqual([2, 80]);
    expect(losses("person", 2, 4, 7).map((one) => one.epsilon)).toEqual([0.5, 2]);
  });
});

it("reads figures off between those that were worked out", () => {
  const points: [number, number][] = [[1, 0.6], [4, 0.8]];
  expect(between(points, 2)).toBeCloseTo(0.7, 9);
  expect(between(points, 0.1)).toBe(0.6);
  expect(between(points, 99)).toBe(0.8);
  expect(about("one person on all 7 days").who).toBe("All 7 days");
  expect(about("a person with 40 events, cells apart").who).toBe("A commuter, 40 taps");
});
