import { alone } from "./api";
import { within } from "./within";

/** Where we are: the address is the only state of navigation, so that every view can be linked to. */

export type PageName = "start" | "files" | "noise" | "microscope" | "map" | "findings" | "weeks" | "compare" | "fix" | "ask" | "price" | "ledger" | "interview" | "missing";

export interface Place {
  page: PageName;
  id: string;
  query: URLSearchParams;
}

export function parse(path: string, search: string): Place {
  const query = new URLSearchParams(search);
  if (path === "/") return { page: "start", id: "", query };
  const found = /^\/r\/([^/]+)\/(files|noise|microscope|map|weeks|findings|compare|fix|ask)$/.exec(path);
  if (found) return { page: found[2] as PageName, id: found[1] as string, query };
  const own = /^\/(price|ledger|interview)$/.exec(path);
  return { page: own ? (own[1] as PageName) : "missing", id: "", query };
}

let inner = "/";

/** A page that was kept as a file has its place behind the hash; inside a report the address is the report's. */
function now(): Place {
  if (within) {
    const [path, search] = inner.split("?");
    return parse(path || "/", search ?? "");
  }
  if (!alone) return parse(location.pathname, location.search);
  const [path, search] = location.hash.slice(1).split("?");
  return parse(path || "/", search ?? "");
}

/** Whether a page takes as much width as there is: those with maps do. */
export const isWide = (page: PageName): boolean => page === "microscope" || page === "map" || page === "compare";

/** Where programs find what a page shows. */
export function twin(place: Place): string {
  const { page, id, query } = place;
  if (page === "start") return "/start.json";
  if (page === "microscope") return mapPath(place);
  if (page === "price" && query.get("spec")) return `/price/${encodeURIComponent(query.get("spec") as string)}.json`;
  if (page === "interview" && query.get("events")) return `/interview/${encodeURIComponent(query.get("events") as string)}.json`;
  if (!id) return `/${page}.json`;
  if (page === "ask" && [...query.keys()].length) return `/r/${id}/answer.json?${query}`;
  return `/r/${id}/${page}.json${query.size ? `?${query}` : ""}`;
}

/** What the map of a microscope page is asked for by. */
export function mapPath({ id, query }: Place): string {
  const wanted = new URLSearchParams();
  for (const [name, value] of query) if (name === "rows" || name === "columns" || name.startsWith("at.")) wanted.set(name, value);
  const cell = query.get("cell");
  if (cell !== null && ![...wanted.keys()].some((name) => name.startsWith("at."))) wanted.set("cell", cell);
  return `/r/${id}/microscope.json?${wanted}`;
}

export const here = $state({ place: now() });

export function go(address: string, replace = false): void {
  if (within) {
    inner = address;
    here.place = now();
    return;
  }
  const shown = alone ? `#${address}` : address;
  if (replace) history.replaceState(null, "", shown);
  else history.pushState(null, "", shown);
  here.place = now();
  if (!replace) window.scrollTo(0, 0);
}

export function watchHistory(): () => void {
  const back = () => {
    here.place = now();
  };
  const click = (event: MouseEvent) => {
    const link = (event.composedPath()[0] as Element | undefined)?.closest?.("a");
    // Links of a report that these pages stand in are its own.
    if (within && link && !(link.getRootNode() instanceof ShadowRoot)) return;
    if (!link || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    if (link.origin !== location.origin || link.target || link.hasAttribute("download") || link.dataset["plain"] !== undefined) return;
    event.preventDefault();
    go(link.pathname + link.search);
  };
  window.addEventListener("popstate", back);
  document.addEventListener("click", click);
  return () => {
    window.removeEventListener("popstate", back);
    document.removeEventListener("click", click);
  };
}
