/** Keys that work on every page, and what those of single pages do. */

export const PAGES: [key: string, page: string, title: string][] = [
  ["f", "files", "Files"],
  ["n", "noise", "Noise"],
  ["m", "microscope", "Microscope"],
  ["w", "weeks", "Weeks"],
  ["d", "findings", "Findings"],
  ["b", "compare", "Before and after"],
  ["a", "ask", "Ask"],
  ["x", "fix", "Fix (custodian)"],
  ["s", "/", "Start"],
  ["p", "/price", "Price (custodian)"],
  ["l", "/ledger", "Ledger (custodian)"],
];

export const OTHERS: [keys: string, does: string][] = [
  ["arrows", "from cell to cell, on a map that has the focus"],
  ["n", "the next sharpest hole"],
  ["[ ]", "the day before, the day after"],
  ["1 2 3", "switch a table off, and on again"],
  ["?", "this list"],
  ["Esc", "close it"],
];

/** Whether a key was pressed while somebody writes or chooses. */
export function writing(event: Pick<KeyboardEvent, "target" | "metaKey" | "ctrlKey" | "altKey">): boolean {
  const name = (event.target as { tagName?: string } | null)?.tagName ?? "";
  return event.metaKey || event.ctrlKey || event.altKey || ["INPUT", "TEXTAREA", "SELECT"].includes(name);
}

/** The page behind a key that follows a g; null for any other. */
export const goes = (key: string): string | null => PAGES.find(([one]) => one === key)?.[1] ?? null;
