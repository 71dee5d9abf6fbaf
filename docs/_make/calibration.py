"""Ask the engine about worlds whose truth is known, and write docs/explanation/calibration.md: one table for each way of publishing.

    python docs/_make/calibration.py [--replicates 20] [--joint 20] [--only hidden] [--case lognormal] [--way derive] [--no-page]

`make calibrate` runs it. The same seed makes the same worlds. What was said of each world is kept in `.calibration`, by a digest of the code of the engine: a run goes on where the last one
stopped, more replicates add to those that are there, and what an older engine said is not mixed with it. The page has all that is kept of this engine. Of the first `--joint` worlds of a kind draws are asked for as well.
With `--only hidden` nothing but hidden sums under totals is asked for (a third of a second a world): `--replicates 100 --only hidden` after a full run of 20 gives these columns from 100 worlds.
"""  # noqa: INP001 - a script

from __future__ import annotations

import argparse
import ast
import hashlib
import sys
import time
from dataclasses import fields
from pathlib import Path

import numpy as np
from known_law import known_table
from markdown import table

from noisegate.testing import (
    ASKED,
    BANDS,
    CASES,
    COUNT_LAWS,
    HEAD,
    HIDDEN,
    WAYS,
    Replies,
    Scoreboard,
    can_be_published,
    run_cases,
)

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanation" / "calibration.md"
#: What the figures hang on: the engine, and what the worlds are.
_CODE = ("inference", "testing/count_laws.py", "testing/ways.py", "testing/worlds.py", "testing/scoring.py")
_KEPT = ROOT / ".calibration"
INTRO = """# How often intervals hold the truth

Made by `make calibrate`: the engine is asked about worlds whose truth is known and whose counts vary in ways that no prior of ours describes: a grid of 40 rows and 24 columns with totals of both (villages: 3 totals over 4,000 cells each; *by rows*: of rows alone). A world takes three lines
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

Why some are outside. *Fixed* counts of totals that are sums of one estimate, or that share a budget with a card: what counts vary by is claimed half as large again as laws say, and these do not vary at all. *Parties of three*: nobody is there more often than in a negative binomial of that variance, which is allowed for by half. Their sharpest cells as in 2016 hold 89 %.
*Derive* is withdrawn nearly always; of the few worlds where it is not there are too few to say much. *Rural*, one total: a truth in an interval of two numbers counts a half, and somebody who knows the law has no more. *A busy corner* is no product of rows and columns. *Two shifts by rows*: early hours of quiet rows show nothing but noise, and nothing else tells how busy each is. [ADR 040](../adr/040-counts-that-hardly-vary.md), [042](../adr/042-what-is-taken-off.md), [044](../adr/044-near-a-capacity.md), [045](../adr/045-how-quiet-rows-are-divided.md) and [047](../adr/047-what-is-shown-by-noise-alone.md) have the figures, and what worlds look like that are not well answered.
Among several hundred figures a few are outside by chance. Asked about again in more worlds of another seed (9102): rural, independent, the table 94 / 49 (150 worlds), fixed counts with exact margins, the table, 52 % at 50 (60 worlds), full or empty, independent, a group 57 % at 50 (150 worlds), surely somebody of uniform counts reconciled 301 of 301 (60 worlds), the sharpest of parties of three as in 2016 90.1 % (60 worlds, both of the engine before); still outside is the busy corner under independent totals, a group 88, the table 89 % at 95 (100 worlds).

*Worlds* says of how many worlds a row is (`--seed 9001`: nothing was set on them); *older* rows are of an engine before the last change (`--seed 8001`, likewise), and stay until at least 20 worlds were asked about anew. Where it has two numbers (`100; 20`), the first is that of hidden sums, of which more worlds were asked about.

"""


