"""Make the pictures of docs/explanation/hidden-counts.md from invented worlds: always the same worlds and the same noise.

`python docs/_make/inference_pictures.py [--out DIR]` writes hidden-*.svg, and prints the numbers that the text quotes. The last picture is drawn from the tables of docs/explanation/calibration.md.
"""  # noqa: INP001 - a script

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

from noisegate.inference import Flat, infer
from noisegate.laws import Laplace
from noisegate.mechanisms import Mechanism
from noisegate.pictures import (
    BLUE,
    GREY,
    INK,
    ORANGE,
    Linear,
    Picture,
    Rooms,
    percent,
    posterior_picture,
    save,
)
from noisegate.pictures.frame import Mark
from noisegate.pictures.marks import Bars, Dots, Polyline, Rule, Shade
from noisegate.pictures.plot import Key, Plot, PlotAxis
from noisegate.testing import BASE, COUNT_LAWS, LinkedWorld, make_world

Floats = NDArray[np.float64]

_PAGE = Path(__file__).resolve().parents[1] / "explanation" / "calibration.md"
#: Noise of scale 3, rounded; what is below 12 is not shown. Totals of stops have the same noise and are all shown.
_SCALE, _THRESHOLD, _SEED = 3.0, 12, 5
_TOTAL = Mechanism(law=Laplace(_SCALE), rounding="nearest", zeros="perturb")
_BASE = replace(_TOTAL, threshold=_THRESHOLD, rule="ge", cut="after")
_STOPS, _HOURS, _GROUP = 100, 24, 10
#: Two laws are drawn up to so many cells of one count; what is below the threshold of 2016 is hidden.
_MOST, _CUT = 450, 18
#: Ways of publishing whose hidden sums are drawn, and the columns that say how often their intervals held.
_WAYS, _ASKED = (
    ("as in 2016", "independent", "gaussian", "exact margins"),
    ("one total", "a group", "the table"),
)


def main(out: Path, /) -> None:
    """Publish a city of lognormal counts, infer it, draw."""
    world = make_world(
        {"stop": _STOPS, "hour": _HOURS},
        margins={"stops": ["stop"], "hours": ["hour"]},
        mechanism={BASE: _BASE, "stops": _TOTAL, "hours": _TOTAL},
        law="lognormal",
        rng=np.random.default_rng(_SEED),
    )
    save(_selection(world), out / "hidden-selection.svg")
    save(_groups(world), out / "hidden-groups.svg")
    save(_one_cell(world), out / "hidden-cell.svg")
    save(_two_laws(), out / "hidden-two-laws.svg")
    save(_coverage(), out / "hidden-coverage.svg")


def _say(*words: object) -> None:
    print(*words)  # noqa: T201


def _selection(world: LinkedWorld, /) -> Picture:
    """Each cell near the threshold: who is there, and the noise that its value has or would have had."""
    rng = np.random.default_rng(_SEED)
    counts, shown = world.counts, world.published[BASE]
    noise = np.where(np.isnan(shown), rng.laplace(0, _SCALE, len(counts)), shown - counts)
    # The noise of a hidden value was drawn and thrown away; any that hides it serves for a picture.
    hidden = np.isnan(shown)
    while (again := hidden & (np.rint(counts + noise) >= _THRESHOLD)).any():
        noise[again] = rng.laplace(0, _SCALE, int(again.sum()))
    # A third of the cells is enough to look at.
    near = (counts <= 30) & (np.abs(noise) <= 16) & (np.arange(len(counts)) % 3 == 0)
    excess, missed = float(noise[~hidden].sum()), float(counts[hidden].sum())
    _say(
        f"selection: {int((~hidden).sum())} shown of {len(counts)}, their noise adds up to {excess:.0f}; hidden people {missed:.0f}"
    )
    marks: list[Mark] = [
        Rule(at=0, colour=GREY, along="y", dashed=False),
        Polyline(
            points=[(-1.0, _THRESHOLD + 0.5), (_THRESHOLD + 15.5, -16.0)], colour=INK, width=1.2, dashed=True
        ),
    ]
    for colour, which in ((ORANGE, near & hidden), (BLUE, near & ~hidden)):
        points = list(zip(counts[which].tolist(), noise[which].tolist(), strict=True))
        marks.append(Dots(points=points, colour=colour, radius=2.2, opacity=0.55))
    return Picture(
        rows=[
            [
                Plot(
                    x=PlotAxis(
                        scale=Linear(-1, 30), title="people in the cell", ticks=[0, 5, 10, 15, 20, 25, 30]
                    ),
                    y=PlotAxis(scale=Linear(-16, 16), title="noise", ticks=[-15, -10, -5, 0, 5, 10, 15]),
                    marks=marks,
                    width=580,
                    height=250,
                    keys=[Key(f"shown: together at least {_THRESHOLD}", BLUE), Key("hidden", ORANGE)],
                )
            ]
        ]
    )


