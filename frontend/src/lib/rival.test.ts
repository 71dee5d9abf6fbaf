import { expect, it } from "vitest";
import { nearest, odds } from "./rival";

it("says how much less likely a rival is", () => {
  expect(odds(0)).toBe("as likely");
  expect(odds(-Math.log(20))).toBe("20 times less likely");
  expect(odds(-0.2)).toBe("nearly as likely");
  expect(odds(-100)).toBe("10^43 times less likely");
});

it("finds the scale that is nearest", () => {
  expect(nearest([1, 1.4, 2], 1.5)).toBe(1);
  expect(nearest([3], 100)).toBe(0);
});
