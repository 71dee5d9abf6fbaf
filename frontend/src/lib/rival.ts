/** A rival law that is dragged beside the fitted one. */

/** How much less likely than the fit, in words: log-likelihood below the fit to "20 times less likely". */
export function odds(below: number): string {
  if (below >= -0.05) return below > 0.05 ? "as likely or more" : "as likely";
  const times = Math.exp(-below);
  if (times < 1.5) return "nearly as likely";
  if (times < 1e6) return `${new Intl.NumberFormat("en-AU", { maximumSignificantDigits: 2 }).format(times)} times less likely`;
  return `10^${Math.floor(-below / Math.LN10)} times less likely`;
}

/** The place of the scale that is nearest, in logarithms. */
export function nearest(scales: number[], wanted: number): number {
  let best = 0;
  scales.forEach((one, k) => {
    if (Math.abs(Math.log(one / wanted)) < Math.abs(Math.log((scales[best] as number) / wanted))) best = k;
  });
  return best;
}
