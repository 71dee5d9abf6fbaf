"""One card for all: what a release writes is what everybody reads, and nothing else is taken for a card."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisegate import limits
from noisegate.errors import DataError, SpecError
from noisegate.releases import make_card, make_plan
from noisegate.spec import parse_spec
from noisegate.tables import Card, StatedPayment, find_card, stated_payment

EVENT = {"unit": "event", "scale": "1.4", "law": "laplace", "unsafe": "true"}
SPECS = {
    "as-in-2016": {
        "privacy": {**EVENT, "zeros": "keep", "suppress": {"below": 18}, "margins": "independent"},
    },
    "derive": {"privacy": {"unit": "person-day", "max_cells": 4, "epsilon": "2", "margins": "derive"}},
    "reconcile": {
        "privacy": {
            "unit": "person-day",
            "max_cells": 4,
            "epsilon": "2",
            "margins": "reconcile",
            "suppress": {"spurious": "0.001"},
        },
        "workload": {
            "peak": {"where": {"time": "06:00..12:00"}, "by": "mode", "wanted": 5},
            "odd": {"where": {"time": "07:00..09:00", "stop": ["A", "B"]}, "by": ["stop"], "top": 2},
            "colours": {"by": "colour"},
        },
    },
    "gaussian": {
        "privacy": {
            "unit": "person",
            "max_cells": 3,
            "max_per_cell": 2,
            "epsilon": "1",
            "delta": "1e-6",
            "law": "discrete-gaussian",
            "margins": "derive",
        },
    },
    "merged": {
        "privacy": {"unit": "person-day", "max_cells": 4, "epsilon": "2", "margins": "derive"},
        "merge": [
            {"dimension": "time", "into": "night", "where": {"time": {"from": "18:00", "to": "06:00"}}}
        ],
        "group": {"region": {"mode": ["bus"]}},
    },
    "nested": {
        "privacy": {"unit": "person-day", "max_cells": 4, "epsilon": "2", "margins": "derive"},
        "only": {"mode": "mode"},
    },
}


@pytest.fixture(scope="module", params=SPECS)
def made(request, tmp_path_factory):
    """The spec of a release, and its card as it would be written."""
    folder = tmp_path_factory.mktemp("spec")
    rows = ["stop,mode,region", "A,train,north", "B,train,south", "C,bus,north", "D,bus,north"]
    (folder / "stops.csv").write_text("\n".join(rows) + "\n")
    shape = dict(SPECS[request.param])
    stop = {"column": "stop", "values": "stops.csv"}
    stop |= {"group_by": shape.pop("group")} if "group" in shape else {}
    stop |= {"only": shape.pop("only")} if "only" in shape else {}
    spec = parse_spec(
        {
            "name": request.param,
            "events": {"source": "taps.csv", "person": "card"},
            "dimensions": {
                "mode": {"column": "mode", "values": ["train", "bus"]},
                "date": {"column": "at", "from": "2016-07-25", "to": "2016-07-26"},
                "time": {"column": "at", "every": "6h"},
                "stop": stop,
                "colour": {"column": "colour", "values": ["red"]},
            },
            "tables": {"base": ["mode", "date", "time", "stop"], "time": ["mode", "date", "time"]},
            **shape,
        },
        folder=folder,
    )
    plan = make_plan(spec)
    rows = {table.name: table.cells // 2 for table in plan.tables}
    return spec, make_card(plan, rows=rows, dataset="taps", reservation="0" * 32, simulated=True)


def test_what_was_written_is_read_again(made, tmp_path):
    _, card = made
    octets = json.dumps(card.to_json(), allow_nan=False).encode()
    (tmp_path / "card.json").write_bytes(octets)
    for again in (Card.read(card.to_json()), Card.read(octets), Card.read(tmp_path / "card.json")):
        assert again == card
        assert json.dumps(again.to_json()) == json.dumps(card.to_json())
    assert Card.read(tmp_path / "card.json").path == tmp_path / "card.json"
    assert stated_payment(octets) == StatedPayment(dataset="taps", reservation="0" * 32)


def test_a_card_states_the_domain_cell_by_cell(made):
    spec, card = made
    domain = Card.read(card.to_json()).build_domain()
    assert domain.dimensions == spec.domain.dimensions
    assert domain.size == spec.domain.size == card.domain.cells
    cells = np.arange(domain.size)
    for ours, theirs in zip(domain.decode(cells), spec.domain.decode(cells), strict=True):
        assert (ours == theirs).all()
    values = np.array(np.meshgrid(*(np.arange(len(d.values)) for d in domain.dimensions))).reshape(4, -1)
    assert (domain.locate(*values) == spec.domain.locate(*values)).all()


def test_the_base_and_the_losses(made):
    spec, card = made
    assert card.base.name == spec.base
    assert card.unit == spec.privacy.unit
    assert (card.zeros, card.margins) == (spec.privacy.zeros, spec.privacy.margins)
    assert (card.person_events is None) == (card.unit != "event")
    assert card.person_epsilon >= card.event_epsilon > 0


@pytest.fixture(scope="module")
def document(made):
    return made[1].to_json()


def test_keys_of_other_versions_are_kept(document):
    newer = {**document, "version": 7, "seal": {"by": ["somebody"]}}
    card = Card.read(newer)
    assert (card.version, card.extra) == (7, {"seal": {"by": ["somebody"]}})
    assert card.to_json() == newer


@pytest.mark.parametrize(
    ("place", "value", "says"),
    [
        (("tables",), 3, "tables must be a block of keys, got 3"),
        (("privacy_unit",), None, r"it does not say how the tables were made \(privacy_unit is missing\)"),
        (("simulated",), "yes", "simulated must be true or false, got 'yes'"),
        (("tables", "base", "dimensions"), ["mode", 4], "tables.base.dimensions must be a list of texts"),
        (("tables", "base", "rows"), 1.5, "tables.base.rows must be a whole number, got 1.5"),
        (("tables", "base", "rows"), True, "tables.base.rows must be a whole number, got True"),
        (("tables", "base", "error", "level"), float("nan"), "error.level must be a finite number, got nan"),
        (("privacy_loss", "event", "epsilon"), "2", "event.epsilon must be a finite number, got '2'"),
        (("domain", "dimensions", "mode"), "train", "mode must be a list of texts, got 'train'"),
        (("unsafe",), [[1]], r"unsafe\[0\] must be a block of keys"),
        (("workload",), [{"name": "x"}], r"workload\[0\] is a question in another form"),
    ],
)
def test_what_is_no_card_is_refused_in_one_sentence(document, place, value, says):
    wrong = json.loads(json.dumps(document))
    inside = wrong
    for key in place[:-1]:
        inside = inside[key]
    inside[place[-1]] = value
    with pytest.raises(DataError, match=rf"^The card is not the card of a release: .*{says}"):
        Card.read(wrong)


def test_deep_and_large_files_are_refused(document):
    deep = []
    for _ in range(50):
        deep = [deep]
    with pytest.raises(DataError, match="deeper holds blocks in blocks, more than 12 deep"):
        Card.read({**document, "deeper": deep})
    with pytest.raises(DataError, match="The card is not JSON"):
        Card.read(b"[" * 200_000)
    with pytest.raises(DataError, match="it is no block of keys"):
        Card.read(b"[]")
    with limits.override(card_bytes=1 << 20), pytest.raises(DataError, match=r"(larger|longer) than 1 MiB"):
        Card.read(b" " * (2 << 20))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(data=st.data())
def test_any_damage_is_read_or_refused_and_never_a_fault(document, data):
    damaged = json.loads(json.dumps(document))
    inside = damaged
    while True:
        keys = list(inside) if isinstance(inside, dict) else list(range(len(inside)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(inside[key], dict | list) or not inside[key] or data.draw(st.booleans()):
            break
        inside = inside[key]
    inside[key] = data.draw(JSON)
    try:
        card = Card.read(damaged)
        again = Card.read(card.to_json())
    except DataError:
        return
    assert again == card
    try:
        card.build_domain()
    except SpecError:
        return


def test_cards_beside_tables(document, tmp_path):
    assert find_card(None, [tmp_path / "a.csv"]) is None
    (tmp_path / "card.json").write_text(json.dumps(document))
    assert find_card(None, [tmp_path / "a.csv", tmp_path / "b.csv"]) == Card.read(document)
    assert find_card(None, [tmp_path / "a.csv", tmp_path.parent / "b.csv"]) is None


@pytest.mark.parametrize("octets", [b"", b"[]", b"\xff", b'{"ledger": 3}', b'{"ledger": {"reservation": 4}}'])
def test_what_is_no_card_was_paid_by_nothing(octets):
    assert stated_payment(octets) == StatedPayment(dataset=None, reservation=None)


def test_a_nesting_without_combinations_is_refused(document):
    """Damage that the test above comes upon now and then."""
    damaged = json.loads(json.dumps(document))
    if "nesting" not in damaged["domain"]:
        pytest.skip("this card has no nested dimensions")
    damaged["domain"]["nesting"][0]["combinations"] = {}
    with pytest.raises(SpecError, match="no combination of"):
        Card.read(damaged).build_domain()
