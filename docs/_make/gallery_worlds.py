"""The simulated releases of the gallery: made here, so that the page can say how right the attack was."""  # noqa: INP001 - a folder of scripts

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from gallery_items import DAYS, Item, Made, Workshop
from gallery_pictures import bars_picture, claims_picture, counts_picture, ranges_picture, sets_picture
from scipy.stats import skellam

import noisegate
from noisegate import Dimension, Domain, Mechanism
from noisegate.laws import DiscreteLaplace, PointMass
from noisegate.testing import BASE, LinkedWorld, make_world

_EXACT = Mechanism(law=PointMass(), zeros="perturb")
_TABLES = ("time-loc", "time", "loc")
#: What the false card says the scale of the noise is; the truth is 1.4.
_CLAIMED = 4.0


def _domain(**values: Sequence[str]) -> Domain:
    return Domain.product(Dimension(name=name, values=tuple(labels)) for name, labels in values.items())


def _numbered(word: str, size: int, /) -> list[str]:
    return [f"{word} {k + 1}" for k in range(size)]


def _proven(
    world: LinkedWorld, found: noisegate.OpenAssessment, kind: str, /
) -> tuple[list[dict[str, Any]], list[int]]:
    """The counts of a finding that are cells of the base, and the truth of each."""
    names = world.domain.names
    listed = [one for one in found.finding(kind).numbers["listed"] if set(names) <= set(one)]
    labels = world.domain.labels(np.arange(world.domain.size))
    place = {key: k for k, key in enumerate(zip(*labels.values(), strict=True))}
    order = tuple(labels)
    return listed, [int(world.counts[place[tuple(one[name] for name in order)]]) for one in listed]


def _city_2016(shop: Workshop, /) -> Made:
    files = _without_card(shop.as_in_2016, shop.folder / "published")
    found = noisegate.assess(files, gtfs=shop.city.gtfs, weeks=52)
    scored = noisegate.assess(files, truth=shop.city.taps, person="card_id")
    fit = found.to_json()["tables"][0]["noise"]
    score = scored.to_json()["score"]
    numbers = {
        "scale": round(fit["scale"], 2),
        "low": round(fit["interval"][0], 2),
        "high": round(fit["interval"][1], 2),
        "presence": found.finding("presence").numbers["present"],
        "vehicles": found.finding("vehicle-unique-cells").numbers["published_one_vehicle"],
        **_scored(score),
    }
    return Made(found=found, picture=found.plot("noise-1"), numbers=numbers)


def _without_card(release: Path, folder: Path, /) -> list[Path]:
    """The tables of a release as they were published in 2016: nothing says how they were made."""
    folder.mkdir()
    return [Path(shutil.copy(release / f"{name}.csv", folder)) for name in _TABLES]


def _scored(score: Mapping[str, Any], /) -> dict[str, float]:
    """How the attack did on hidden cells that hold somebody, beside what is known without the other tables."""
    held = score["suppressed"]["non-empty"]
    return {
        "right": round(100 * score["present_right"], 1),
        "covered": round(100 * score["suppressed"]["all"]["coverage"], 1),
        "error": round(held["mean_absolute_error"], 2),
        "without": round(held["baseline_mean_absolute_error"], 2),
    }


def _city_proper(shop: Workshop, /) -> Made:
    found = noisegate.assess(shop.proper, truth=shop.city.taps, person="card_id")
    said = found.to_json()
    sure = {one["who"]: one["right"] for one in said["privacy"]["certainty"]}
    picture = bars_picture(
        ["tossing a coin", *sure],
        [0.5, *sure.values()],
        title="Is the person in the data? How often the best test is right",
        x="what the attacker knows to ask about",
        y="chance of being right",
    )
    numbers = {
        "event": round(100 * sure["one event"], 1),
        "day": round(100 * sure["one person-day"], 1),
        "week": round(100 * sure[f"one person on all {DAYS} days"], 1),
        "present": found.finding("presence").numbers["present"],
        **_scored(said["score"]),
    }
    return Made(found=found, picture=picture, numbers=numbers, card=shop.proper / "card.json")


def _card(shop: Workshop, /) -> Made:
    folder = shop.folder / "card-that-lies"
    shutil.copytree(shop.as_in_2016, folder)
    card = json.loads((folder / "card.json").read_text("utf-8"))
    for table in card["tables"].values():
        table["noise"] |= {"scale": _CLAIMED, "scale_exact": str(int(_CLAIMED))}
    (folder / "card.json").write_text(json.dumps(card), "utf-8")
    found = noisegate.assess(folder)
    fit = noisegate.recover(_without_card(folder, shop.folder / "alone"))["time-loc"].fit
    low, high = fit.interval
    picture = claims_picture(
        {"the card claims": _CLAIMED, "truly": 1.4},
        low,
        fit.scale,
        high,
        title="The scale on the card, and the scale in the tables",
    )
    numbers = {
        "claimed": _CLAIMED,
        "scale": round(fit.scale, 2),
        "low": round(low, 2),
        "high": round(high, 2),
    }
    return Made(found=found, picture=picture, numbers=numbers, card=folder / "card.json")


