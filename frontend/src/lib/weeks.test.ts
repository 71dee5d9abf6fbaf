import { describe, expect, it } from "vitest";
import { by, others, shortest } from "./weeks";

describe("weeks played forward", () => {
  it("say what was so at the last week that was worked out", () => {
    const points = [{ week: 1, x: 1 }, { week: 4, x: 2 }];
    expect(by(points, 3)?.x).toBe(1);
    expect(by(points, 52)?.x).toBe(2);
    expect(by(points, 0)).toBeNull();
  });
});

describe("one person who is known to be there", () => {
  it("leaves the others as they would have come: a Poisson count stays Poisson", () => {
    const rate = 2.5;
    const law: number[] = [];
    let p = Math.exp(-rate);
    for (let k = 0; k < 60; k++) {
      law.push(p);
      p = (p * rate) / (k + 1);
    }
    const found = others(0, law);
    expect(found.first).toBe(0);
    found.probabilities.slice(0, 20).forEach((one, k) => expect(one).toBeCloseTo(law[k] as number, 9));
    expect(found.alone).toBeCloseTo(Math.exp(-rate), 9);
  });
  it("is alone for certain where one count is left", () => {
    expect(others(1, [1])).toEqual({ first: 0, probabilities: [1], alone: 1 });
    expect(others(5, [0.5, 0.5]).alone).toBe(0);
  });
  it("has the shortest interval", () => {
    expect(shortest(3, [0.02, 0.5, 0.45, 0.03], 0.9)).toEqual([4, 5]);
    expect(shortest(0, [1], 0.95)).toEqual([0, 0]);
  });
});
