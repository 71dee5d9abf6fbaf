import { expect, it, vi } from "vitest";

vi.stubGlobal("location", { pathname: "/", search: "", hash: "" });
const { parse } = await import("./route.svelte");

it("knows its pages and no others", () => {
  expect(parse("/", "").page).toBe("start");
  expect(parse("/r/abc/microscope", "?cell=3")).toMatchObject({ page: "microscope", id: "abc" });
  expect(parse("/r/abc/microscope", "?cell=3").query.get("cell")).toBe("3");
  for (const path of ["/r//files", "/r/a/b/files", "/r/a/filesx", "/elsewhere", "/r/a/files.json"]) expect(parse(path, "").page).toBe("missing");
});
