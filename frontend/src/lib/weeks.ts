/** Weeks played forward: what is so at a week between those that were worked out. */

/** The last value that was worked out by this week; null before the first. */
export function by<T extends { week: number }>(points: T[], week: number): T | null {
  let found: T | null = null;
  for (const one of points) if (one.week <= week) found = one;
  return found;
}

/** A law for how many others are in a cell, if one person is known to be there. Others come as they would without her, so counts are weighed by their size. */
export function others(first: number, probabilities: number[]): { first: number; probabilities: number[]; alone: number } {
  const weighed = probabilities.map((p, k) => p * (first + k));
  const sum = weighed.reduce((all, one) => all + one, 0);
  if (!(sum > 0)) return { first: 0, probabilities: [1], alone: 1 };
  const law = weighed.map((one) => one / sum);
  const start = first - 1;
  return start < 0 ? { first: 0, probabilities: law.slice(1), alone: law[1] ?? 0 } : { first: start, probabilities: law, alone: start === 0 ? (law[0] ?? 0) : 0 };
}

/** The shortest run of counts that holds at least this much. */
export function shortest(first: number, probabilities: number[], level: number): [number, number] {
  let best: [number, number] = [0, probabilities.length - 1];
  let sum = 0;
  for (let low = 0, high = 0; high < probabilities.length; high++) {
    sum += probabilities[high] as number;
    while (sum - (probabilities[low] as number) >= level) sum -= probabilities[low++] as number;
    if (sum >= level && high - low < best[1] - best[0]) best = [low, high];
  }
  return [first + best[0], first + best[1]];
}
