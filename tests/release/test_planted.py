"""Ids and counts planted in raw data: in no message, log line, exception, page or file of any command, however the data is damaged.

What the custodian is told of a count (`For your eyes only`) is the one place for raw numbers, and holds no id.
"""

import importlib.util
import logging
import random
import re
import traceback
from pathlib import Path

import pytest

from noisegate.engine import count
from noisegate.errors import NoisegateError
from noisegate.laws import OsNoise
from noisegate.spec import load_spec

CARD = "5550123"
BUSY, TOTAL = 1847, 6113
STOPS = ["A", "B", "C", "D"]
SPEC = """\
name: planted
events: {source: taps.csv, person: card}
dimensions:
  date: {column: at, from: 2016-07-25, to: 2016-07-26}
  time: {column: at, every: 6h}
  stop: {column: stop, values: [A, B, C, D]}
tables:
  base: [date, time, stop]
  time: [date, time]
privacy: {unit: person-day, max_cells: 3, epsilon: 1/10, margins: derive SUPPRESS}
budget: {dataset: planted, epsilon: 90}
workload: {early: {where: {time: "00:00..12:00"}, by: [stop]}}
"""
mutations = importlib.util.spec_from_file_location("mutate", Path(__file__).parents[1] / "fuzz" / "mutate.py")
mutate = importlib.util.module_from_spec(mutations)
mutations.loader.exec_module(mutate)


def shown_counts(text):
    """Planted counts in a text, as numbers of their own."""
    return [
        n
        for n in (str(BUSY), f"{BUSY:,}", str(TOTAL), f"{TOTAL:,}")
        if re.search(rf"(?<![\d,.]){n}(?![\d]|,\d)", text)
    ]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("planted")
    rows = [(f"{CARD}{n:04d}", "2016-07-25 08:15:00", "A") for n in range(BUSY)]
    rows += [(f"{CARD}{n:04d}", f"2016-07-26 {n % 24:02d}:15:00", STOPS[n % 4]) for n in range(TOTAL - BUSY)]
    (folder / "taps.csv").write_text("card,at,stop\n" + "".join(f"{c},{t},{s}\n" for c, t, s in rows))
    (folder / "all.yaml").write_text(SPEC.replace("SUPPRESS", ""))
    (folder / "cut.yaml").write_text(SPEC.replace("SUPPRESS", ", suppress: {below: 40}"))
    return folder


def test_no_command_and_no_file_shows_an_id_or_a_raw_count(place, tmp_path, noisegate, caplog):
    caplog.set_level(logging.DEBUG)
    ledger = ["--ledger", tmp_path / "l.sqlite"]
    said = {}
    for name in ("all", "cut"):
        out = tmp_path / name
        words = [
            "release",
            place / f"{name}.yaml",
            "--out",
            out,
            "--json",
            tmp_path / f"{name}.json",
            "--quiet",
        ]
        code, text, err = noisegate(*words, *ledger, "--utility", tmp_path / f"{name}-utility.json")
        assert code == 0
        tally, _, rest = text.partition("Release planted")
        assert CARD not in tally
        said[f"release {name}"] = rest + err
        truth = ["--truth", place / "taps.csv", "--person", "card"]
        commands = {
            "plan": ["release", place / f"{name}.yaml", "--plan", "--json", tmp_path / f"{name}-plan.json"],
            "query": ["query", out, "--by", "stop", "--json", tmp_path / f"{name}-query.json"],
            "workload": ["query", out, "--workload"],
            "assess": ["assess", out, "--out", tmp_path / f"{name}-assessed"],
            "assess with truth": ["assess", out, *truth, "--weeks", "3", "--out", tmp_path / f"{name}-truth"],
        }
        for command, words in commands.items():
            code, text, err = noisegate(*words, *([] if command == "plan" else ["--quiet"]))
            assert code == 0, (command, err)
            said[f"{command} {name}"] = text + err
    for words in (["show"], ["show", "planted"], ["check"]):
        said[f"ledger {words}"] = "".join(map(str, noisegate("ledger", *words, *ledger)))
    said["log"] = caplog.text
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert CARD.encode() not in path.read_bytes(), path.name
            if path.suffix in (".json", ".md", ".html", ".svg"):
                said[str(path.relative_to(tmp_path))] = re.sub(
                    r"<svg.*?</svg>|\b[0-9a-f]{64}\b", "", path.read_text(), flags=re.DOTALL
                )
    assert {name: text for name, text in said.items() if CARD in text} == {}
    assert {name: shown_counts(text) for name, text in said.items() if shown_counts(text)} == {}


def test_no_exception_about_damaged_events_quotes_them(place, tmp_path, caplog):
    """The message, what it was raised from, and every log line, for events damaged in all the ways that fuzzing knows."""
    caplog.set_level(logging.DEBUG)
    whole = (place / "taps.csv").read_bytes()[:3000]
    (tmp_path / "spec.yaml").write_text((place / "all.yaml").read_text())
    refused = []
    for number in range(150):
        chance = random.Random(number)
        (tmp_path / "taps.csv").write_bytes(mutate.mutated(whole, [whole], chance))
        try:
            count(load_spec(tmp_path / "spec.yaml"), entropy=OsNoise())
        except NoisegateError as error:
            refused.append("".join(traceback.format_exception(error)))
    assert len(refused) > 30
    assert [text for text in refused if CARD[:5] in text] == []
    assert CARD not in caplog.text


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text.split("\n", 1)[1],
        lambda text: text.replace("card,at,stop", "card,at"),
        lambda text: text.replace("card,at,stop", "stop,at,stop"),
        lambda text: text.replace("card,at,stop", '"card,at,stop'),
        lambda text: text.replace("card,at,stop", "kard,when,halt"),
        lambda text: text + f"{CARD}9999,2016-07-25 08:15:00,A,B,C\n",
        lambda text: text.replace("2016-07-26 05", "26.7. 05"),
    ],
    ids=["no-header", "short-header", "twice", "quote", "other-names", "long-row", "times"],
)
def test_a_truth_file_that_is_damaged_is_not_quoted(spoil, place, tmp_path, noisegate):
    ledger = ["--ledger", tmp_path / "l.sqlite"]
    assert noisegate("release", place / "cut.yaml", "--out", tmp_path / "cut", *ledger, "--quiet")[0] == 0
    (tmp_path / "taps.csv").write_text(spoil((place / "taps.csv").read_text()))
    for more in ([], ["--person", "card"], ["--workload", place / "cut.yaml"]):
        code, out, err = noisegate(
            "assess", tmp_path / "cut", "--truth", tmp_path / "taps.csv", "--quiet", *more
        )
        assert code in (0, 2)
        assert CARD not in out + err
        assert shown_counts(out + err) == []
