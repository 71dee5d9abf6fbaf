/** Marks that turn the direction of writing can make a page say something else: they are shown as boxes, and sent back as they were. */

const MARKS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069";
const BOXES = Array.from(MARKS, (_, k) => String.fromCharCode(0xe900 + k)).join("");
const FOUND = new RegExp(`[${MARKS}]`, "g");
const BOXED = new RegExp(`[${BOXES}]`, "g");

/** Text that cannot turn what stands beside it. */
export const tamed = (text: string): string => text.replace(FOUND, (one) => BOXES[MARKS.indexOf(one)] as string);

/** The text as it was. */
export const real = (text: string): string => text.replace(BOXED, (one) => MARKS[BOXES.indexOf(one)] as string);

const CODED = Array.from(BOXES, (one, k) => [encodeURIComponent(one), encodeURIComponent(MARKS[k] as string)] as const);

/** An address with the names in it as they were. */
export const realAddress = (path: string): string => (path.includes("%EE%A4%") ? CODED.reduce((now, [boxed, mark]) => now.replaceAll(boxed, mark), path) : path);

/** What a server or a page holds in JSON, tamed: no mark stands in what is no text, so the whole can be. */
export const read = (json: string): unknown => JSON.parse(tamed(json.replace(/(?<!\\)((?:\\\\)*)\\u(061c|200[ef]|202[a-e]|206[6-9])/gi, (_, before: string, code: string) => before + String.fromCharCode(Number.parseInt(code, 16)))));
