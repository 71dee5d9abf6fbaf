/** What the attacker has, on every page alike. Turning the dial makes every page ask again. */

import { send } from "./api";

export interface Dial {
  timetable: boolean;
  known: number;
}

export const dial = $state<Dial & { turns: number }>({ timetable: false, known: 0, turns: 0 });

/** Trips of a person that can be chosen. */
export const KNOWN = [0, 1, 4, 10, 40];

export function set(now: Dial): void {
  dial.timetable = now.timetable;
  dial.known = now.known;
}

export async function turn(change: Partial<Dial>): Promise<void> {
  const { dial: now } = await send<{ dial: Dial }>("/dial", { timetable: dial.timetable, known: dial.known, ...change });
  set(now);
  dial.turns += 1;
}