def _groups(world: LinkedWorld, /) -> Picture:
    """What is hidden at ten stops each: by taking shown values off their totals, and by the engine, beside the truth."""
    hidden, size = world.hidden, _STOPS // _GROUP
    stop = world.margins["stops"].of(np.arange(len(world.counts))) // _GROUP
    truth = np.bincount(stop[hidden], weights=world.counts[hidden], minlength=size)
    values = world.published[BASE]
    number = _GROUP + np.bincount(stop, weights=~np.isnan(values), minlength=size)
    naive = world.published["stops"].reshape(size, _GROUP).sum(axis=1)
    naive -= np.bincount(stop, weights=np.nan_to_num(values), minlength=size)
    wide = 1.96 * np.sqrt((2 * _SCALE**2 + 1 / 12) * number)
    found = world.engine().sums(hidden, stop[hidden], size=size, level=0.95)
    ends = {"taken off": (naive, naive - wide, naive + wide), "engine": (found.mean, found.low, found.high)}
    for name, (mean, low, high) in ends.items():
        held, off = int(((low <= truth) & (truth <= high)).sum()), float(mean.sum() - truth.sum())
        _say(
            f"groups, {name}: {held} of {size} held, {float((high - low).mean()):.0f} wide, off in all by {off:.0f} of {truth.sum():.0f}"
        )
    places = list(range(size))
    marks: list[Mark] = []
    for (mean, low, high), colour, off in zip(ends.values(), (ORANGE, BLUE), (-0.15, 0.15), strict=True):
        at = [place + off for place in places]
        marks.append(Bars(at=at, low=low.tolist(), high=high.tolist(), colour=colour, size=6, opacity=0.5))
        marks.append(Dots(points=list(zip(at, mean.tolist(), strict=True)), colour=colour, radius=3.2))
    marks.append(Dots(points=list(zip(places, truth.tolist(), strict=True)), colour=INK, radius=2.6))
    lowest = min(float((naive - wide).min()), float(found.low.min()))
    highest = max(float((naive + wide).max()), float(found.high.max()))
    return Picture(
        rows=[
            [
                Plot(
                    x=PlotAxis(
                        scale=Linear(-0.6, size - 0.4),
                        title="ten stops each",
                        ticks=places,
                        label=lambda k: f"{_GROUP * k + 1} to {_GROUP * (k + 1)}",
                        grid=False,
                    ),
                    y=PlotAxis(scale=Linear.over([lowest, highest]), title="people in hidden hours"),
                    marks=marks,
                    width=580,
                    height=230,
                    keys=[
                        Key("totals less shown values", ORANGE),
                        Key("with what selection added", BLUE),
                        Key("truth", INK),
                    ],
                )
            ]
        ]
    )


def _one_cell(world: LinkedWorld, /) -> Picture:
    """The hidden cell that totals move most: by the threshold alone, by all other cells, and by totals."""
    engine, hidden = world.engine(), world.hidden
    found = engine.cells(0.95)
    alone = engine.alone(0.95)
    cell = int(hidden[np.argmax(np.abs(alone.mean - found.mean)[hidden])])
    problem = world.evidence().problem(linked=False)
    looks: dict[str, Floats] = {}
    for name, law in (
        ("hidden, and no more is known", infer(problem, prior=Flat(), keep=True).marginal(cell)),
        (
            "beside its stop and its hour",
            infer(problem, prior=engine.prior(np.arange(engine.size)), keep=True).marginal(cell),
        ),
    ):
        looks[name] = np.zeros(int(law[0][-1]) + 1)
        looks[name][law[0]] = law[1]
    said = engine.laws(np.array([cell]))
    looks["with the totals"] = np.zeros(int(said.low[0]) + int(said.sizes[0]))
    looks["with the totals"][int(said.low[0]) :] = said.p
    for name, mass in looks.items():
        at = np.arange(len(mass))
        mean = float(mass @ at)
        _say(f"cell, {name}: mean {mean:.1f}, sd {float(np.sqrt(mass @ (at - mean) ** 2)):.1f}")
    _say(f"cell: {found.low[cell]} to {found.high[cell]}, truly {world.counts[cell]}")
    return posterior_picture(looks, title="", truth=float(world.counts[cell]))


