/** A page that was kept as one file: what the server would answer lies in the page itself. */

import { read } from "./marks";
import { cellNumbers } from "./pixels";
import type { Look, MapPage } from "./types";

export interface Kept {
  pages: Record<string, unknown>;
  maps: MapPage[];
  looks: Record<string, Look>;
}

export const GONE = "not-kept";

/** What lies in the page; null where a server answers. */
export function embedded(root: Pick<Document, "getElementById"> | undefined = globalThis.document): Kept | null {
  const text = root?.getElementById("noisegate-kept")?.textContent;
  return text ? (read(text) as Kept) : null;
}

export const lookKey = (cell: string, without: string[]): string => `${cell}|${[...without].sort().join("|")}`;

const holds = (map: MapPage, cell: number): boolean => cellNumbers(map.cells.cell, map.columns.length, map.rows.length).includes(cell);

/** The answer to an address, or a sentence why this file has none. */
export function answer(kept: Kept, address: string): { found: unknown } | { missing: string } {
  const url = new URL(address, "http://kept");
  const page = url.pathname.split("/").pop() ?? "";
  if (page === "microscope.json") {
    const wanted = [...url.searchParams].filter(([name]) => name.startsWith("at."));
    const cell = url.searchParams.get("cell");
    const fits = kept.maps.find((map) => wanted.every(([name, label]) => map.view.at[name.slice(3)] === label) && (cell === null || holds(map, Number(cell))));
    return fits ? { found: fits } : { missing: "This file does not hold that map. Open the release in the workbench for all of them." };
  }
  if (page === "cell.json") {
    const without = JSON.parse(url.searchParams.get("without") ?? "[]") as string[];
    const look = kept.looks[lookKey(url.searchParams.get("cell") ?? "", without)];
    return look ? { found: look } : { missing: "This file holds close looks at the sharpest holes only ('Next sharpest hole' goes through them). Open the release in the workbench for any other cell." };
  }
  const found = kept.pages[url.pathname];
  return found === undefined ? { missing: "This file does not hold that page. Open the release in the workbench." } : { found };
}
