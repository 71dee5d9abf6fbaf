"""The card: everything that an analyst needs, nothing that is secret, and harmless to look at."""

import math
import re
from fractions import Fraction
from html.parser import HTMLParser
from importlib import metadata

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noisegate.laws import RoundedLaplace, SeededNoise
from noisegate.mechanisms import Mechanism, delta, detection
from noisegate.releases import card_text, escaped
from noisegate.tables import Card

PERSON_DAY = {"unit": "person-day", "max_cells": 4, "epsilon": "2"}
AS_IN_2016 = {
    "unit": "event",
    "scale": "1.4",
    "law": "laplace",
    "zeros": "keep",
    "suppress": {"below": 18},
    "margins": "independent",
    "unsafe": "true",
}


@pytest.fixture
def sound(spec_of, make):
    return make(spec_of({**PERSON_DAY, "suppress": {"spurious": "0.001"}}, every="1h"))


@pytest.fixture
def flawed(spec_of, make):
    return make(spec_of(AS_IN_2016, every="1h"))


def test_the_fields_of_the_registry_are_there(sound):
    card = sound.card
    assert card["privacy_unit"] == "person-day"
    assert card["neighbours"] == "add-remove"
    assert card["dp_variant"] == "pure DP"
    assert card["privacy_parameters"] == {"epsilon": 2.0, "delta": 0.0}
    assert card["software"] == {"name": "noisegate", "version": metadata.version("noisegate")}
    assert card["bounding"] == {
        "max_cells": 4, "max_per_cell": 1, "l0": 4, "l1": 4, "linf": 1, "kept": "uniformly at random beyond the bound",
    }  # fmt: skip
    assert {"composition", "post_processing", "mechanism", "unsafe", "not_protected", "domain"} <= card.keys()
    assert card["domain"]["dimensions"]["mode"] == ["train", "bus", "ferry", "lightrail"]
    assert re.fullmatch(r"[0-9a-f]{32}", card["ledger"]["reservation"])


def test_epsilon_is_the_sum_of_bound_over_scale_as_printed(sound):
    tables = [table for table in sound.card["tables"].values() if table["noise"] is not None]
    scales = [Fraction(table["noise"]["scale_exact"]) for table in tables]
    assert sum(4 / scale for scale in scales) == 2
    for table, scale in zip(tables, scales, strict=True):
        assert table["noise"]["scale"] == float(scale)
        assert table["share"] == pytest.approx(float(4 / scale / 2))


def test_losses_of_event_day_and_person(sound):
    loss = sound.card["privacy_loss"]
    assert loss["event"] == {"epsilon": 1.0, "delta": 0.0}  # one comes and one goes: 2 of 4
    assert loss["person_day"] == {"epsilon": 2.0, "delta": 0.0}
    assert loss["person"] == {"epsilon": 6.0, "delta": 0.0}
    assert (loss["days"], loss["person_example"]) == (3, None)


def test_unsafe_choices_are_named_with_numbers(flawed):
    found = {choice["choice"]: choice for choice in flawed.card["unsafe"]}
    assert found.keys() == {"zeros: keep", "margins: independent", "unit: event"}
    mechanism = Mechanism(law=RoundedLaplace(1.4), threshold=18, rule="ge", zeros="keep")
    one = 0.5 * math.exp(-16.5 / 1.4)
    zeros = found["zeros: keep"]
    assert zeros["delta_one_event_base_table"] == pytest.approx(one, rel=1e-12)
    assert zeros["delta_one_event_base_table"] == pytest.approx(float(delta(mechanism, 1 / 1.4)), rel=1e-9)
    assert zeros["delta_one_unit_all_tables"] == pytest.approx(1 - (1 - one) ** 3, rel=1e-3)
    assert zeros["detection_by_group"] == {str(g): pytest.approx(detection(mechanism, g)) for g in (1, 5, 12)}
    assert zeros["detection_by_group"]["12"] == pytest.approx(9.836e-3, rel=1e-3)
    assert found["margins: independent"]["epsilon_all_tables"] == pytest.approx(3 / 1.4)
    assert found["margins: independent"]["epsilon_base_table_alone"] == pytest.approx(1 / 1.4)
    assert found["unit: event"]["person_epsilon"] == pytest.approx(40 * 3 / 1.4)
    assert flawed.card["dp_variant"] == "approximate DP"
    assert flawed.card["privacy_loss"]["person"] is None
    text = (flawed.folder / "CARD.md").read_text()
    for words in ("Unsafe choices", "zeros: keep", "3.806e-06", "1.142e-05", "85.71", "not bounded"):
        assert words in text


def test_a_sound_release_admits_nothing(sound):
    assert sound.card["unsafe"] == []
    text = (sound.folder / "CARD.md").read_text()
    assert "Unsafe" not in text
    assert "repeatable noise" not in text
    for number in ("| one event | 1 | 0 |", "| one person-day | 2 | 0 |", "| one person | 6 | 0 |"):
        assert number in text


