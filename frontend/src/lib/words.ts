/** Numbers and intervals in words. */

import { real } from "./marks";

const plain = new Intl.NumberFormat("en-AU");

export const count = (value: number): string => plain.format(Math.round(value));

export const amount = (value: number): string =>
  Math.abs(value) >= 100 ? count(value) : new Intl.NumberFormat("en-AU", { maximumSignificantDigits: 3 }).format(value);

export const plural = (value: number, one: string, many = `${one}s`): string => `${count(value)} ${value === 1 ? one : many}`;

/** "11 to 19 people", or "16 people" if one count is left. */
export const interval = (low: number, high: number): string => (low === high ? count(low) : high >= ENDLESS ? `${count(low)} or more` : `${count(low)} to ${count(high)}`);

/** A count from here on means that nothing ends it. */
export const ENDLESS = 2 ** 31 - 1;

/** How sure a range is: a share, or proved where only one thing is possible. */
export const sure = (level: number): string => (level >= 1 ? "proved" : percent(level));

export const percent = (level: number): string => `${Math.round(level * 1000) / 10}\u00a0%`;

/** "surely", "almost surely", or how likely. */
export function sureness(probability: number): string {
  if (probability > 0.99) return "surely";
  if (probability > 0.95) return "almost surely";
  return `with ${percent(probability)} probability`;
}

const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];

/** A date as people say it; any other text as it stands. */
export function day(text: string): string {
  const found = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text);
  if (!found) return text;
  const date = new Date(Date.UTC(Number(found[1]), Number(found[2]) - 1, Number(found[3])));
  return `${DAYS[date.getUTCDay()]} ${date.getUTCDate()} ${date.toLocaleString("en-AU", { month: "short", timeZone: "UTC" })}`;
}

/** CSV of rows, with quotes where needed and no cell that a spreadsheet would run. */
export function csv(rows: Record<string, string | number | boolean | null>[]): string {
  const names = Object.keys(rows[0] ?? {});
  const cell = (value: unknown): string => {
    const text = real(String(value ?? ""));
    const calm = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\n\r]/.test(calm) ? `"${calm.replaceAll('"', '""')}"` : calm;
  };
  return [names.map(cell).join(","), ...rows.map((row) => names.map((name) => cell(row[name])).join(","))].join("\n") + "\n";
}

/** A Python string literal. */
export const literal = (text: string): string => JSON.stringify(real(text));
