"""A release on a long ledger against one on an empty ledger, and `ledger check` as the ledger grows.

    python bench/ledger.py [--json FILE] [--entries N ...]

The ledger has one population that is released from a new file every day: every release has content of its own to be known by, a day
of its own out of twenty years, and losses in all three units. `release` is the real program in a process of its own, on events so few that
counting them takes no time; the long ledger and the empty one take turns. `wall_s` is the median, `ratio` is over that of the
empty ledger. `check_s` reads the whole chain; `check_us_per_entry` stays the same if that is linear.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path

PROGRAM = Path(sys.executable).with_name("noisegate")
SIZES = (1_000, 10_000, 100_000)
REPEATS = 15
POPULATION, EPSILON, DAYS = "cards", Fraction(1, 2000), 7305
SPEC = """\
name: bench
population: cards
events: {source: taps.csv, person: card}
dimensions:
  date: {column: at, from: 2031-01-06, to: 2031-01-12}
  mode: {column: mode, values: [train, bus, ferry]}
tables: {base: [date, mode]}
privacy: {unit: person-day, max_cells: 2, epsilon: 0.5, margins: derive}
"""


def write_ledger(target, *, entries):
    """A ledger with a budget and so many entries of releases, each reserved and published."""
    from noisegate.ledger import Binding, Charge, Days, Loss, SqliteStore, UnitLoss, open_ledger
    from noisegate.ledger._entry import (
        PUBLISHED,
        RESERVED,
        Entry,
    )  # the store's own words, which no front has

    with open_ledger(target) as book:
        book.set_budget(POPULATION, epsilon=1000, delta="1/1000", unit="person-day")
    one = UnitLoss(loss=Loss(epsilon=EPSILON), parts=(("pure", EPSILON / 2, 2),))
    losses = {"event": one, "person-day": one, "person": None}
    store = SqliteStore(Path(target))
    with store.exclusive():
        seq, digest = store.last()
        for number in range((entries - 1) // 2):
            day = date(2001, 1, 1) + timedelta(days=number % DAYS)
            charge = Charge(
                losses=losses,
                days=Days(first=day, last=day, column="at"),
                bindings=(Binding(name=f"/data/taps-{number:06d}.csv", digest=f"{number:064x}"),),
                claim=("elsewhere", 1),
            )
            told = {"unit": "person-day", "epsilon": str(EPSILON), "delta": "0", "facts": charge.to_json()}
            names = {"release": f"day-{number}", "spec_digest": "0" * 64, "output": f"/out/day-{number}"}
            made = Entry.following(
                seq, digest, at="2026-01-01T00:00:00", kind=RESERVED, dataset=POPULATION, **told, **names
            )
            marked = Entry.following(
                made.seq,
                made.digest,
                at="2026-01-01T00:00:01",
                kind=PUBLISHED,
                dataset=POPULATION,
                reservation=made.reservation_id,
                card_digest="0" * 64,
            )
            store.append(made)
            store.append(marked)
            seq, digest = marked.seq, marked.digest
    store.close()


def seconds(command, folder):
    """Wall seconds of one process, from start to exit."""
    # Python keeps its compiled modules, as it does wherever noisegate is installed.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    began = time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3):
        raise SystemExit(done.stdout + done.stderr)
    return time.perf_counter() - began


def release(folder, ledger, *, turn):
    """Seconds of one release."""
    out = f"out-{ledger.removesuffix('.sqlite')}-{turn}"
    command = [
        str(PROGRAM),
        "release",
        "spec.yaml",
        "--out",
        f"{out}/week",
        "--ledger",
        ledger,
        "--quiet",
        "--yes",
    ]
    (folder / out).mkdir()
    took = seconds(command, folder)
    if not (folder / out / "week" / "card.json").exists():
        raise SystemExit(f"no release in {out}")
    return took


def measured(entries, *, repeats=REPEATS):
    """One row: a release on an empty ledger and on one of so many entries, and a check of the long one."""
    with tempfile.TemporaryDirectory(prefix="noisegate-ledger-") as place:
        folder = Path(place)
        (folder / "spec.yaml").write_text(SPEC)
        rows = [f"{card},{('train', 'bus')[card % 2]},2031-01-0{6 + card % 4} 08:00" for card in range(200)]
        (folder / "taps.csv").write_text("card,mode,at\n" + "\n".join(rows) + "\n")
        os.environ["NOISEGATE_HEADS"] = str(folder / "heads")
        write_ledger(folder / "long.sqlite", entries=entries)
        release(folder, "long.sqlite", turn="first")  # what was written aside is now as a release leaves it
        empty, long = [], []
        for turn in range(repeats):
            empty.append(release(folder, f"empty{turn}.sqlite", turn=turn))
            long.append(release(folder, "long.sqlite", turn=turn))
        check_s = seconds([str(PROGRAM), "ledger", "check", "--ledger", "long.sqlite"], folder)
    row = {"entries": entries, "empty_s": statistics.median(empty), "long_s": statistics.median(long)}
    row |= {"ratio": row["long_s"] / row["empty_s"], "check_s": check_s}
    row["check_us_per_entry"] = 1e6 * check_s / entries
    return {name: round(value, 3) if isinstance(value, float) else value for name, value in row.items()}


def run(*, sizes=SIZES, repeats=REPEATS):
    """A row for each length."""
    return [measured(entries, repeats=repeats) for entries in sizes]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the rows to this file too")
    parser.add_argument("--entries", type=int, nargs="+", default=SIZES)
    options = parser.parse_args()
    rows = run(sizes=options.entries)
    for row in rows:
        print("  ".join(f"{name} {value}" for name, value in row.items()))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
