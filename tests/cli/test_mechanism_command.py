"""`noisegate mechanism` and `noisegate reproduce` as a person uses them."""

import json

import pytest


def test_the_2016_mechanism(noisegate, tmp_path):
    target = tmp_path / "m.json"
    code, out, _ = noisegate(
        "mechanism", "--law", "laplace", "--scale", 1.4, "--threshold", 18, "--json", target
    )
    assert code == 0
    assert "2.663e-06" in out
    facts = json.loads(target.read_text())
    assert facts["mechanism"] == {
        "law": "laplace",
        "scale": 1.4,
        "threshold": 18.0,
        "rule": "gt",
        "rounding": "none",
        "cut": "after",
        "zeros": "keep",
    }
    assert facts["pure"] is False
    assert facts["epsilon"] is None
    assert facts["delta"] == pytest.approx(2.663e-6, rel=1e-3)
    assert [row["group"] for row in facts["detection"]] == [1, 2, 5, 10, 12, 17]
    assert {"epsilon", "delta"} == facts["curve"][0].keys()


def test_rounded_and_at_least(noisegate, tmp_path):
    target = tmp_path / "m.json"
    noisegate("mechanism", "--threshold", 18, "--rule", "ge", "--rounding", "nearest", "--json", target)
    assert json.loads(target.read_text())["delta"] == pytest.approx(3.806267658049145e-06, rel=1e-12)


def test_corrected_is_pure(noisegate, tmp_path):
    target = tmp_path / "m.json"
    code, out, _ = noisegate("mechanism", "--threshold", 18, "--zeros", "perturb", "--json", target)
    facts = json.loads(target.read_text())
    assert (code, facts["pure"], facts["delta"]) == (0, True, 0.0)
    assert facts["epsilon"] == pytest.approx(1 / 1.4)
    assert all(row["probability"] == 0 for row in facts["detection"])
    assert "Pure differential privacy" in out


@pytest.mark.parametrize(
    "options",
    [
        ("--scale", "0"),
        ("--scale", "-1"),
        ("--scale", "nan"),
        ("--scale", "inf"),
        ("--scale", "wide"),
        ("--threshold", "-3"),
        ("--threshold", "nan"),
        ("--law", "laplas"),
        ("--law", ""),
        ("--rule", "lt"),
        ("--rounding", "up"),
        ("--zeros", "drop"),
        ("--cut", "never"),
        ("--law", "uniform", "--scale", "1.5"),
        ("--law", "random-rounding", "--scale", "1"),
        ("--colour", "red"),
        ("--plot", "picture.doc"),
        ("--json", "/no/such/folder/m.json"),
        ("--plot", "/no/such/folder/m.svg"),
    ],
)
def test_bad_options_end_with_two_and_one_sentence(noisegate, options):
    code, _, err = noisegate("mechanism", *options)
    assert code == 2
    assert err.startswith("noisegate: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "law", ["laplace", "discrete-laplace", "gaussian", "discrete-gaussian", "uniform", "random-rounding"]
)
def test_every_law_prints_and_draws(noisegate, tmp_path, law):
    picture = tmp_path / "m.svg"
    code, out, err = noisegate("mechanism", "--law", law, "--scale", 3, "--threshold", 5, "--plot", picture)
    assert (code, err) == (0, "")
    assert "delta" in out
    assert picture.read_text().startswith("<svg")


def test_reproduce_writes_items_and_figures(noisegate, tmp_path):
    target, figures = tmp_path / "r.json", tmp_path / "figures"
    code, out, _ = noisegate("reproduce", "--json", target, "--out", figures)
    assert code == 0
    items = json.loads(target.read_text())
    assert len(items) >= 20
    assert "6.956" in out
    assert len(list(figures.glob("*.svg"))) == 5


def test_version_help_and_nothing(noisegate):
    assert noisegate("--version")[1].startswith("noisegate ")
    for arguments in (("--help",), ("mechanism", "--help"), ("reproduce", "-h")):
        code, out, _ = noisegate(*arguments)
        assert code == 0
        assert "Usage" in out
    assert noisegate("mechanizm")[0] == 2


def test_our_own_faults_name_a_place_but_no_values(noisegate, monkeypatch):
    import noisegate.mechanisms as module

    def broken(*_args, **_kwargs):
        raise ZeroDivisionError("card 42 has 17 taps")

    monkeypatch.setattr(module, "statement", broken)
    code, _, err = noisegate("mechanism")
    assert code == 1
    assert "card 42" not in err
    assert "fault of ours" in err
