"""An audit of ourselves: how much do our own releases give away, measured from the files, against what their cards claim?

Each world has many groups of cells that do not touch each other. In every group one person, the canary, is in the data or not by the
toss of a coin; everything else is fixed and known to the auditor. A release is made of such events, from the spec to the CSV files,
and in every group the auditor says "in" or "out" by one rule that was settled beforehand. If the claim holds, then

    pure epsilon:  P(says in | in) <= e^epsilon P(says in | out)
    Gaussian:      no test separates the two better than a shift of the bell curve whose (epsilon, delta) is the claim

so exact binomial bounds on both rates (Clopper-Pearson, 95 % together) give a lower bound on epsilon. A bound above the claim is a fault;
a bound far below it would be an audit without power, so the power is stated: the share of the claimed epsilon that is seen.

A series is audited as a whole, from the files of all its weeks: with Laplace noise the canary is in every week, and the auditor says "in" if every
measurement does (each week, and the total at the end); with Gaussian noise it is in the first week, and what the auditor looks at is the projection of
all weeks on what the first one adds to the measurements.

Faults are planted by making the release from another spec than the one it claims: zeros are kept, the noise has half its scale, a person
may be in one cell more than the noise allows for. `make audit` prints all of it; `--repeats 100` counts how many faults are caught.
"""

from __future__ import annotations

import argparse
import csv
import math
import secrets
import sys
import tempfile
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
from scipy import stats

import noisegate
from noisegate.releases import make_plan
from noisegate.spec import parse_spec

#: Of both rates together: each is bounded with half of the rest.
CONFIDENCE = 0.95
EPSILON, DELTA = 2, 1e-3
FIRST = date(2024, 1, 1)


@dataclass(frozen=True, kw_only=True)
class World:
    """Groups of cells, what else is in each, where canaries go, and when the auditor says "in"."""

    name: str
    privacy: dict
    background: int = 20
    canary_cells: int = 1
    margin: bool = False
    says_in: str = "above"  # what a shown cell must be: above the background, or shown at all
    groups: int = 400
    weeks: int = 0
    canary_weeks: int = 0


WORLDS = {
    "derive": World(name="derive", privacy={"margins": "derive"}),
    "reconcile": World(
        name="reconcile",
        privacy={"margins": "reconcile", "split": {"base": "24/25", "totals": "1/25"}},
        margin=True,
    ),
    "gaussian": World(
        name="gaussian",
        privacy={"margins": "derive", "law": "discrete-gaussian", "delta": str(DELTA)},
    ),
    "empty cells": World(
        name="empty cells",
        privacy={"margins": "derive", "suppress": {"below": "1"}},
        background=0,
        says_in="shown",
    ),
    "two cells": World(name="two cells", privacy={"margins": "derive"}, canary_cells=2),
    "series": World(name="series", privacy={"margins": "derive"}, weeks=3, canary_weeks=3),
    # From six weeks on the total is measured too; that all of it is above its background is rare, so there are more groups.
    "series and total": World(
        name="series and total", privacy={"margins": "derive"}, groups=4000, weeks=6, canary_weeks=6
    ),
    "series, Gaussian": World(
        name="series, Gaussian",
        privacy={
            "unit": "person-day",
            "margins": "derive",
            "law": "discrete-gaussian",
            "delta": str(DELTA),
        },
        weeks=3,
        canary_weeks=1,
    ),
}
#: For each fault the world that looks for it, and what is really done there.
FAULTS = {
    "zeros kept": ("empty cells", {"zeros": "keep", "unsafe": "true"}),
    "half the scale": ("derive", {"epsilon": str(2 * EPSILON)}),
    "half the scale, reconciled": ("reconcile", {"epsilon": str(2 * EPSILON)}),
    "half the scale, Gaussian": ("gaussian", {"sigma": "half"}),
    "half the scale, series": ("series", {"epsilon": str(2 * EPSILON)}),
    "half the scale, Gaussian series": ("series, Gaussian", {"sigma": "half"}),
    "bound off by one": ("two cells", {"max_cells": "2", "epsilon": str(2 * EPSILON)}),
}


