"""Ask the engine about worlds whose truth is known, and write docs/explanation/calibration.md: one table for each way of publishing.

    python docs/_make/calibration.py [--replicates 20] [--case lognormal] [--way derive] [--print]

`make calibrate` runs it. The same worlds are made every time. With `--way` only the tables of that way are made anew, and each says of how many worlds it is. With
`--print` they go to the screen and no page is written.
"""  # noqa: INP001 - a script

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

from noisegate.testing import ASKED, CASES, COUNT_LAWS, HIDDEN, WAYS, Scoreboard, run_cases

PAGE = Path(__file__).parents[1] / "explanation" / "calibration.md"
INTRO = """# How often intervals hold the truth

Made by `make calibrate`: the engine is asked about worlds whose truth is known and whose counts vary in ways that no prior of ours describes: a grid of 40 rows and 24 columns with totals of both (villages: 3 totals over 4,000 cells each). A world takes three lines
([`noisegate.testing`](../../CONTRIBUTING.md)):

```python
import numpy as np
from noisegate.testing import ask_world, publish_case

world = publish_case("lognormal", "as in 2016", rng=np.random.default_rng(1), rows=6, columns=8)
said = ask_world(world, world.engine(), rng=np.random.default_rng(2))
```

How to read a figure: `95 / 50` are the shares of truths inside intervals that claim 95 and 50 %. Ends are counted in part: an interval of whole numbers holds more
than its level, so a truth at its end counts a half, and one in an interval of one or two numbers counts the level. `(12 w, 100)` says that 12 % of the answers were withdrawn
("the tables do not tell: between a and b"), and that the bounds held in 100 % of these. For differences, ratios and ranks it is the share that is right at 95 %, withdrawn
ones only if their bounds hold.

- **one total, a group, the table**: what is hidden under one shown total of a row, under a fifth of them, under all
- **cells**: single hidden cells, the ends of their 95 % intervals included; **random sums**: boxes of any cells, shown and hidden
- **differences, ratios, ranks**: of pairs of random sums, and of the ten rows that look largest
- **empty?**: mean log score of the probability that a hidden cell is empty, in nats; 0.69 is a coin
- **surely somebody**: hidden cells said to hold somebody with 99 %, and how many of these do
- **sharpest**: how many of the 60 sharpest intervals of hidden cells hold the truth, in per cent

What is asked for: 92 to 98 and 43 to 58 for hidden sums under shown totals; at least 92 for all else, and no law under 88; 98 % of those who are surely somebody; 90 of
the sharpest.

Why some are outside. *Fixed* counts: that they never vary is not known from 480 shown cells, so what the law may be off by is larger than what it is, and 50 % intervals of single totals hold too much. *Full or empty*: what is hidden in a row is mostly nothing or one vehicle, and intervals around a mean lie between the two.
*Parties of three*: nobody is there more often than in a negative binomial of that variance. Among several hundred figures a few are outside by chance.

"""


_BANDS = "Random sums by the size of the truth"
#: Of fewer cells that surely hold somebody than this nothing is said.
_FEW_NAMED = 50
#: What is asked of hidden sums at 95 and at 50 %, of all else at 95 %, and of cells that surely hold somebody.
_WIDE, _HALF, _LEAST, _SURELY = 0.92, (0.43, 0.58), 0.88, 0.98


