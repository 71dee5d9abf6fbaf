"""What a result shows of itself fits on one screen."""

import pytest

import noisegate


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shown")
    world = noisegate.simulate(folder / "town", days=2, persons=3000)
    release = noisegate.release(world.spec_2016, out=folder / "release", ledger=folder / "ledger.db")
    return {
        "world": world,
        "release": release,
        "tables": release.release,
        "table": release.release.base,
        "domain": release.release.domain,
        "structure": noisegate.read_tables(folder / "release"),
        "inference": noisegate.infer(folder / "release"),
        "assessment": noisegate.assess(folder / "release", attacker=None),
        "answers": release.answer(by=["mode", "time"]),
    }


@pytest.mark.parametrize(
    "name",
    ["world", "release", "tables", "table", "domain", "structure", "inference", "assessment", "answers"],
)
def test_a_repr_fits_on_one_screen(made, name):
    lines = repr(made[name]).splitlines()
    assert len(lines) <= 25
    assert sum(map(len, lines)) < 3000
