"""Conditions in words mean what they say, and what cannot be meant is refused with the way out."""

import pytest

from noisegate.errors import SpecError
from noisegate.tables.domain import Dimension, Domain
from noisegate.tables.where import conditions_of, kind_of, select

DOMAIN = Domain.product(
    [
        Dimension(name="mode", values=("train", "ferry")),
        Dimension(name="date", values=("2016-07-25", "2016-07-26", "2016-07-27")),
        Dimension(name="time", values=tuple(f"{q // 4:02d}:{q % 4 * 15:02d}" for q in range(96))),
        Dimension(name="stop", values=("Manly, Wharf 1", "Circular Quay")),
    ]
)


def chosen(where, name):
    found = select(DOMAIN, where=conditions_of(where), by=(), merged={})
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
    ],
)
def test_words_mean_labels(text, name, meant):
    assert chosen(text, name) == meant


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("mod=ferry", r"a dimension must be one of mode, date, time, stop, got 'mod'. Did you mean 'mode'\?"),
        ("mode=fery", r"mode has no 'fery'; it has train, ferry. Did you mean 'ferry'\?"),
        ("mode=train..ferry", r"mode is a list of names.*Write mode=A\|B for several. It has train, ferry."),
        ("time=06:05..07:00", r"a part of time '06:00', which is published only as a whole"),
        ("time=26:00..27:00", r"a range of time looks like 06:00..09:00, got '26:00..27:00'"),
        ("date=2016-08-01..2016-08-02", r"no date lies in .* it runs from 2016-07-25 to 2016-07-27"),
        ("date=2016-07-27..2016-07-25", r"a range of date looks like"),
        ("ferry", r"a condition looks like mode=ferry or time=06:00..09:00, got 'ferry'"),
        ("mode=", r"a condition looks like"),
        ("mode=ferry,mode=train", r"mode has two conditions; write mode=A\|B"),
    ],
)
def test_what_cannot_be_meant_is_refused(text, sentence):
    with pytest.raises(SpecError, match=sentence):
        select(DOMAIN, where=conditions_of(text), by=(), merged={})


def test_by_names_each_dimension_once():
    with pytest.raises(SpecError, match="names each dimension once"):
        select(DOMAIN, where={}, by=("mode", "mode"), merged={})


def test_labels_say_what_they_are():
    assert [kind_of(d.labels) for d in DOMAIN.dimensions] == ["name", "day", "time", "name"]
    assert kind_of(("00:00-06:00", "06:00")) == "time"