def gaps(board: Scoreboard, /) -> list[str]:
    """Everything that is outside what is asked for by more than two standard errors, worst first: lines of the page.

    Answers of one world hang together, so standard errors are those of worlds.
    """
    found: list[tuple[float, str]] = []

    def judge(about: str, shares: list[float], wanted: tuple[float, float], answers: int) -> None:
        share, (low, high) = float(np.mean(shares)), wanted
        off, edge = max(low - share, share - high), low if share < low else high
        least = (edge * (1 - edge) / max(answers, 1)) ** 0.5
        if off > 2 * max(float(np.std(shares)) / len(shares) ** 0.5, least):
            ends = f"{100 * low:.0f}" + (f" to {100 * high:.0f}" if high < 1 else " or more")
            found.append((off, f"- {about} {100 * share:.0f} % ({ends} asked)"))

    for way in board.ways:
        for law in [law for law in board.laws if law in COUNT_LAWS]:
            for kind in (*HIDDEN, *ASKED):
                worlds = [(one, ~one.withdrawn) for one in board.some(kind=kind, law=law, way=way)]
                told = [(one, which) for one, which in worlds if which.any()]
                answers = sum(int(which.sum()) for _, which in told)
                if kind in HIDDEN and told:
                    wide, half = (
                        [float(one.covered(level)[which].mean()) for one, which in told] for level in (1, 0)
                    )
                    judge(f"{law}, {way}: {kind}, at 95 %:", wide, (_WIDE, 1.0), answers)
                    judge(f"{law}, {way}: {kind}, at 50 %:", half, _HALF, answers)
                elif kind in ASKED and worlds:
                    right = [float(one.holds(1).mean()) for one, _ in worlds]
                    judge(f"{law}, {way}: {kind}, right at 95 %:", right, (_LEAST, 1.0), len(worlds))
            named, right_in = board.occupied(law=law, way=way)
            if named >= _FEW_NAMED and right_in < _SURELY * named:
                share = right_in / named
                line = f"- {law}, {way}: surely somebody, right in {100 * share:.1f} % of {named:,} ({100 * _SURELY:.0f} asked)"
                found.append((_SURELY - share, line))
    return [line for _, line in sorted(found, reverse=True)]


def merged(page: str, board: str, replicates: int, /) -> str:
    """The tables of a page with those of a board in place of its own; each says of how many worlds it is."""
    old, new = _sections(page), _sections(board)
    rows = {
        line.split("|")[1]: line
        for one in (old, new)
        for line in one.get(_BANDS, "").splitlines()
        if "|" in line
    }
    tables = {name: body for name, body in old.items() if name != _BANDS}
    for name, body in new.items():
        if name != _BANDS:
            tables[name] = f"{replicates} worlds of each kind.\n\n{body}"
    tables = {name: tables[name] for name in WAYS if name in tables}
    tables[_BANDS] = "\n".join(rows.values())
    return "\n".join(f"## {name}\n\n{body}\n" for name, body in tables.items())


def _sections(text: str, /) -> dict[str, str]:
    """What stands below each heading."""
    parts = [part.partition("\n") for part in f"\n{text}".split("\n## ")[1:]]
    return {name.strip(): body.strip() for name, _, body in parts}


def page(board: Scoreboard, before: str, replicates: int, /) -> str:
    """The page: what is outside of what is asked for first, then all tables."""
    lines = gaps(board) or ["- nothing"]
    ways = " and ".join([", ".join(board.ways[:-1]), board.ways[-1]]) if board.ways[1:] else board.ways[0]
    head = f"**What is outside** of this, by more than two standard errors (of who is surely somebody: at all), worst first ({ways}):\n\n"
    return INTRO + head + "\n".join(lines) + "\n\n" + merged(before, board.to_markdown(), replicates)


def main() -> None:
    """Run the cases that are asked for, all by default."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicates", type=int, default=20)
    parser.add_argument("--case", action="append", choices=list(CASES))
    parser.add_argument("--way", action="append", choices=list(WAYS))
    parser.add_argument("--seed", type=int, default=8001)
    parser.add_argument("--print", action="store_true", dest="shown")
    chosen = parser.parse_args()
    began = time.process_time()

    def said(case: str, way: str, done: int) -> None:
        if done == chosen.replicates:
            sys.stderr.write(f"{time.process_time() - began:8.0f} CPU s  {case}, {way}\n")

    board = run_cases(
        chosen.case or list(CASES),
        chosen.way or list(WAYS),
        replicates=chosen.replicates,
        seed=chosen.seed,
        said=said,
    )
    if chosen.shown:
        sys.stdout.write(board.to_markdown())
    else:
        before = PAGE.read_text(encoding="utf-8") if chosen.way and PAGE.exists() else ""
        PAGE.write_text(page(board, before, chosen.replicates), encoding="utf-8")


if __name__ == "__main__":
    main()
