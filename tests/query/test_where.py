"""Conditions in words mean what they say, and what cannot be meant is refused with the way out."""

from datetime import date, datetime, time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisegate.errors import SpecError
from noisegate.tables import Dimension, Domain, Selection, condition_text, conditions_of, kind_of

DOMAIN = Domain.product(
    [
        Dimension(name="mode", values=("train", "ferry")),
        Dimension(name="date", values=("2016-07-25", "2016-07-26", "2016-07-27")),
        Dimension(name="time", values=tuple(f"{q // 4:02d}:{q % 4 * 15:02d}" for q in range(96))),
        Dimension(name="stop", values=("Manly, Wharf 1", "Circular Quay")),
        Dimension(name="zone", values=("07", "12")),
    ]
)


def chosen(where, name):
    found = Selection.parse(where, DOMAIN)
    labels = DOMAIN.dimensions[DOMAIN.axis(name)].labels
    return [label for label, here in zip(labels, found.mask(name), strict=True) if here]


@pytest.mark.parametrize(
    ("text", "name", "meant"),
    [
        ("mode=ferry", "mode", ["ferry"]),
        ("mode=ferry|train", "mode", ["train", "ferry"]),
        ("time=06:00..06:30", "time", ["06:00", "06:15"]),
        ("time=23:45..00:15", "time", ["00:00", "23:45"]),
        ("time=23:30..24:00", "time", ["23:30", "23:45"]),
        ("date=2016-07-26..2016-07-30", "date", ["2016-07-26", "2016-07-27"]),
        ('stop="Manly, Wharf 1", mode=ferry', "stop", ["Manly, Wharf 1"]),
        ({"stop": "Manly, Wharf 1"}, "stop", ["Manly, Wharf 1"]),
        ({"mode": ["ferry"]}, "mode", ["ferry"]),
        ({"mode": "ferry|train"}, "mode", ["train", "ferry"]),
        ({"mode": ("ferry", "train")}, "mode", ["train", "ferry"]),
        ({"mode": " FERRY "}, "mode", ["ferry"]),
        ({"Mode": "ferry"}, "mode", ["ferry"]),
        ({"time": "06:00..06:30|23:45..24:00"}, "time", ["06:00", "06:15", "23:45"]),
        ({"time": ["06:00..06:30", time(9, 15)]}, "time", ["06:00", "06:15", "09:15"]),
        ({"date": date(2016, 7, 26)}, "date", ["2016-07-26"]),
        ({"date": [date(2016, 7, 25), "2016-07-27"]}, "date", ["2016-07-25", "2016-07-27"]),
        ({"date": datetime.fromisoformat("2016-07-26")}, "date", ["2016-07-26"]),
        ({"date": np.datetime64("2016-07-26")}, "date", ["2016-07-26"]),
        ({"zone": 7}, "zone", ["07"]),
        ({"zone": np.array([7, 12])}, "zone", ["07", "12"]),
        ("zone=7|12", "zone", ["07", "12"]),
        ("stop=Manly, Wharf 1,mode=ferry", "stop", ["Manly, Wharf 1"]),
        ("stop='Manly, Wharf 1'|\"Circular Quay\"", "stop", ["Manly, Wharf 1", "Circular Quay"]),
        (["mode=ferry", "zone=12"], "zone", ["12"]),
    ],
)
def test_words_mean_labels(text, name, meant):
    assert chosen(text, name) == meant


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "mod=ferry",
            r"a dimension must be one of mode, date, time, stop, zone, got 'mod'. Did you mean 'mode'\?",
        ),
        ("mode=fery", r"mode has no 'fery'; it has train, ferry. Did you mean 'ferry'\?"),
        ("mode=train..ferry", r"mode is a list of names.*Write mode=A\|B for several. It has train, ferry."),
        ("time=06:05..07:00", r"a part of time '06:00', which is published only as a whole"),
        ("time=26:00..27:00", r"a range of time looks like 06:00..09:00, got '26:00..27:00'"),
        ("date=2016-08-01..2016-08-02", r"no date lies in .* it runs from 2016-07-25 to 2016-07-27"),
        ("date=2016-07-27..2016-07-25", r"a range of date looks like"),
        ("ferry", r"a condition looks like mode=ferry or time=06:00..09:00, got 'ferry'"),
        ("mode=", r"a condition looks like"),
        ("  ", r"a condition is blank"),
        ("mode=ferry,mode=train", r"mode has two conditions; write mode=A\|B"),
        ("mode=ferry, Mode=train", r"mode has two conditions; write mode=A\|B"),
        ("mode=ferry'", r"""mode has no "ferry'"; it has train, ferry. Did you mean 'ferry'\?"""),
        ("mode='ferry", r"the quotation mark at character 6 of .* is never closed"),
        (
            "mode='ferry'x",
            r"after the closing quotation mark at character 7 of .* comes a bar or the end, got 'x'",
        ),
        ("mode=ferry|", r"'ferry\|' has nothing at character 7, where a label should be"),
        ("mode=ferry,,", r"mode has no 'ferry,,'"),
        ("mode=ferry, train", r"mode has no 'ferry, train'; it has train, ferry"),
        ({"mode": True}, r"mode must be text, a whole number, a date, a time or a list of these, got True"),
        ({"mode": []}, r"mode has an empty list; leave the condition out to ask for all"),
        ({"date": datetime.fromisoformat("2016-07-26 05:00")}, r"date must be text, a whole number, a date"),
        ({"date": date(2017, 1, 1)}, r"date has no '2017-01-01'; it has 2016-07-25, 2016-07-26, 2016-07-27"),
    ],
)
def test_what_cannot_be_meant_is_refused(text, sentence):
    with pytest.raises(SpecError, match=sentence):
        Selection.parse(text, DOMAIN)


