"""Answers add up what is published, with the law of the noise that the card states."""

import csv
import json
import shutil

import numpy as np
import pytest

import noisegate as package
from noisegate.errors import DataError, SpecError
from noisegate.laws import DiscreteLaplace
from noisegate.query import open_release


def rows(folder, table="base"):
    with (folder / f"{table}.csv").open() as file:
        return list(csv.DictReader(file))


def test_the_public_name_opens_a_release(whole):
    table = package.open_release(whole).query(by="mode")
    assert table.column_names == [
        "mode", "estimate", "low", "high", "level", "cells", "suppressed", "published", "table", "withdrawn",
    ]  # fmt: skip
    assert table.column("mode").to_pylist() == ["train", "bus"]


def test_a_sum_of_shown_cells_has_the_exact_law(whole):
    answer = open_release(whole).answer(
        where="mode=train,time=07:00..09:00,stop=A,date=2016-07-25", level=0.9
    )
    published = [
        int(row["count"])
        for row in rows(whole)
        if (row["mode"], row["stop"], row["date"]) == ("train", "A", "2016-07-25")
        and row["time"] in ("07:00", "08:00")
    ]
    law = DiscreteLaplace(0.5).sum_of(2)
    half = next(h for h in range(50) if 2 * np.exp(law.logsf(h)) <= 0.1)
    assert answer.cells.tolist() == [2]
    assert answer.published.tolist() == [sum(published)]
    assert (answer.low[0], answer.high[0]) == (sum(published) - half, sum(published) + half)


def test_groups_and_totals_agree(whole):
    release = open_release(whole)
    by_stop = release.answer(by=["stop", "mode"])
    assert by_stop.labels["stop"] == ["A", "B", "C", "D"]
    assert (
        by_stop.published.sum() == release.answer().published[0] == sum(int(r["count"]) for r in rows(whole))
    )


def test_order_of_by_is_the_order_of_columns(whole):
    release = open_release(whole)
    one, other = release.answer(by=["stop", "date"]), release.answer(by=["date", "stop"])
    values = dict(zip(zip(one.labels["date"], one.labels["stop"], strict=True), one.published, strict=True))
    assert values == dict(
        zip(zip(other.labels["date"], other.labels["stop"], strict=True), other.published, strict=True)
    )


@pytest.mark.parametrize("method", ["derive", "reconcile", "independent"])
def test_intervals_of_a_release_with_missing_rows_hold_the_truth(town, method):
    truth, inside = {}, []
    for (mode, _, time, _), count in town.truth.items():
        truth[mode, time] = truth.get((mode, time), 0) + count
    for seed in (1, 2):
        folder = town.made(
            f"missing-{method}-{seed}",
            {"margins": method, "suppress": {"below": 12}, "unsafe": method == "independent"},
            seed=seed,
            location={"only": {"mode": "mode"}},
        )
        answer = open_release(folder).answer(by=["mode", "time"])
        assert answer.suppressed.sum() > 20
        keys = list(zip(answer.labels["mode"], answer.labels["time"], strict=True))
        inside += [
            low <= truth[key] <= high for key, low, high in zip(keys, answer.low, answer.high, strict=True)
        ]
    assert np.mean(inside) >= 0.9


@pytest.mark.parametrize(
    ("name", "privacy"),
    [
        (
            "gaussian",
            {"margins": "reconcile", "law": "discrete-gaussian", "delta": 1e-6, "suppress": {"below": 12}},
        ),
        ("rounded", {"margins": "derive", "law": "laplace", "suppress": {"spurious": 0.001}}),
        ("kept zeros", {"margins": "derive", "zeros": "keep", "unsafe": True}),
        (
            "kept and cut",
            {"margins": "independent", "zeros": "keep", "suppress": {"below": 12}, "unsafe": True},
        ),
    ],
)
def test_other_noise_and_other_zeros(town, name, privacy):
    folder = town.made(name.replace(" ", "-"), privacy, location={"only": {"mode": "mode"}})
    answer = open_release(folder).answer(by=["date", "time"])
    truth = {}
    for (_, date, time, _), count in town.truth.items():
        truth[date, time] = truth.get((date, time), 0) + count
    keys = zip(answer.labels["date"], answer.labels["time"], strict=True)
    inside = [low <= truth[key] <= high for key, low, high in zip(keys, answer.low, answer.high, strict=True)]
    assert np.mean(inside) >= 0.85


def test_missing_rows_are_not_taken_as_zero(cut, town):
    answer = open_release(cut).answer(where="time=19:00..07:00")
    truth = sum(count for (_, _, time, _), count in town.truth.items() if not "07:00" <= time < "19:00")
    assert answer.suppressed[0] > 0.5 * answer.cells[0]
    assert answer.low[0] <= truth <= answer.high[0]


def test_a_higher_level_is_wider(cut):
    release = open_release(cut)
    narrow, wide = release.answer(by="stop", level=0.5), release.answer(by="stop", level=0.99)
    assert ((narrow.low >= wide.low) & (narrow.high <= wide.high)).all()
    assert (wide.high - wide.low).sum() > 1.5 * (narrow.high - narrow.low).sum()


def test_a_merged_label_answers_for_all_it_stands_for(merged, town):
    answer = open_release(merged).answer(where={"mode": "bus", "stop": "north"})
    truth = sum(count for (mode, *_), count in town.truth.items() if mode == "bus")
    assert abs(answer.estimate[0] - truth) < 40


def test_a_part_of_a_merged_label_is_refused(merged):
    release = open_release(merged)
    with pytest.raises(SpecError, match=r"a part of stop 'north', which is published only as a whole"):
        release.query(where="mode=bus,stop=C")
    with pytest.raises(SpecError, match=r"a part of time '00:00-06:00'"):
        release.query(where="time=03:00..08:00")
    assert release.query(where="mode=train,stop=A,time=06:00..08:00").num_rows == 1


def test_csv_alone_is_enough(whole, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(whole, copy, ignore=shutil.ignore_patterns("*.parquet"))
    assert open_release(copy).query().equals(open_release(whole).query())


def test_a_release_without_its_table_or_card_is_refused(whole, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(whole, copy, ignore=shutil.ignore_patterns("time.*"))
    with pytest.raises(DataError, match=r"neither time.parquet nor time.csv"):
        open_release(copy)
    (copy / "card.json").unlink()
    with pytest.raises(DataError, match=r"has no card.json. Only a card says how the noise was made.*assess"):
        open_release(copy)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"software": {"name": "noisegate"}}', "\x00"])
def test_a_strange_card_is_refused(whole, tmp_path, content):
    copy = tmp_path / "copy"
    shutil.copytree(whole, copy)
    (copy / "card.json").write_text(content)
    with pytest.raises(DataError, match="card"):
        open_release(copy)


def test_a_table_that_contradicts_its_card_is_refused(whole, tmp_path, card_of):
    copy = tmp_path / "copy"
    shutil.copytree(whole, copy)
    card = card_of(copy)
    card["domain"]["dimensions"]["stop"][0] = "Z"
    (nesting,) = card["domain"]["nesting"]
    nesting["combinations"] = {
        mode: ["Z" if stop == "A" else stop for stop in stops]
        for mode, stops in nesting["combinations"].items()
    }
    (copy / "card.json").write_text(json.dumps(card))
    with pytest.raises(DataError, match="a value of stop that its card does not list"):
        open_release(copy)
