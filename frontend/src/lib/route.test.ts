import { expect, it, vi } from "vitest";

vi.stubGlobal("location", { pathname: "/", search: "", hash: "" });
const { parse, twin } = await import("./route.svelte");

it("has a twin in JSON for every page", () => {
  const of = (path: string, search = "") => twin(parse(path, search));
  expect(of("/")).toBe("/start.json");
  expect(of("/r/a/files")).toBe("/r/a/files.json");
  expect(of("/r/a/compare", "?with=b")).toBe("/r/a/compare.json?with=b");
  expect(of("/r/a/microscope", "?cell=3&without=x")).toBe("/r/a/microscope.json?cell=3");
  expect(of("/r/a/ask", "?by=mode")).toBe("/r/a/answer.json?by=mode");
  expect(of("/price", "?spec=s")).toBe("/price/s.json");
  expect(of("/ledger")).toBe("/ledger.json");
});

it("knows its pages and no others", () => {
  expect(parse("/", "").page).toBe("start");
  expect(parse("/r/abc/microscope", "?cell=3")).toMatchObject({ page: "microscope", id: "abc" });
  expect(parse("/r/abc/microscope", "?cell=3").query.get("cell")).toBe("3");
  for (const path of ["/r//files", "/r/a/b/files", "/r/a/filesx", "/elsewhere", "/r/a/files.json"]) expect(parse(path, "").page).toBe("missing");
});