def spec_of(world: World, groups: int, /, **changed: str):
    tables = {"base": ["group", "side"], **({"totals": ["group"]} if world.margin else {})}
    privacy = {"unit": "person", "max_cells": 1, "epsilon": str(EPSILON), **world.privacy, **changed}
    if privacy.pop("sigma", None):
        privacy["epsilon"] = str(round(_wider(world, groups), 3))
    last = FIRST + timedelta(days=7 * world.weeks - 1)
    dated = {"date": {"column": "at", "from": str(FIRST), "to": str(last)}} if world.weeks else {}
    return parse_spec(
        {
            "name": "audit",
            **({"series": {"weeks": world.weeks}} if world.weeks else {}),
            "events": {"source": "events", "person": "person"},
            "budget": {"dataset": "audit", "epsilon": "1000", "delta": "0.9"},
            "dimensions": {
                "group": {"column": "group", "values": [f"g{n}" for n in range(groups)]},
                "side": {"column": "side", "values": ["0", "1"]},
                **dated,
            },
            "tables": tables,
            "privacy": privacy,
        },
        folder=Path(),
    )


def _wider(world: World, groups: int, /) -> float:
    """The epsilon whose Gaussian noise is half as wide as that of the claim."""
    alone = replace(world, weeks=0, privacy={**world.privacy, "unit": "person"})
    claimed = float(make_plan(spec_of(alone, groups)).base.noise.scale)
    from noisegate.mechanisms import scale_for

    low, high = EPSILON, 20.0 * EPSILON
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (
            (middle, high)
            if scale_for("gaussian", epsilon=middle, delta=DELTA) > claimed / 2
            else (low, middle)
        )
    return high


def make_series(world: World, spec, groups: int, rng: np.random.Generator, folder: Path, /):
    """All weeks of a series: which canaries are in, the tables of each week, and the last running total (NaN where there is none)."""
    present = rng.random(groups) < 0.5
    rows = []
    for week in range(world.weeks):
        at = FIRST + timedelta(days=7 * week)
        rows += [(10**6 * week + 100 * g + n, g, at) for g in range(groups) for n in range(world.background)]
        if week < world.canary_weeks:
            rows += [(10**9 + group, group, at) for group in np.flatnonzero(present)]
    events = pa.table(
        {
            "person": [person for person, _, _ in rows],
            "group": [f"g{group}" for _, group, _ in rows],
            "side": ["0"] * len(rows),
            "at": pa.array([at for _, _, at in rows]).cast(pa.timestamp("us")),
        }
    )
    place = folder / secrets.token_hex(4)
    place.mkdir()
    seed = int(rng.integers(2**61))
    for week in range(1, world.weeks + 1):
        noisegate.release(
            spec,
            events=events,
            out=place / f"week{week}",
            ledger=place / "ledger.db",
            week=week,
            entropy=noisegate.SeededNoise(seed=seed + week),
        )
    tables = [place / f"week{week}" for week in range(1, world.weeks + 1)]
    shown = np.full((groups, world.weeks + 1), np.nan)
    for number, table in enumerate([*tables, tables[-1] / "running"]):
        if not (table / "base.csv").exists():
            continue
        with (table / "base.csv").open() as file:
            for row in csv.DictReader(file):
                if row["side"] == "0":
                    shown[int(row["group"][1:]), number] = float(row["count"])
    return present, shown


def series_verdicts(world: World, spec, shown: np.ndarray, /) -> np.ndarray:
    """Where the auditor says "in" about a series."""
    weeks, total = shown[:, : world.weeks] - world.background, shown[:, -1]
    if world.privacy.get("law") is None:
        late = np.isnan(total) | (total >= world.weeks * (world.background + 1))
        return (weeks >= 1).all(axis=1) & late
    rows = np.array(make_plan(spec).series.terms.strategy.entries, dtype=float)
    signal = rows[:, 0]
    return (weeks @ rows.T) @ signal >= signal @ signal


def make(world: World, spec, groups: int, rng: np.random.Generator, folder: Path, /):
    """One release of a world: which canaries are in, and what is shown of their cells (NaN where no row is)."""
    present = rng.random(groups) < 0.5
    people, where, sides, number = [], [], [], 0
    for group in range(groups):
        for side in ("0", "1"):
            for _ in range(world.background):
                people.append(number)
                where.append(f"g{group}")
                sides.append(side)
                number += 1
        for cell in range(world.canary_cells if present[group] else 0):
            people.append(10**9 + group)
            where.append(f"g{group}")
            sides.append(str(cell))
    events = pa.table({"person": people, "group": where, "side": sides})
    place = folder / secrets.token_hex(4)
    place.mkdir()
    out = place / "out"
    noisegate.release(
        spec,
        events=events,
        out=out,
        ledger=place / "ledger.db",
        entropy=noisegate.SeededNoise(seed=int(rng.integers(2**62))),
    )
    shown = np.full((groups, 2), np.nan)
    with (out / "base.csv").open() as file:
        for row in csv.DictReader(file):
            shown[int(row["group"][1:]), int(row["side"])] = float(row["count"])
    return present, shown


