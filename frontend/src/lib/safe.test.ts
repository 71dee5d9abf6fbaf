import { expect, test } from "vitest";
import { choice, chosen, numbers, own, texts } from "./safe";

test("what an address says and is no list, or no choice, is nothing", () => {
  expect(texts('["a", 1, null, "b"]')).toEqual(["a", "b"]);
  for (const bad of [null, "", "{", "7", '"x"', "null"]) {
    expect(texts(bad)).toEqual([]);
    expect(Object.keys(choice(bad))).toEqual([]);
    expect(Object.keys(numbers(bad))).toEqual([]);
  }
  expect(Object.keys(choice('["a"]'))).toEqual([]);
  expect(Object.entries(choice('{"mode": ["bus", 2], "n": 3}'))).toEqual([["mode", ["bus"]]]);
});

test("a column may be called like something that every object has", () => {
  for (const name of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
    expect(choice("{}")[name]).toBeUndefined();
    const now = chosen(choice("{}"), name, ["a"]);
    expect(now[name]).toEqual(["a"]);
    expect(choice(JSON.stringify(now))[name]).toEqual(["a"]);
    expect(Object.keys(chosen(now, name, []))).toEqual([]);
    expect(own({}, name)).toBeUndefined();
  }
});

test("numbers by name are numbers", () => {
  expect(Object.entries(numbers('{"a": 1.5, "b": "2", "c": null}'))).toEqual([["a", 1.5]]);
});