def test_by_names_each_dimension_once():
    with pytest.raises(SpecError, match="names each dimension once"):
        Selection.parse(None, DOMAIN, by=("mode", "mode"))


def test_labels_say_what_they_are():
    assert [kind_of(d.labels) for d in DOMAIN.dimensions] == ["name", "day", "time", "name", "name"]
    assert kind_of(("00:00-06:00", "06:00")) == "time"


@given(st.text(alphabet="mode=fry,'\"|. 1", max_size=24))
def test_text_is_read_to_its_end_or_refused(text):
    try:
        found = conditions_of(text)
    except SpecError:
        return
    # Every letter and digit is in a name or in a value.
    read = "".join(name + "".join(parts) for name, parts in found.items())
    assert sorted(c for c in text if c.isalnum()) == sorted(c for c in read if c.isalnum())


@given(st.dictionaries(st.sampled_from(["a", "b c"]), st.text(alphabet="xy ,'\"", min_size=1), min_size=1))
def test_conditions_that_were_written_are_read_again(labels):
    labels = {name: label.strip() for name, label in labels.items()}
    if any(not label or ("'" in label and '"' in label) for label in labels.values()):
        return
    text = ",".join(condition_text(name, label) for name, label in labels.items())
    assert conditions_of(text) == {name: (label,) for name, label in labels.items()}


def test_labels_in_the_spelling_of_an_agency_are_found_by_what_they_say():
    days = Dimension(
        name="day",
        values=("25/07/2016", "26/07/2016", "27/07/2016"),
        keys=("2016-07-25", "2016-07-26", "2016-07-27"),
    )
    assert [days.code(one) for one in ("26/07/2016", "2016-07-26", date(2016, 7, 26))] == [1, 1, 1]
    with pytest.raises(SpecError, match="day has no '2016-07-28'; it has 25/07/2016"):
        days.code(date(2016, 7, 28))
    domain = Domain.product([days])
    for where in ({"day": [date(2016, 7, 26), "27/07/2016"]}, "day=2016-07-26..2016-07-27"):
        assert Selection.parse(where, domain).mask("day").tolist() == [False, True, True]


def test_two_labels_that_differ_in_case_only_must_be_written_as_they_are():
    stops = Dimension(name="stop", values=("Central", "CENTRAL"))
    assert stops.code("CENTRAL") == 1
    with pytest.raises(SpecError, match="stop has no 'central'; it has Central, CENTRAL"):
        stops.code("central")
