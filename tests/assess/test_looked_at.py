"""Of very many cells an assessment looks at some, says so everywhere, and what it says of all agrees with having looked at all."""

import io
import json

import numpy as np
import pytest

import noisegate
from noisegate import limits
from noisegate.cli.main import main
from noisegate.laws import DiscreteLaplace
from noisegate.mechanisms import Mechanism
from noisegate.testing import make_world

MADE = Mechanism(law=DiscreteLaplace(1.4), threshold=18, rule="ge", zeros="perturb")
FEW = {"whole_cells": 60_000, "looked_cells": 50_000}


@pytest.fixture(scope="module")
def world():
    """A few hidden cells in each row of quiet places: many of them surely hold somebody."""
    rng = np.random.default_rng(3)
    place = rng.gamma(1.5, 1 / 1.5, 220)
    slot = 0.4 + np.exp(-((np.arange(48) - 16) ** 2) / 60)
    rate = 25 * rng.gamma(30, 1 / 30, (12, 1, 1)) * slot[:, None] * place
    return make_world(
        {"day": 12, "slot": 48, "place": 220},
        margins={"by place": ["day", "place"], "by slot": ["day", "slot"]},
        mechanism=MADE,
        counts=rng.poisson(rate),
        rng=rng,
    )


@pytest.fixture(scope="module")
def files(world, tmp_path_factory):
    return world.write(tmp_path_factory.mktemp("tables"))


@pytest.fixture(scope="module")
def looked(files):
    with limits.override(**FEW):
        return noisegate.assess([str(file) for file in files], noise="laplace:1.4")


@pytest.fixture(scope="module")
def everything(files):
    return noisegate.assess([str(file) for file in files], noise="laplace:1.4")


def finding(found, name):
    return next(
        one for one in [*found.to_json()["findings"], *found.to_json()["checks"]] if one["id"] == name
    )


def test_what_was_looked_at_is_said(looked, everything, world):
    said = looked.to_json()["inference"]["looked_at"]
    hidden = len(world.hidden)
    assert everything.to_json()["inference"]["looked_at"] is None
    assert said["of_suppressed"] == hidden
    assert 0.2 * hidden < said["suppressed"] < 0.7 * hidden
    assert said["blocks"] >= 3
    method = finding(looked, "inference")
    assert method["evidence"][0].startswith(
        f"Looked at {said['suppressed']:,} of {hidden:,} suppressed cells, in"
    )
    assert f"of all {hidden:,} about" in finding(looked, "presence")["title"]


def test_counts_of_all_are_estimates_that_hold_what_all_cells_give(looked, everything):
    mine, theirs = (finding(one, "presence")["numbers"] for one in (looked, everything))
    assert theirs["present"] > 100
    assert mine["present"] < theirs["present"]
    told = mine["in_all"]
    assert told["sd"] > 0
    assert abs(told["estimate"] - theirs["present"]) < 4 * told["sd"] + 0.1 * theirs["present"]


def test_cells_are_those_that_were_looked_at(looked, world):
    cells = looked.cells.to_pandas()
    assert len(cells) == looked.to_json()["inference"]["looked_at"]["cells"]
    truth = dict(
        zip(
            zip(*world.domain.labels(np.arange(world.domain.size)).values(), strict=True),
            world.counts.tolist(),
            strict=True,
        )
    )
    hidden = cells[cells.published.isna()]
    were = np.array([truth[key] for key in zip(hidden.day, hidden.slot, hidden.place, strict=True)])
    assert ((were >= hidden.lo) & (were <= hidden.hi)).mean() > 0.94


def test_what_is_suppressed_in_all_is_told_for_all(looked, world):
    told = looked.to_json()["inference"]["suppressed_totals"]["base"]
    assert told["interval"][0] <= world.counts[world.hidden].sum() <= told["interval"][1]


def test_the_console_says_it(files, capsys, tmp_path):
    with limits.override(**FEW):
        assert (
            main(["assess", *map(str, files), "--noise", "laplace:1.4", "--json", str(tmp_path / "a.json")])
            == 0
        )
    assert json.loads((tmp_path / "a.json").read_text())["inference"]["looked_at"]["blocks"] >= 3
    assert "looked at" in io.StringIO(capsys.readouterr().out).read()