def _hospital(shop: Workshop, /) -> Made:
    margins = {
        "hospital-ward": ["hospital", "ward"],
        "hospital-age": ["hospital", "age"],
        "ward-age": ["ward", "age"],
    }
    world = make_world(
        _domain(
            hospital=_numbered("hospital", 8),
            ward=["heart", "lung", "stroke", "cancer", "kidney", "bone", "skin", "eye", "ear", "birth"],
            age=["0-4", "5-17", "18-39", "40-64", "65-79", "80+"],
        ),
        margins=margins,
        mechanism={
            BASE: Mechanism(law=PointMass(), threshold=5, rule="ge"),
            **dict.fromkeys(margins, _EXACT),
        },
        mean=9,
        rng=np.random.default_rng(5),
    )
    found = noisegate.assess(world.write(shop.folder / "hospital", marker="<5"))
    listed, truth = _proven(world, found, "known-exactly")
    within, beside = _proven(world, found, "known-within-one")
    shown = [*listed[::4][:8], *within[::4][:6]]
    names = [f"{one['hospital']}, {one['ward']}, {one['age']}" for one in shown]
    picture = ranges_picture(
        shown,
        names,
        truth=[*truth[::4][:8], *beside[::4][:6]],
        title="Patients shown as <5, and what three tables of sums leave",
    )
    numbers = {
        "known": found.finding("known-exactly").numbers["cells"],
        "hidden": found.finding("known-exactly").numbers["hidden"],
        "listed": len(listed),
        "right": sum(one["low"] == count for one, count in zip(listed, truth, strict=True)),
        "within": found.finding("known-within-one").numbers["cells"],
        "inside": sum(one["low"] <= count <= one["high"] for one, count in zip(within, beside, strict=True)),
        "within_listed": len(within),
    }
    return Made(found=found, picture=picture, numbers=numbers)


def _jobseekers(shop: Workshop, /) -> Made:
    margins = {"by-region": ["region", "quarter"], "by-trade": ["quarter", "trade"]}
    world = make_world(
        _domain(
            region=[
                "north",
                "north-east",
                "east",
                "south-east",
                "south",
                "south-west",
                "west",
                "north-west",
                "coast",
                "capital",
            ],
            quarter=[f"{year} Q{q}" for year in (2023, 2024, 2025) for q in (1, 2, 3, 4)],
            trade=["building", "care", "catering", "farming", "office", "sales", "transport", "other"],
        ),
        margins=margins,
        mechanism={
            BASE: Mechanism(law=DiscreteLaplace(2.0), threshold=10, rule="ge", zeros="perturb"),
            **dict.fromkeys(margins, _EXACT),
        },
        mean=60,
        spread=0.8,
        rng=np.random.default_rng(6),
    )
    found = noisegate.assess(world.write(shop.folder / "jobseekers"))
    fit = found.to_json()["tables"][0]["noise"]
    cells = found.cells
    low, high = (cells[name].to_numpy() for name in ("lo", "hi"))
    published = np.isnan(cells["published"].to_numpy().astype(float))
    truth = _in_order(world, cells)
    inside = (low <= truth) & (truth <= high)
    numbers = {
        "scale": round(fit["scale"], 2),
        "low": round(fit["interval"][0], 2),
        "high": round(fit["interval"][1], 2),
        "suppressed": int(published.sum()),
        "covered": round(100 * float(inside[published].mean()), 1),
        "width": round(float((high - low)[published].mean()), 1),
    }
    return Made(found=found, picture=found.plot("noise-1"), numbers=numbers)


def _in_order(world: LinkedWorld, cells: Any, /) -> Any:
    """The truth of each row of `cells`."""
    labels = world.domain.labels(np.arange(world.domain.size))
    place = {key: k for k, key in enumerate(zip(*labels.values(), strict=True))}
    columns = [cells[name].to_pylist() for name in labels]
    return np.array([world.counts[place[key]] for key in zip(*columns, strict=True)])


