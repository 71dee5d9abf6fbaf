/** Whether these pages stand inside a report: in a corner of a document that is not theirs. */

const host = globalThis.document?.getElementById("noisegate-live") ?? null;
export const within = host !== null;

/** The element whose style properties are ours. */
export const styled = (): HTMLElement => host ?? document.documentElement;

/** Where the pages are put: a root of their own in a report, else the element that waits for them. */
export function target(): Element | null {
  if (!host) return document.getElementById("app");
  const root = host.attachShadow({ mode: "open" });
  const sheet = document.getElementById("noisegate-style");
  if (sheet instanceof HTMLTemplateElement) root.append(sheet.content.cloneNode(true));
  const place = document.createElement("div");
  root.append(place);
  return place;
}
