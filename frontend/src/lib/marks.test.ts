import { expect, test } from "vitest";
import { read, real, realAddress, tamed } from "./marks";

test("a mark that turns writing is a box on the page and itself in what is sent and copied", () => {
  const name = "a\u202egnp\u2069.exe";
  expect(tamed(name)).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/);
  expect(tamed(name).length).toBe(name.length);
  expect(real(tamed(name))).toBe(name);
  expect(realAddress(`/x?at.stop=${encodeURIComponent(tamed(name))}`)).toBe(`/x?at.stop=${encodeURIComponent(name)}`);
  expect(realAddress(`/x?${new URLSearchParams({ a: tamed(name) })}`)).toBe(`/x?${new URLSearchParams({ a: name })}`);
});

test("JSON is read tamed, however a mark was written", () => {
  expect(read('{"a\u202e": "b\\u202e"}')).toEqual({ [tamed("a\u202e")]: tamed("b\u202e") });
  expect(read('["\\\\u202e"]')).toEqual(["\\u202e"]);
});