def _exams(shop: Workshop, /) -> Made:
    rng = np.random.default_rng(11)
    domain = _domain(
        school=_numbered("school", 40),
        subject=[
            "maths",
            "physics",
            "biology",
            "history",
            "art",
            "music",
            "English",
            "French",
            "Latin",
            "sport",
            "craft",
            "drama",
        ],
        grade=list("ABCDE"),
    )
    march = rng.poisson(6 * rng.gamma(1, 1, (40, 12, 5)))
    june = march.copy()
    shown = np.argwhere((march >= 8) & (np.roll(march, -1, axis=2) >= 8) & (np.arange(5) < 4))
    (school, subject, grade), late = shown[40], shown[120]
    june[school, subject, grade] += 1  # one pupil was marked again
    june[school, subject, grade + 1] -= 1
    june[tuple(late)] += 3  # three sat late
    files = []
    for name, counts in (("march", march), ("june", june)):
        world = make_world(
            domain,
            margins={},
            mechanism=Mechanism(law=PointMass(), threshold=5, rule="ge"),
            counts=counts.ravel(),
            rng=rng,
        )
        (file,) = world.write(shop.folder / name, marker="<5")
        files.append(file.rename(shop.folder / f"{name}.csv"))
    found = noisegate.assess(files[1], against=[files[0]])
    told = (march.ravel() >= 5) & (june.ravel() >= 5)
    change = (june - march).ravel()
    place = np.flatnonzero(told)
    at = np.arange(-8, 9)
    means = (march + june).ravel()[place] / 2
    picture = counts_picture(
        at.tolist(),
        [int((change[place] == one).sum()) for one in at],
        [float(skellam.pmf(one, means, means).sum()) for one in at],
        title=f"June less March in {place.size:,} cells that both versions show",
        law="expected of different pupils",
        x="difference, pupils",
    )
    slivers = found.finding("slivers").numbers
    numbers = {
        "compared": int(told.sum()),
        "planted": int((change[place] != 0).sum()),
        "changed": int((change != 0).sum()),
        "found": len(slivers["slivers"]),
    }
    return Made(found=found, picture=picture, numbers=numbers)


def _teachers(shop: Workshop, /) -> Made:
    margins = {
        "school-subject": ["school", "subject"],
        "school-sex": ["school", "sex"],
        "subject-sex": ["subject", "sex"],
        "school": ["school"],
        "subject": ["subject"],
    }
    world = make_world(
        _domain(
            school=_numbered("school", 9),
            subject=["languages", "sciences", "arts", "sport", "other"],
            sex=["female", "male"],
        ),
        margins=margins,
        mechanism={
            BASE: Mechanism(law=PointMass(), threshold=4, rule="ge"),
            **dict.fromkeys(
                ("school-subject", "school-sex", "subject-sex"),
                Mechanism(law=PointMass(), threshold=11, rule="ge"),
            ),
            **dict.fromkeys(("school", "subject"), _EXACT),
        },
        mean=6,
        spread=0.7,
        rng=np.random.default_rng(3),
    )
    files = world.write(shop.folder / "teachers", marker="x")
    found = noisegate.assess(files)
    together = found.finding("tables-together").numbers
    sets = [(one["tables"], one["cells"]) for one in together["sets"]]
    picture = sets_picture(
        sets[:8], [BASE, *margins], together["drop"], title="Sets of tables that give counts away"
    )
    listed, truth = _proven(world, found, "known-exactly")
    numbers = {
        "given": together["given_away"],
        "sets": len(sets),
        "largest": max(len(names) for names, _ in sets),
        "alone": sum(cells for names, cells in sets if len(names) == 1),
        "drop": " and ".join(together["drop"]),
        "cost": int(together["cost"]),
        "listed": len(listed),
        "right": sum(one["low"] == count for one, count in zip(listed, truth, strict=True)),
    }
    return Made(found=found, picture=picture, numbers=numbers)


