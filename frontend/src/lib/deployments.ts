/** Releases that real publishers made, by whom their promise is about. They can be compared within a lane only. */

export interface Deployment {
  name: string;
  epsilon: number;
  /** Converted or derived by us, not stated by the publisher. */
  derived: boolean;
  /** What the figure is. */
  note: string;
}

export interface Lane {
  unit: "event" | "person-day" | "person";
  title: string;
  deployments: Deployment[];
}

/** Epsilon of a zero-concentrated promise rho at this delta, by the standard bound. */
export const fromRho = (rho: number, delta: number): number => rho + 2 * Math.sqrt(rho * Math.log(1 / delta));

export const LANES: Lane[] = [
  { unit: "event", title: "one tap", deployments: [{ name: "Opal 2016", epsilon: 3 / 1.4, derived: true, note: "three tables with Laplace noise of scale 1.4" }] },
  {
    unit: "person-day",
    title: "a person’s day",
    deployments: [
      { name: "Meta mobility", epsilon: 2, derived: false, note: "as stated" },
      { name: "Google mobility", epsilon: 2.64, derived: false, note: "as stated" },
    ],
  },
  {
    unit: "person",
    title: "a person, all of it",
    deployments: [
      { name: "Israel, births", epsilon: 9.98, derived: false, note: "as stated" },
      { name: "US DHC 2020", epsilon: fromRho(15.29, 1e-10), derived: true, note: "states ρ = 15.29; shown at δ = 10⁻¹⁰" },
      { name: "Opal 2016, 40 taps", epsilon: (40 * 3) / 1.4, derived: true, note: "40 × 2.14" },
    ],
  },
];

/** What the priced release would lose in each lane; null where its promise has none. */
export function here(unit: string, epsilon: number, cells: number | null, days: number, taps: number): Record<Lane["unit"], number | null> {
  if (unit === "event") return { event: epsilon, "person-day": null, person: taps * epsilon };
  const tap = cells ? epsilon / cells : epsilon;
  return unit === "person-day" ? { event: tap, "person-day": epsilon, person: days * epsilon } : { event: tap, "person-day": null, person: epsilon };
}