def _two_laws() -> Picture:
    """Two laws fitted to the values from the threshold on: alike there, and not below."""
    rng = np.random.default_rng(_SEED)
    counts = rng.poisson(np.exp(rng.normal(2.0, 1.0, 4_000)))
    seen = counts[counts >= _CUT]
    x = np.arange(400)
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)

    def binomial(a: Floats) -> Floats:
        shape, mean = np.exp(a)
        return np.asarray(stats.nbinom.pmf(x, shape, shape / (shape + mean)))

    def lognormal(a: Floats) -> Floats:
        means = np.exp(a[0] + np.exp(a[1]) * nodes)
        return np.asarray(stats.poisson.pmf(x[:, None], means) @ weights / weights.sum())

    def fitted(law: Callable[[Floats], Floats], start: list[float]) -> tuple[Floats, float]:
        def away(a: Floats) -> float:
            mass = np.maximum(law(a), 1e-300)
            above = np.log(mass[np.minimum(seen, len(x) - 1)]) - np.log(mass[_CUT:].sum())
            # All cells are counted: how many are hidden is seen.
            few = len(counts) - len(seen)
            return -float(
                above.sum() + len(seen) * np.log(mass[_CUT:].sum()) + few * np.log(mass[:_CUT].sum())
            )

        best = optimize.minimize(away, np.array(start), method="Nelder-Mead", options={"maxiter": 800})
        return law(best.x), float(best.fun)

    marks: list[Mark] = [
        Bars(
            at=x[:60].tolist(),
            high=np.bincount(counts, minlength=60)[:60].tolist(),
            colour=GREY,
            span=0.8,
            opacity=0.5,
        ),
        Rule(at=_CUT - 0.5, colour=INK),
    ]
    below, keys = counts[counts < _CUT].sum(), [Key("counts", GREY, "rect", 0.5)]
    _say(f"two laws: {len(counts)} cells, {len(counts) - len(seen)} hidden with {below} people")
    for name, law, start, colour in (
        ("negative binomial", binomial, [0.0, 2.0], ORANGE),
        ("lognormal", lognormal, [2.0, 0.0], BLUE),
    ):
        mass, cost = fitted(law, start)
        people = len(counts) * float(mass[:_CUT] @ x[:_CUT])
        above = len(counts) * float(mass[_CUT : 2 * _CUT].sum())
        _say(
            f"two laws, {name}: {people:.0f} people in hidden cells, {above:.0f} values below twice the threshold where {int((seen < 2 * _CUT).sum())} are, {-cost:.1f} nats"
        )
        curve = [(int(k), float(len(counts) * mass[k])) for k in x[:60] if len(counts) * mass[k] <= _MOST]
        marks.append(Polyline(points=curve, colour=colour))
        keys.append(Key(name, colour, "line"))
    return Picture(
        rows=[
            [
                Plot(
                    x=PlotAxis(
                        scale=Linear(-1, 60),
                        title="people in the cell; hidden left of the dashed line",
                        ticks=[0, 10, 20, 30, 40, 50, 60],
                    ),
                    y=PlotAxis(scale=Linear(0, _MOST), title="cells"),
                    marks=marks,
                    width=580,
                    height=230,
                    keys=keys,
                )
            ]
        ]
    )


def _coverage() -> Picture:
    """How often intervals of hidden sums held, in worlds of nine laws published in four ways: what the calibration page says."""
    laws, points = list(COUNT_LAWS), {95: [], 50: []}
    for way in _WAYS:
        section = _PAGE.read_text(encoding="utf-8").split(f"\n## {way}\n")[1].split("\n## ")[0]
        lines = [
            [one.strip() for one in line.strip("| ").split(" | ")]
            for line in section.splitlines()
            if line.startswith("| ")
        ]
        head, rows = lines[0], {row[0]: row for row in lines[2:]}
        for law in laws:
            for asked in _ASKED:
                wide, half = rows[law][head.index(asked)].split("(")[0].split(" / ")
                points[95].append((float(wide), law))
                points[50].append((float(half), law))
    marks: list[Mark] = [Shade(low=92, high=98, colour=GREY), Shade(low=43, high=58, colour=GREY)]
    for level, colour in ((95, BLUE), (50, ORANGE)):
        marks.append(Dots(points=points[level], colour=colour, radius=3.4, opacity=0.55))
        inside = [
            low <= share <= high
            for share, _ in points[level]
            for low, high in [(92, 98) if level == 95 else (43, 58)]
        ]
        _say(
            f"coverage at {level}: {sum(inside)} of {len(inside)} inside the band, {min(points[level])} to {max(points[level])}"
        )
    return Picture(
        rows=[
            [
                Plot(
                    x=PlotAxis(
                        scale=Linear(30, 101),
                        title="per cent of intervals that held the truth",
                        ticks=[30, 43, 50, 58, 70, 80, 92, 98],
                        label=lambda share: percent(share / 100),
                    ),
                    y=PlotAxis(scale=Rooms(laws), line=False),
                    marks=marks,
                    width=580,
                    height=230,
                    keys=[Key("said to hold 95 %", BLUE), Key("said to hold 50 %", ORANGE)],
                )
            ]
        ]
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parents[1] / "images")
    main(parser.parse_args().out)
