/** What stands in an address was written by anybody; names of columns and values were, too. */

function parsed(text: string | null): unknown {
  try {
    return JSON.parse(text ?? "null");
  } catch {
    return null;
  }
}

/** A list of texts; empty if it is none. */
export function texts(text: string | null): string[] {
  const found = parsed(text);
  return Array.isArray(found) ? found.filter((one): one is string => typeof one === "string") : [];
}

export type Choice = Record<string, string[]>;

/** An object that knows nothing but what is put into it: a column may be called `constructor` or `__proto__`. */
export function plain<T>(entries: Iterable<readonly [string, T]>): Record<string, T> {
  const found = Object.create(null) as Record<string, T>;
  for (const [name, value] of entries) found[name] = value;
  return found;
}

/** Chosen values by dimension; what is no such thing is left out. */
export function choice(text: string | null): Choice {
  const found = parsed(text);
  if (typeof found !== "object" || found === null || Array.isArray(found)) return plain([]);
  const able = Object.entries(found).filter((one): one is [string, unknown[]] => Array.isArray(one[1]));
  return plain(able.map(([name, values]) => [name, values.filter((one): one is string => typeof one === "string")] as const));
}

/** The same with other values for one dimension; none if there are none. */
export function chosen(now: Choice, name: string, values: string[]): Choice {
  return plain([...Object.entries(now).filter(([one]) => one !== name), ...(values.length ? [[name, values] as const] : [])]);
}

/** What a record holds under a name of its own. */
export const own = <T>(record: Record<string, T> | null | undefined, name: string): T | undefined => (record && Object.hasOwn(record, name) ? record[name] : undefined);

/** Numbers by name, as an address holds them. */
export function numbers(text: string | null): Record<string, number> {
  const found = parsed(text);
  if (typeof found !== "object" || found === null || Array.isArray(found)) return plain([]);
  return plain(Object.entries(found).filter((one): one is [string, number] => typeof one[1] === "number" && Number.isFinite(one[1])));
}

/** Answers that this browser tab holds for a page; none if there are none, or if it may not hold any. */
export function remembered(place: string): Record<string, string> {
  try {
    const found = parsed(sessionStorage.getItem(place));
    return typeof found === "object" && found !== null ? plain(Object.entries(found).filter((one): one is [string, string] => typeof one[1] === "string")) : {};
  } catch {
    return {};
  }
}
export function remember(place: string, answers: Record<string, string>): void {
  try {
    sessionStorage.setItem(place, JSON.stringify(answers));
  } catch {
    // A browser that holds nothing forgets it on a reload.
  }
}

/** Text to the clipboard; false where the browser does not allow it. */
export async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
