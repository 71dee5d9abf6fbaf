/** Light or dark: what the system says, unless somebody chose. */

import { styled, within } from "./within";

const KEY = "noisegate-theme";
const system = window.matchMedia("(prefers-color-scheme: dark)");

function chosen(): "light" | "dark" {
  const kept = within ? null : localStorage.getItem(KEY);
  return kept === "light" || kept === "dark" ? kept : system.matches ? "dark" : "light";
}

export const theme = $state({ name: chosen() });

export function apply(): void {
  styled().dataset["theme"] = theme.name;
}

export function toggle(): void {
  theme.name = theme.name === "dark" ? "light" : "dark";
  localStorage.setItem(KEY, theme.name);
  apply();
}

system.addEventListener("change", () => {
  theme.name = chosen();
  apply();
});
apply();
