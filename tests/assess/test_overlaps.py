"""Tables that overlap without one containing the other: their common sums bound hidden cells, if both count the same."""

import numpy as np
import pytest

import noisegate

MODES = ("bus", "ferry", "train", "tram", "coach", "metro", "taxi")


def write(folder, name, header, rows):
    path = folder / name
    path.write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


@pytest.fixture
def world(tmp_path):
    """Hours by mode with two hidden cells of one mode; origins by mode with one. Sums by mode are in neither."""

    def to(*, extra=0):
        rng = np.random.default_rng(3)
        hours = rng.integers(20, 90, (5, 7))
        hours[0, 1], hours[2, 2] = 3, 2
        places = np.zeros((6, 7), int)
        for k in range(7):
            cuts = np.sort(rng.choice(np.arange(12, hours[:, k].sum() - 12), 5, replace=False))
            places[:, k] = np.diff([0, *cuts, hours[:, k].sum()])
        places[0] += extra
        hid = lambda count: "<5" if 0 < count < 5 else count  # noqa: E731
        one = [(f"{7 + h:02d}:00", m, hid(hours[h, k])) for h in range(5) for k, m in enumerate(MODES)]
        other = [(f"place {p}", m, places[p, k]) for p in range(6) for k, m in enumerate(MODES)]
        return (
            write(tmp_path, "hours.csv", "time,mode,count", one),
            write(tmp_path, "places.csv", "origin,mode,count", other),
        )

    return to


def outcome(found):
    checks = [*found.checks, *(check for one in found.beside for check in one.checks)]
    return [check for check in checks if check.id == "overlap"]


def test_a_table_that_overlaps_gives_hidden_cells_away(world):
    found = noisegate.assess(world(), attacker=None)
    (finding,) = [one for one in found.findings if one.id == "known-exactly"]
    cells = {(one["time"], one["mode"]): one["low"] for one in finding.numbers["listed"]}
    assert cells == {("07:00", "ferry"): 3, ("09:00", "train"): 2}
    assert "by places" in finding.numbers["listed"][0]["proof"][0]
    check, *_ = [one for one in outcome(found) if one.outcome == "known"]
    assert check.numbers["agreed"] == 5
    assert any("agree exactly" in text for text in finding.assumptions)


def test_tables_that_do_not_count_the_same_prove_nothing(world):
    found = noisegate.assess(world(extra=5), attacker=None)
    assert not [one for one in found.findings if one.id == "known-exactly"]
    assert all(one.outcome != "known" for one in outcome(found))
