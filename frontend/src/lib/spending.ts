/** What was spent, release after release. */

export interface Step {
  at: string;
  epsilon: number;
  sum: number;
}

/** Releases in the order of time with what was spent up to each; those without a bound in this unit add nothing that can be drawn. */
export function steps(releases: { at: string; epsilon: number | null }[]): Step[] {
  let sum = 0;
  return [...releases]
    .sort((a, b) => a.at.localeCompare(b.at))
    .filter((one): one is { at: string; epsilon: number } => one.epsilon !== null)
    .map((one) => ({ at: one.at, epsilon: one.epsilon, sum: (sum += one.epsilon) }));
}

/** The draft of a spec with the answers in place of its questions; what nobody answered stays open. */
export function filled(text: string, answers: { line: number; nth: number; value: string }[]): string {
  return text
    .split("\n")
    .map((line, number) => {
      const own = answers.filter((one) => one.line === number);
      if (!own.length) return line;
      let nth = -1;
      return line.replaceAll("??", () => {
        nth += 1;
        return own.find((one) => one.nth === nth)?.value.trim() || "??";
      });
    })
    .join("\n");
}

/** A list of values as YAML writes it, unless it is a list, a file or a number already. */
export function listed(text: string): string {
  const plain = text.trim();
  if (!plain || plain.startsWith("[") || /\.csv$/i.test(plain)) return plain;
  return `[${plain
    .split(",")
    .map((one) => JSON.stringify(one.trim()))
    .join(", ")}]`;
}
