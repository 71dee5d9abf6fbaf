/** From a tolerated error to epsilon and back, on the curve that the server worked out; and what an attacker is then sure of. */

export type Curve = [epsilon: number, error: number][];

const sorted = (curve: Curve): Curve => [...curve].filter(([e, r]) => e > 0 && r > 0).sort((a, b) => a[0] - b[0]);

/** Linear in logarithms between the points; beyond them the last slope goes on, as noise of every law here does. */
function along(points: [number, number][], x: number): number {
  if (!points.length) return Number.NaN;
  if (points.length === 1) return (points[0] as [number, number])[1];
  let k = points.findIndex(([at]) => at >= x);
  if (k <= 0) k = k === 0 ? 1 : points.length - 1;
  const [x0, y0] = points[k - 1] as [number, number];
  const [x1, y1] = points[k] as [number, number];
  if (x1 === x0) return y1;
  const t = (Math.log(x) - Math.log(x0)) / (Math.log(x1) - Math.log(x0));
  return Math.exp(Math.log(y0) + t * (Math.log(y1) - Math.log(y0)));
}

export const errorAt = (curve: Curve, epsilon: number): number => along(sorted(curve), epsilon);

/** The least epsilon at which the expected error is no more than this; rounded up, never down. */
export function epsilonFor(curve: Curve, error: number): number {
  const points = sorted(curve).map(([e, r]) => [r, e] as [number, number]).sort((a, b) => a[0] - b[0]);
  const found = along(points, error);
  return Math.ceil(found * 100 - 1e-6) / 100;
}

/** Right guesses out of 100 of the best test against one Laplace count that holds all of the loss. */
export const guesses = (epsilon: number): number => 100 * (0.5 + 0.5 * (1 - Math.exp(-epsilon / 2)));

/** What no attack on any release with this epsilon can pass. */
export const ceiling = (epsilon: number): number => 100 / (1 + Math.exp(-epsilon));

/** A figure between those that were worked out: straight in the logarithm of epsilon, the nearest beyond its ends. */
export function between(points: [number, number][], epsilon: number): number {
  const first = points[0] as [number, number];
  const last = points[points.length - 1] as [number, number];
  if (epsilon <= first[0]) return first[1];
  if (epsilon >= last[0]) return last[1];
  const k = points.findIndex(([at]) => at >= epsilon);
  const [x0, y0] = points[k - 1] as [number, number];
  const [x1, y1] = points[k] as [number, number];
  return y0 + ((y1 - y0) * Math.log(epsilon / x0)) / Math.log(x1 / x0);
}

const QUESTIONS: [RegExp, string, string][] = [
  [/^one event$/, "One tap", "Did she tap there at that time?"],
  [/^one person-day$/, "One day", "Was she out at all that day?"],
  [/^one person$/, "A person", "Is she among the travellers at all?"],
  [/all (\d+) days/, "All $1 days", "Is she among the travellers at all?"],
  [/with (\d+) events/, "A commuter, $1 taps", "Is she among the travellers at all?"],
];

/** Whom a figure is about, and what the attacker asks. */
export function about(whose: string): { who: string; asks: string } {
  for (const [pattern, who, asks] of QUESTIONS) {
    const found = pattern.exec(whose);
    if (found) return { who: who.replace("$1", found[1] ?? ""), asks };
  }
  return { who: whose, asks: "Is she in the data?" };
}

export function said(right: number): string {
  const whole = Math.round(right);
  return whole >= 100 ? "always right" : `${whole} of 100 right`;
}

/** What a person loses in all, and for whom: unit of the promise, its loss, cells a day, days, taps. */
export function losses(unit: string, epsilon: number, cells: number | null, days: number, taps = 40): { who: string; asks: string; epsilon: number }[] {
  const share = cells ? epsilon / cells : epsilon;
  if (unit === "event")
    return [
      { who: "One tap", asks: "Did she tap there at that time?", epsilon },
      { who: `A commuter, ${taps} taps`, asks: "Is she among the travellers at all?", epsilon: taps * epsilon },
    ];
  if (unit === "person-day")
    return [
      { who: "One tap", asks: "Did she tap there at that time?", epsilon: share },
      { who: "One day", asks: "Was she out at all that day?", epsilon },
      { who: `All ${days} days`, asks: "Is she among the travellers at all?", epsilon: days * epsilon },
    ];
  return [
    { who: "One tap", asks: "Did she tap there at that time?", epsilon: share },
    { who: "A person", asks: "Is she among the travellers at all?", epsilon },
  ];
}
