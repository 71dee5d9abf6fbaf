"""Make the pictures of docs/explanation/the-attack.md from a simulated city: always the same city and the same noise; and that of the report of 2017.

`python docs/_make/attack_pictures.py [--out DIR]` writes attack-*.svg and cremorne-point.svg, and prints the numbers that the text quotes.
"""  # noqa: INP001 - a script

from __future__ import annotations

import argparse
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np

from noisegate.assessment import Assessment, assess, figures_of
from noisegate.inference import infer
from noisegate.laws import RoundedLaplace, SeededNoise
from noisegate.mechanisms import corrected, second_algorithm
from noisegate.pictures import (
    BLUE,
    ORANGE,
    Picture,
    differences_of,
    differences_picture,
    draw,
    posterior_picture,
    save,
)
from noisegate.pictures.frame import Mark
from noisegate.pictures.marks import Dots
from noisegate.pictures.plot import Plot, PlotAxis
from noisegate.pictures.scales import Linear, Log, odds
from noisegate.pictures.words import Names
from noisegate.releases import release
from noisegate.reproduction import write_figures
from noisegate.simulation import World, simulate
from noisegate.spec import load_spec

#: The city of `noisegate demo`, and a noise that can be drawn again.
_PERSONS, _DAYS, _SEED = 60_000, 7, 7
_TABLES = ("time-loc", "time", "loc")
_MOST_PEOPLE = 18
#: What an attacker looks at, and whether that includes the other tables.
_LOOKS = {"with the totals": True, "without the totals": False}


def main(out: Path, /) -> None:
    """Simulate, release as in 2016, assess, draw."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for figure in write_figures(folder / "report"):
            if figure.stem == "cremorne-point":
                shutil.copy(figure, out)
        world = simulate(folder / "city", persons=_PERSONS, days=_DAYS, seed=_SEED)
        made = folder / "release"
        release(
            load_spec(world.spec_2016), out=made, ledger=folder / "ledger.db", entropy=SeededNoise(seed=_SEED)
        )
        found = assess([made / f"{one}.csv" for one in _TABLES], gtfs=world.gtfs, weeks=52)
        save(_equal_counts(found), out / "attack-equal-counts.svg")
        save(_kept_zeros(), out / "attack-kept-zeros.svg")
        save(_linked_totals(found, world), out / "attack-linked-totals.svg")
        save(_timetables(found), out / "attack-timetables.svg")
        save(draw(figures_of(found)["weeks"].picture), out / "attack-more-weeks.svg")


def _equal_counts(found: Assessment, /) -> Picture:
    """Differences of counts that both ends of the closed ferry record."""
    gaps = np.concatenate([one.values[0, one.both] - one.values[1, one.both] for one in found.couplings])
    fit = found.noise["time-loc"].fit
    assert fit is not None
    low, high = fit.interval
    print(f"equal counts: {gaps.size} pairs, scale {fit.scale:.2f}, {low:.2f} to {high:.2f}")  # noqa: T201
    return differences_picture(
        differences_of(
            gaps.astype(np.int64),
            RoundedLaplace(fit.scale).sum_of(2),
            title=f"{gaps.size} sailings: riders on less riders off, as published",
        )
    )


def _kept_zeros() -> Picture:
    """The chance that a cell is published, by the people in it, if zeros are kept and if they get noise."""
    people = np.arange(_MOST_PEOPLE + 1)
    panels = []
    for recipe, title in ((second_algorithm, "zeros kept, as in 2016"), (corrected, "zeros get noise too")):
        made = recipe(rounding="nearest", rule="ge")
        shown = [-np.expm1(made.response(int(count)).log_suppressed) for count in people]
        panels.append(_chances(dict(zip(people.tolist(), shown, strict=True)), title))
    return Picture(rows=[panels])


def _chances(chances: dict[int, float], title: str, /) -> Plot:
    some = [(people, chance) for people, chance in chances.items() if chance > 0]
    marks: list[Mark] = [
        Dots(
            points=[(people, chance) for people, chance in some if (people == 0) == nobody],
            colour=colour,
            radius=3.8,
        )
        for colour, nobody in ((ORANGE, True), (BLUE, False))
    ]
    if chances[0] <= 0:
        marks.append(Names(points=[(0, 6e-7)], texts=["nobody: never"], colour=ORANGE, beside=-8))
    return Plot(
        x=PlotAxis(scale=Linear(-1, _MOST_PEOPLE), title="people in the cell", grid=False),
        y=PlotAxis(
            scale=Log(3e-7, 1), title="chance that it is published", ticks=[1e-6, 1e-4, 1e-2, 1], label=odds
        ),
        marks=marks,
        width=350,
        height=220,
        title=title,
    )


def _linked_totals(found: Assessment, world: World, /) -> Picture:
    """The suppressed cell that totals tell most about, not counting those that are recorded twice."""
    inference = found.inference
    assert inference is not None
    twice = np.concatenate([np.concatenate([one.left, one.right]) for one in found.couplings])
    problems = {title: inference.evidence.known.problem(linked=linked) for title, linked in _LOOKS.items()}
    law = inference.engine.prior(np.arange(len(inference.evidence.suppressed)))
    looks = {title: infer(problem, prior=law, keep=True) for title, problem in problems.items()}
    linked, alone = looks.values()
    fit = inference.evidence.suppressed & (linked.low > 0)
    fit[twice] = False
    cell = int(np.argmax(np.where(fit, alone.sd - linked.sd, -np.inf)))
    kept = {}
    for title, posterior in looks.items():
        counts, p = posterior.marginal(cell)
        kept[title] = np.zeros(int(counts[-1]) + 1)
        kept[title][counts] = p
        print(f"{title}: {posterior.low[cell]} to {posterior.high[cell]}, mean {posterior.mean[cell]:.1f}")  # noqa: T201
    labels = [
        d.labels[int(code)]
        for d, code in zip(
            inference.cells.dimensions, inference.cells.codes(np.array([cell]))[:, 0], strict=True
        )
    ]
    truth = _truth(world, dict(zip((d.name for d in inference.cells.dimensions), labels, strict=True)))
    print(f"cell {labels}, truly {truth}")  # noqa: T201
    return posterior_picture(kept, title=f"Suppressed: {' '.join(labels)}", truth=truth)


def _truth(world: World, at: dict[str, str], /) -> int:
    """How many taps there were in a cell: known here, because the city is invented."""
    asked = duckdb.execute(
        "select count(*) from read_parquet(?) where mode = ? and tap = ? and stop = ? and cast(tapped_at as date) = ? "
        "and strftime(time_bucket(interval 15 minutes, tapped_at), '%H:%M') = ?",
        [str(world.folder / "taps.parquet"), at["mode"], at["tap"], at["location"], at["date"], at["time"]],
    ).fetchone()
    assert asked is not None
    return int(asked[0])


def _timetables(found: Assessment, /) -> Picture:
    """By mode and hour, the share of cells that a single vehicle can have filled."""
    services = found.to_json()["services"]
    print(f"services: {services['cells']}, hours {services['unprotected_hours']}")  # noqa: T201
    return replace(
        draw(figures_of(found)["hours"].picture),
        title="Share of cells that one vehicle alone can have filled",
        subtitle="if all run to the second",
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parents[1] / "images")
    main(parser.parse_args().out)