def test_events_without_persons_are_said_to_be_unprotected(spec_of, make):
    events = {"source": "taps.parquet"}
    made = make(
        spec_of(
            {"unit": "event", "epsilon": "1", "unsafe": "true", "margins": "derive"},
            every="6h",
            events=events,
        )
    )
    assert [choice["choice"] for choice in made.card["unsafe"]] == ["unit: event"]
    assert "nothing is promised to a person" in made.card["privacy_unit_description"]


def test_repeatable_noise_is_marked(spec_of, make, tmp_path):
    spec = spec_of({**PERSON_DAY, "margins": "derive"}, every="6h")
    one, same, other = (
        make(spec, out=tmp_path / str(n), entropy=SeededNoise(seed=seed)) for n, seed in enumerate((5, 5, 6))
    )
    assert one.card["simulated"] is True
    assert one.csv == same.csv != other.csv
    assert (
        "**Made with repeatable noise for a demonstration. It protects nobody"
        in (one.folder / "CARD.md").read_text()
    )
    assert make(spec, out=tmp_path / "real").card["simulated"] is False


class _Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, attrs))


HOSTILE = [
    "<script>alert(1)</script>",
    "[click](javascript:alert(1))",
    "![x](http://example.org/x.png)",
    "# heading",
    "a | b | c",
    "`code`\n\n# injected",
    "**bold** _it_ {#id}",
    "back\\slash\\*",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_harmless_on_the_card(name, sound):
    text = escaped(name)
    assert "\n" not in text
    assert re.findall(r"(?<!\\)(?:\\\\)*[`*_{}\[\]<>#|]", text) == []
    card = {**sound.card, "name": name}
    card["tables"] = {name: {**sound.card["tables"]["loc"], "dimensions": [name]}}
    card["ledger"] = {"dataset": name, "reservation": name}
    made = card_text(Card.read(card))
    tags = _Tags()
    tags.feed(re.sub(r"\\(.)", "", made))
    assert tags.found == []
    assert len([line for line in made.splitlines() if line.startswith("#")]) == len(
        [line for line in card_text(Card.read(sound.card)).splitlines() if line.startswith("#")]
    )
    row = next(
        line for line in made.splitlines() if line.startswith(f"| {escaped(name)} | {escaped(name)} |")
    )
    assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) == 10


def test_hostile_values_are_read_back_as_they_were(make, tmp_path):
    """Commas, quotes, line breaks and formulas in the names of places, in both kinds of file."""
    from noisegate.spec import parse_spec

    places = ["a,b", 'say "hi"', "two\nlines", "=1+1", " spaced ", "Zürich ☃", "'", "-1", "NULL", "\\", "a\tb"]  # fmt: skip
    taps = tmp_path / "data" / "taps.parquet"
    taps.parent.mkdir()
    pq.write_table(pa.table({"card": range(len(places)), "place": places}), taps)
    spec = parse_spec(
        {
            "name": "hostile",
            "events": {"source": "taps.parquet", "person": "card"},
            "dimensions": {"place": {"column": "place", "values": places}, "same": {"column": "place", "values": places}},
            "tables": {"base": ["place", "same"], "places": ["place"]},
            "privacy": {"unit": "person", "max_cells": 1, "scale": "1/40", "margins": "derive"},
            "budget": {"dataset": "<b>[x](y)</b>", "epsilon": "1000"},
        },
        folder=taps.parent,
    )  # fmt: skip
    made = make(spec)
    assert made.parquet["places"] == [((place,), 1) for place in places]
    harmless = ["'=1+1" if place == "=1+1" else place for place in places]  # no spreadsheet runs it
    assert made.csv["places"] == [((place,), 1) for place in harmless]
    assert [labels for labels, count in made.csv["base"] if count] == [(place, place) for place in harmless]
    text = (made.folder / "CARD.md").read_text()
    assert "<b>" not in text
    assert "](y)" not in text.replace("\\]", "")


def test_the_card_says_what_somebody_could_find_out_about_a_person(sound):
    """Between guessing and what the stated loss allows; one event is told less often than a day, a day than all days."""
    rights = {one["whose"]: one["right"] for one in sound.card["attacker"]}
    assert list(rights)[:2] == ["one event", "one person-day"]
    assert list(rights)[2].startswith("one person on all ")
    losses = sound.card["privacy_loss"]
    for right, loss in zip(
        rights.values(), (losses["event"], losses["person_day"], losses["person"]), strict=True
    ):
        assert 0.5 < right <= math.exp(loss["epsilon"]) / (1 + math.exp(loss["epsilon"])) + 1e-3
    assert sorted(rights.values()) == list(rights.values())
    assert all(one["guessing"] == 0.5 for one in sound.card["attacker"])
    assert Card.read(sound.card).to_json()["attacker"] == sound.card["attacker"]


def test_the_card_of_2016_says_that_a_person_is_told_for_certain(flawed):
    text = card_text(Card.read(flawed.card))
    row = next(
        line for line in text.splitlines() if line.startswith("| a person with 40 events, cells apart |")
    )
    assert float(row.split("|")[2].split()[0]) > 99.9
