import { expect, it } from "vitest";
import { fromRho, here, LANES } from "./deployments";

it("converts as its note says", () => {
  expect(fromRho(15.29, 1e-10)).toBeCloseTo(52.8, 1);
  expect(LANES[0]?.deployments[0]?.epsilon).toBeCloseTo(2.14, 2);
});

it("puts a release into the lanes that its promise has", () => {
  expect(here("event", 2, null, 7, 40)).toEqual({ event: 2, "person-day": null, person: 80 });
  expect(here("person-day", 2, 4, 7, 40)).toEqual({ event: 0.5, "person-day": 2, person: 14 });
  expect(here("person", 2, 4, 7, 40)).toEqual({ event: 0.5, "person-day": null, person: 2 });
});
