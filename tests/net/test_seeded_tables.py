"""Six releases of different shape: every figure of their cards, and every row under seeded noise.

The noise of a real release has no seed, and no option of the command line gives it one. Here the
operating system's generator is replaced for the length of a command, so that the tables hang on
the order in which noise is drawn. No unit has more cells than its bound: which cells are kept
hangs on the order in which threads hand persons over. Whoever changes that order on purpose writes `golden/tables`
anew; the cards must stay as they are, but for `rows` and `suppressed`.
"""

import json

import pytest

SHAPES = [
    "event-independent",
    "event-derive",
    "person-day-reconcile",
    "person-gaussian",
    "person-day-merged",
    "person-day-nested",
]


def test_these_are_all_shapes(town):
    assert sorted(SHAPES) == sorted(town.shapes)


@pytest.mark.parametrize("shape", SHAPES)
def test_card(hold, town, shape):
    """Domain, thresholds, losses, noise and predicted errors; all but what noise and chance decide."""
    card = json.loads((town.released(shape).folder / "card.json").read_text())
    del card["software"], card["published"], card["ledger"]["reservation"]
    for table in card["tables"].values():
        assert table.pop("rows") + table.pop("suppressed") == table["cells"]
    hold(f"cards/{shape}", card)


@pytest.mark.parametrize("shape", SHAPES)
def test_rows(hold_file, town, shape):
    made = town.released(shape)
    tables = sorted(made.folder.glob("*.csv"))
    assert len(tables) == 3
    for table in tables:
        hold_file(f"tables/{shape}/{table.name}", table)


def test_charges(hold, told, town):
    """What the ledger says was spent, exactly."""
    spent = {}
    for shape in SHAPES:
        (account,) = told("ledger", "show", "--ledger", town.released(shape).ledger).content["accounts"]
        spent[shape] = {key: account[key] for key in ("budget", "spent", "left")}
    hold("spent", spent)