SIMULATED = (
    Item(
        slug="city-as-in-2016",
        title="A city as in 2016, with its timetable",
        field="Transport",
        made_by="Laplace 1.4 on counts that are not zero, threshold 18",
        published="A week of taps of an invented city of 60,000 cards, published by the recipe of 2016: by quarter-hour and stop, by quarter-hour, and by stop, each table with noise of its own, "
        "zeros kept, less than 18 dropped. The scale was not told. The timetable is public.",
        shows="One ferry is counted at both ends, so the noise shows: **scale {scale}** (95 %: {low} to {high}; truly 1.4). {presence} hidden cells are shown to hold somebody, and {right} % of them do. "
        "Hidden cells with people in them are estimated to within {error} on average, without the other tables to within {without}; intervals hold {covered} % of the hidden counts. With the timetable, "
        "{vehicles} published cells can only be one vehicle. The law is not quite settled by one week of one ferry, so no epsilon is stated without a card; whoever has the card knows it.",
        caption="Riders on less riders off of the ferry: seen, and expected",
        command="noisegate simulate --out city --persons 60000 --days 7 --seed 7\nnoisegate release city/spec-2016.yaml --out week\n"
        "noisegate assess week/time-loc.csv week/time.csv week/loc.csv --gtfs city/gtfs.zip --weeks 52 --out assessed",
        make=_city_2016,
        slow=True,
    ),
    Item(
        slug="city-released-properly",
        title="The same city, released properly",
        field="Transport",
        made_by="discrete Laplace for a person-day, epsilon 2, tables that agree",
        published="The same taps, with a promise about everything that a person does in a day: at most 4 cells, epsilon 2, noise on every cell of the domain, margins reconciled, a card that says so.",
        shows="The noise is no secret and cannot be subtracted. Hidden cells with people in them are estimated to within {error}, without the other tables to within {without}: next to nothing is gained. "
        "Whether somebody is in the data at all is guessed right in {event} % for one event, {day} % for a day and **{week} % for somebody who travels on all seven days**: days add up. "
        "{present} hidden cells are said to hold somebody with more than 99 %, from what is shown around them; {right} % of them do.",
        caption="How often the best test is right about one event, a day, a week",
        command="noisegate release city/spec.yaml --out week\nnoisegate assess week --truth city/taps.parquet --person card_id --out assessed",
        make=_city_proper,
        slow=True,
    ),
    Item(
        slug="card-that-lies",
        title="A card that lies",
        field="Transport",
        made_by="as in 2016, with a card that claims more noise",
        published="The tables of 2016 again, with a card that claims a scale of 4 where 1.4 was used: a promise that was not kept, or a slip of the pen.",
        shows="Tables are checked against their card. The noise is recovered from the tables alone, **scale {scale}** (95 %: {low} to {high}), and {claimed:g} lies far outside: high. "
        "With `--fail-on high` that stops a pipeline.",
        caption="The scale that the card claims, the true one, and what the tables show",
        command="noisegate assess week --fail-on high",
        make=_card,
        slow=True,
    ),
    Item(
        slug="hospital-wards",
        title="Patients below five, with three tables of sums",
        field="Health",
        made_by="`<5` hidden, sums exact",
        published="Patients of an invented region by hospital, ward and age; less than 5 is `<5`. Beside it the three two-way tables, exact.",
        shows="No row or column has a single hole, so subtraction by hand stops soon. Together the three tables leave **one value for {known} of {hidden} hidden counts**, and two for {within} more. "
        "Against the truth: {right} of the {listed} that are listed are right, and {inside} of {within_listed} intervals of two hold it. All bounds are proven, in whole counts.",
        caption="Counts shown as <5: what is left of them, and the truth",
        command="noisegate assess base.csv hospital-ward.csv hospital-age.csv ward-age.csv --out assessed",
        make=_hospital,
    ),
    Item(
        slug="jobseekers",
        title="Noise on the cells, totals exact",
        field="Labour market",
        made_by="discrete Laplace 2 on cells, threshold 10; totals exact",
        published="Job-seekers of an invented country by region, quarter and trade with Laplace noise, less than 10 dropped; totals by region and by trade exact, because somebody asked for correct totals.",
        shows="Complete rows do not add up, and by how much is the noise: a **scale of {scale}** (95 %: {low} to {high}; truly 2). With this few rows the law is not settled, and three rivals are named with their "
        "chances. The {suppressed} dropped cells get intervals {width} wide on average, which hold {covered} % of the truth at 95 %.",
        caption="Totals less the sum of their parts: seen, and expected",
        command="noisegate assess base.csv by-region.csv by-trade.csv --out assessed",
        make=_jobseekers,
    ),
    Item(
        slug="exam-results",
        title="Two versions that differ in a sliver",
        field="Education",
        made_by="`<5` hidden, published twice",
        published="Exam results of invented schools by school, subject and grade, in March, and again in June after one pupil was marked again and three sat late. Less than 5 is `<5` in both.",
        shows="Each version hides small counts. Their difference is made of nothing else: of {compared} cells that can be compared, {changed} changed, and **all {found} are found**: which school, which subject, "
        "which grade. Of different pupils so few differences would be all but impossible, so the two must count the same ones.",
        caption="June less March in every cell that both versions show",
        command="noisegate assess june.csv --against march.csv --out assessed",
        make=_exams,
    ),
    Item(
        slug="teachers",
        title="Six tables that hurt together",
        field="Education",
        made_by="small counts hidden in each table",
        published="Teachers of invented schools by school, subject and sex, less than 4 hidden, with five tables of sums, of which the two-way ones hide less than 11.",
        shows="{alone} hidden totals are sums of cells that are shown. All else takes several tables: together they give away **{given} hidden counts**, by {sets} smallest sets of up to {largest} tables. The cheapest way out is to leave out "
        "{drop}, {cost} shown counts in all. Of the {listed} cells of the finest table that are listed, {right} are right.",
        caption="The smallest sets of tables that give counts away",
        command="noisegate assess base.csv school-subject.csv school-sex.csv subject-sex.csv school.csv subject.csv --out assessed",
        make=_teachers,
    ),
)
