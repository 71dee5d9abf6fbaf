import { expect, it } from "vitest";
import { goes, PAGES, writing } from "./keys";

it("leaves keys alone while somebody writes", () => {
  const plain = { metaKey: false, ctrlKey: false, altKey: false };
  expect(writing({ ...plain, target: { tagName: "INPUT" } as unknown as EventTarget })).toBe(true);
  expect(writing({ ...plain, target: { tagName: "BODY" } as unknown as EventTarget })).toBe(false);
  expect(writing({ ...plain, ctrlKey: true, target: null })).toBe(true);
});

it("has one key for each page", () => {
  expect(new Set(PAGES.map(([key]) => key)).size).toBe(PAGES.length);
  expect(goes("m")).toBe("microscope");
  expect(goes("z")).toBeNull();
});