def verdicts(world: World, shown: np.ndarray, /) -> np.ndarray:
    """Where the auditor says "in", by a rule that looks at no other release."""
    if world.says_in == "shown":
        return ~np.isnan(shown[:, 0])
    above = np.nan_to_num(shown, nan=-np.inf) >= world.background + 1
    return above[:, : world.canary_cells].all(axis=1)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The lower bound on epsilon, what was claimed, and from how many canaries."""

    bound: float
    claimed: float
    canaries: int

    @property
    def power(self) -> float:
        return self.bound / self.claimed

    @property
    def fault(self) -> bool:
        return self.bound > self.claimed


def audit(
    name: str,
    /,
    *,
    groups: int | None = None,
    releases: int = 10,
    fault: dict | None = None,
    seed: int | None = None,
) -> Finding:
    """The lower bound on epsilon of a world's releases, as claimed or with a fault in them."""
    world, rng = WORLDS[name], np.random.default_rng(secrets.randbits(60) if seed is None else seed)
    groups = groups or world.groups
    spec = spec_of(world, groups, **(fault or {}))
    said, there = [], []
    with tempfile.TemporaryDirectory() as place:
        for _ in range(releases):
            if world.weeks:
                present, shown = make_series(world, spec, groups, rng, Path(place))
                said.append(series_verdicts(world, spec, shown))
            else:
                present, shown = make(world, spec, groups, rng, Path(place))
                said.append(verdicts(world, shown))
            there.append(present)
    inside, yes = np.concatenate(there), np.concatenate(said)
    rate = {}
    for which, here in (("in", inside), ("out", ~inside)):
        hits, tries = int(yes[here].sum()), int(here.sum())
        rate[which] = _bounds(hits, tries)
    bound = _gaussian_bound(rate) if world.privacy.get("law") else _pure_bound(rate)
    return Finding(bound=bound, claimed=float(EPSILON), canaries=len(inside))


def _bounds(hits: int, tries: int, /) -> tuple[float, float]:
    tail = (1 - CONFIDENCE) / 2
    low = float(stats.beta.ppf(tail, hits, tries - hits + 1)) if hits else 0.0
    high = float(stats.beta.isf(tail, hits + 1, tries - hits)) if hits < tries else 1.0
    return low, high


def _pure_bound(rate: dict, /) -> float:
    """The larger of what "in" and what "out" tell."""
    low, none_high = rate["in"][0], rate["out"][1]
    told_in = math.log(low / none_high) if low > 0 else 0.0
    told_out = math.log((1 - none_high) / (1 - low)) if none_high < 1 and low < 1 else 0.0
    return max(0.0, told_in, told_out)


def _gaussian_bound(rate: dict, /) -> float:
    """The epsilon at the claimed delta of the least shift of a bell curve that explains both rates."""
    shift = float(stats.norm.ppf(rate["in"][0]) - stats.norm.ppf(rate["out"][1]))
    if shift <= 0:
        return 0.0
    law = noisegate.make_law("gaussian", scale=1 / shift)
    return noisegate.epsilon(noisegate.Mechanism(law=law, zeros="perturb"), DELTA)


def caught(name: str, /, *, releases: int = 5, seed: int | None = None) -> bool:
    """Whether a planted fault is found."""
    world, changed = FAULTS[name]
    return audit(world, releases=releases, fault=changed, seed=seed).fault


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=10, help="how often each fault is planted")
    parser.add_argument("--releases", type=int, default=25, help="releases of one audit")
    options = parser.parse_args()
    worst = 0
    print(f"{'world':16} {'claimed':>8} {'at least':>9} {'power':>6} {'canaries':>9}")
    for name in WORLDS:
        found = audit(name, releases=options.releases)
        print(f"{name:16} {found.claimed:8.2f} {found.bound:9.3f} {found.power:6.2f} {found.canaries:9,}")
        worst += found.fault
    print(f"\n{'planted fault':32} {'caught':>10}")
    for name in FAULTS:
        times = sum(caught(name) for _ in range(options.repeats))
        print(f"{name:32} {times:4} of {options.repeats:3}")
        worst += times < options.repeats
    return int(worst > 0)


if __name__ == "__main__":
    sys.exit(main())
