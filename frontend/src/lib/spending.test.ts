import { describe, expect, it } from "vitest";
import { filled, listed, steps } from "./spending";

describe("the ledger", () => {
  it("adds up in the order of time and leaves out what has no bound", () => {
    const found = steps([{ at: "2026-02", epsilon: 2 }, { at: "2026-01", epsilon: 1 }, { at: "2026-03", epsilon: null }]);
    expect(found.map((one) => one.sum)).toEqual([1, 3]);
  });
});

describe("the interview", () => {
  it("puts answers where the questions were and leaves the rest open", () => {
    const text = "a: ??\nb: {from: ??, to: ??}  # ends\n";
    expect(filled(text, [{ line: 1, nth: 1, value: "2" }])).toBe("a: ??\nb: {from: ??, to: 2}  # ends\n");
    expect(filled(text, [{ line: 0, nth: 0, value: "x" }])).toBe("a: x\nb: {from: ??, to: ??}  # ends\n");
  });
  it("writes lists as YAML does", () => {
    expect(listed("bus, ferry")).toBe('["bus", "ferry"]');
    expect(listed("stops.csv")).toBe("stops.csv");
    expect(listed("[a, b]")).toBe("[a, b]");
  });
});