#: Rows of fewer worlds than this stay as they were.
_ENOUGH = 20
#: What is kept of a world of which only hidden sums were asked for.
_LIGHT = ".hidden.npz"
#: What an older engine said, and of how many worlds, where the page did not say.
_OLDER, _BEFORE = " (older)", "20"
_KNOWN_INTRO = """What can be had: somebody who knows the law of single counts, and takes each row by itself, with its exact posterior, reaches by the same scoring for *one total* (20 worlds each):

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


def digest() -> str:
    """A digest of what the figures hang on; comments and docstrings are no part of it."""
    found = hashlib.sha256()
    for name in _CODE:
        place = ROOT / "src" / "noisegate" / name
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            tree = ast.parse(path.read_text(encoding="utf-8"))
            for node in ast.walk(tree):
                body = getattr(node, "body", None)
                if isinstance(body, list):
                    node.body = [one for one in body if not _is_text(one)]  # type: ignore[attr-defined]
            found.update(ast.dump(tree).encode())
    return found.hexdigest()[:12]


def _is_text(node: ast.AST, /) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def keep(path: Path, board: Scoreboard, /) -> None:
    """Write down what was said of one world."""
    path.parent.mkdir(parents=True, exist_ok=True)
    said = {
        f"{place} {one.name}": np.asarray(getattr(replies, one.name))
        for place, (_, _, replies) in enumerate(board.entries)
        for one in fields(replies)
        if getattr(replies, one.name) is not None
    }
    partial = path.with_name(f"{path.name}.part")
    with partial.open("wb") as file:
        np.savez_compressed(file, refused=np.array([reason for _, _, reason in board.refused], str), **said)
    partial.rename(path)


def take_up(board: Scoreboard, path: Path, case: str, way: str, /) -> None:
    """Add what was said of one world."""
    with np.load(path) as kept:
        board.refused += [(case, way, str(reason)) for reason in kept["refused"]]
        places: dict[int, dict[str, np.ndarray]] = {}
        for name in kept.files:
            place, _, field = name.partition(" ")
            if field:
                places.setdefault(int(place), {})[field] = kept[name]
    for one in places.values():
        kind, whole = str(one.pop("kind")), bool(one.pop("whole"))
        board.add(case, way, [Replies(kind=kind, whole=whole, **one)])


def ask(
    cases: list[str], ways: list[str], replicates: int, joint: int, seed: int, /, *, only_hidden: bool
) -> None:
    """Ask about every world that nothing is kept of, all kinds in turn; a world of which only hidden sums were asked for is asked about again if all is wanted."""
    began, folder = time.process_time(), _KEPT / digest()
    for number in range(replicates):
        for way in ways:
            for case in cases:
                path = folder / way / case / f"{seed}-{number}.npz"
                light = path.with_suffix(_LIGHT)
                if not can_be_published(case, way) or path.exists() or (only_hidden and light.exists()):
                    continue
                draws = 400 if number < joint else 0
                said = run_cases(
                    [case],
                    [way],
                    replicates=1,
                    first=number,
                    seed=seed,
                    draws=draws,
                    only_hidden=only_hidden,
                )
                keep(light if only_hidden else path, said)
                if not only_hidden:
                    light.unlink(missing_ok=True)
        sys.stderr.write(f"{time.process_time() - began:8.0f} CPU s  {number + 1} worlds of each kind\n")


def kept_board() -> Scoreboard:
    """All that is kept of this engine."""
    board = Scoreboard()
    for way in WAYS:
        for case in CASES:
            for path in sorted((_KEPT / digest() / way / case).glob("*.npz")):
                take_up(board, path, case, way)
    return board


def page(board: Scoreboard, before: str, /) -> str:
    """The page: what is outside of what is asked for first, then all tables. Rows of which too few worlds were asked stay as they were on the page before, and are marked as older."""
    fresh, told = (
        {
            (law, way)
            for law in board.laws
            for way in board.ways
            if len(board.some(kind=kind, law=law, way=way)) >= _ENOUGH
        }
        for kind in ("cells", HIDDEN[0])
    )
    board = Scoreboard(
        entries=[
            one for one in board.entries if one[:2] in fresh or (one[:2] in told and one[2].kind in HIDDEN)
        ],
        refused=[one for one in board.refused if one[:2] in fresh],
    )
    older = [
        line
        for line in before.splitlines()
        if line.startswith("- ")
        and _told_of(line) not in {*fresh, None}
        and not (_told_of(line) in told and ": hidden, " in line)
    ]
    lines = gaps(board) + [line + _OLDER * (not line.endswith(_OLDER)) for line in older]
    head = "**What is outside** of this, by more than two standard errors (of who is surely somebody: at all), worst first:\n\n"
    tables = "\n\n".join(_table(board, before, way) for way in WAYS)
    return (
        "\n\n".join(
            [
                INTRO.strip(),
                head + "\n".join(lines or ["- nothing"]),
                _KNOWN_INTRO + known_table(),
                tables,
                _by_size(board, before),
            ]
        )
        + "\n"
    )


def _told_of(line: str, /) -> tuple[str, str] | None:
    """The law and the way that a line of what is outside is about."""
    law, _, way = line.removeprefix("- ").partition(": ")[0].partition(", ")
    return (law, way) if law in CASES and way in WAYS else None


def _sections(text: str, /) -> dict[str, list[list[str]]]:
    """The rows of the table below each heading, without its head."""
    parts = [part.partition("\n") for part in f"\n{text}".split("\n## ")[1:]]
    return {
        name.strip(): [
            [one.strip() for one in line.strip("| ").split(" | ")]
            for line in body.splitlines()
            if line.startswith("| ")
        ][2:]
        for name, _, body in parts
    }


def _table(board: Scoreboard, before: str, way: str, /) -> str:
    """The table of a way: rows of the board, and those of the page before of which it has none; one for the nine laws where all are of this engine."""
    old = {row[0]: row for row in _sections(before).get(way, [])}
    mine = Scoreboard(entries=[one for one in board.entries if one[1] == way])
    new = {row[0]: row for row in _sections(mine.to_markdown()).get(way, [])} if mine.entries else {}
    rows = []
    for case in CASES:
        if case in new:
            hidden, every = (len(mine.some(kind=kind, law=case)) for kind in (HIDDEN[0], "cells"))
            row, worlds = new[case][1:], str(every)
            if not every and case in old:
                # All but hidden sums is as it was.
                row[len(HIDDEN) :], worlds = old[case][len(HIDDEN) + 1 - len(HEAD) :], _aged(old[case])
            rows.append([case, worlds if hidden in {0, every} else f"{hidden}; {worlds}", *row])
        elif case in old:
            rows.append([case, _aged(old[case]), *old[case][1 - len(HEAD) :]])
    if all(mine.some(kind="cells", law=law) for law in COUNT_LAWS):
        nine = Scoreboard(entries=[one for one in mine.entries if one[0] in COUNT_LAWS])
        pooled = _sections(nine.to_markdown())[way][-1]
        rows.insert(len(COUNT_LAWS), ["the nine laws", "", *pooled[1:]])
    return f"## {way}\n\n" + table([HEAD[0], "worlds", *HEAD[1:]], rows)


def _aged(row: list[str], /) -> str:
    """Of how many worlds an older row was, of all but hidden sums."""
    worlds = (row[1] if len(row) == len(HEAD) + 1 else _BEFORE).rpartition("; ")[2]
    return worlds + _OLDER * (not worlds.endswith(_OLDER))


def _by_size(board: Scoreboard, before: str, /) -> str:
    """Random sums by the size of the truth, of ways of which all nine laws were asked about."""
    old = {row[0].removesuffix(_OLDER): row for row in _sections(before).get(_BANDS, [])}
    rows = []
    for way in WAYS:
        mine = Scoreboard(entries=[one for one in board.entries if one[1] == way])
        if all(mine.some(kind="random sums", law=law) for law in COUNT_LAWS):
            rows.append(_sections(mine.to_markdown())[_BANDS][0])
        elif way in old:
            rows.append([old[way][0] + _OLDER * (not old[way][0].endswith(_OLDER)), *old[way][1:]])
    head = ["published", *(f"{a:,.0f} to {b:,.0f}" if b < np.inf else f"{a:,.0f} and more" for a, b in BANDS)]
    return f"## {_BANDS}\n\n" + table(head, rows)


def main() -> None:
    """Ask about the cases that are asked for, all by default, and write the page from all that is kept."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicates", type=int, default=20)
    parser.add_argument("--joint", type=int, default=20)
    parser.add_argument("--case", action="append", choices=list(CASES))
    parser.add_argument("--way", action="append", choices=list(WAYS))
    parser.add_argument("--seed", type=int, default=9001)
    parser.add_argument("--only", choices=["hidden"])
    parser.add_argument("--no-page", action="store_true")
    chosen = parser.parse_args()
    ask(
        chosen.case or list(CASES),
        chosen.way or list(WAYS),
        chosen.replicates,
        chosen.joint,
        chosen.seed,
        only_hidden=chosen.only == "hidden",
    )
    if not chosen.no_page:
        before = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
        PAGE.write_text(page(kept_board(), before), encoding="utf-8")


if __name__ == "__main__":
    main()
