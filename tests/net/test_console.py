"""The titles of columns and of sections that the commands print at 80 columns."""

import re

import pytest

#: First titles of the grids that are printed without lines.
FIRST = ("table", "question")


def titles(said):
    """Titles of columns, and headings with a line behind them, in their order; widths hang on values."""
    lines = said.splitlines()
    found = []
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        boxed, ruled = line.startswith("┃"), set(below.strip()) == {"─"}
        heading = re.fullmatch(r"(\S.*\S) ─+", line)
        if heading:
            found.append(heading[1])
        elif boxed or ruled or re.match(rf"({'|'.join(FIRST)})  +\S", line):
            assert len(line) <= 80
            found.append(re.split(r" *┃ *" if boxed else r" {2,}", line.strip("┃ ")))
    assert found
    return found


@pytest.mark.parametrize(
    "command", [("mechanism", "--law", "laplace", "--threshold", 18), ("reproduce",)], ids=lambda one: one[0]
)
def test_figures(hold, told, command):
    hold(f"console/{command[0]}", titles(told(*command).said))


def test_simulate(hold, city):
    hold("console/simulate", titles(city.said))


@pytest.mark.parametrize("shape", ["event-independent", "person-day-reconcile"])
def test_release(hold, town, shape):
    hold(f"console/release-{shape}", titles(town.released(shape).said))


def test_plan(hold, told, town):
    spec = town.released("person-day-reconcile").spec
    hold("console/plan", titles(told("release", spec, "--plan", "--error", 10).said))


@pytest.mark.parametrize(
    ("name", "question"),
    [
        ("all", ()),
        ("by", ("--where", "time=07:00..09:00", "--by", "mode,stop", "--top", 3)),
        ("workload", ("--workload",)),
    ],
)
def test_query(hold, told, town, name, question):
    folder = town.released("person-day-reconcile").folder
    hold(f"console/query-{name}", titles(told("query", folder, *question).said))


def test_ledger(hold, told, town):
    ledger = town.released("person-day-nested").ledger
    hold("console/ledger-show", titles(told("ledger", "show", "--ledger", ledger).said))
    hold("console/ledger-show-one", titles(told("ledger", "show", "town", "--ledger", ledger).said))


@pytest.mark.parametrize("world", ["linked", "exact", "as-in-2016"])
def test_assess(hold, published, world):
    hold(f"console/assess-{world}", titles(published(world).said))


@pytest.mark.parametrize("which", ["truth", "gtfs", "weeks"])
def test_assess_a_city(hold, city_assessed, which):
    hold(f"console/assess-city-{which}", titles(city_assessed(which).said))
