"""The programme behind exact bounds, as others read it: HiGHS finds the same bounds in it, and the JJ format says what it must."""

import itertools
import re

import numpy as np
import pytest

import noisegate as ng
from noisegate.inference import ENDLESS
from noisegate.report import Programme, programme_text

highspy = pytest.importorskip("highspy")


@pytest.fixture(scope="module")
def assessed(tmp_path_factory):
    """Three dimensions with all margins, small counts hidden in every table."""
    rng = np.random.default_rng(4)
    counts = rng.poisson(4, (3, 4, 3))
    names = [["a", "b", "c"], ["p", "q", "r", "s"], ["x", "y", "z"]]
    folder = tmp_path_factory.mktemp("programme")
    rows = ["area,band,sex,count"]
    for kept in itertools.product([True, False], repeat=3):
        summed = counts.sum(axis=tuple(k for k in range(3) if not kept[k]), keepdims=True)
        for place in np.ndindex(summed.shape):
            labels = [names[k][place[k]] if kept[k] else "total" for k in range(3)]
            value = int(summed[place])
            rows.append(",".join([*labels, "<5" if value < 5 else str(value)]))
    (folder / "table.csv").write_text("\n".join(rows) + "\n")
    found = ng.assess(folder / "table.csv", attacker=None)
    assert found.known_counts is not None
    return found


@pytest.mark.parametrize("form", ["lp", "mps"])
def test_another_reader_finds_the_same_bounds(assessed, tmp_path, form):
    known = assessed.known_counts
    programme = Programme.of(known)
    path = tmp_path / f"programme.{form}"
    path.write_text(programme_text(assessed, form))
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    assert solver.readModel(str(path)) == highspy.HighsStatus.kOk
    model = solver.getLp()
    order = [int(name[1:]) for name in model.col_names_]
    assert sorted(order) == list(range(len(programme.names)))
    assert model.num_row_ == len(programme.equations)
    ranges = np.array([model.col_lower_, model.col_upper_])[:, np.argsort(order)]
    assert ranges[0].tolist() == programme.low.tolist()
    assert np.minimum(ranges[1], ENDLESS).tolist() == programme.high.tolist()
    opened = np.flatnonzero(programme.low < programme.high)
    assert opened.size > 5
    cost = np.zeros(len(order))
    for cell in opened.tolist():
        column = order.index(cell)
        ends = []
        for sign in (1.0, -1.0):
            cost[:] = 0.0
            cost[column] = sign
            solver.changeColsCost(len(order), np.arange(len(order), dtype=np.int32), cost)
            solver.run()
            assert solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
            ends.append(round(sign * solver.getInfo().objective_function_value))
        number = programme.numbers[cell]
        assert ends == [known.bounds.low[number], known.bounds.high[number]]


def test_the_jj_format_holds_the_same_programme(assessed):
    programme = Programme.of(assessed.known_counts)
    head, size, *lines = programme_text(assessed, "jj").splitlines()
    assert head == "0"
    cells = [line.split() for line in lines[: int(size)]]
    assert [int(line[0]) for line in cells] == list(range(int(size)))
    assert all(len(line) == 9 for line in cells)
    value = np.array([int(line[1]) for line in cells])
    hidden = np.array([line[3] == "u" for line in cells])
    assert {line[3] for line in cells} == {"u", "s"}
    assert (hidden == (programme.low < programme.high)).all()
    low, high = (np.array([int(line[k]) for line in cells]) for k in (4, 5))
    assert ((low <= value) & (value <= high)).all()
    assert (value[~hidden] == programme.low[~hidden]).all()
    rest = lines[int(size) :]
    assert int(rest[0]) == len(rest) - 1 == len(programme.equations)
    for line in rest[1:]:
        right, terms, colon, *parts = line.split()
        assert colon == ":"
        assert int(terms) == len(parts)
        pairs = [re.fullmatch(r"(\d+)\((-?1)\)", part).groups() for part in parts]
        assert sum(value[int(cell)] * int(sign) for cell, sign in pairs) == float(right)


def test_no_hidden_count_stands_in_a_file(assessed):
    """What was hidden is what nobody but the custodian knows: a file has ranges and one solution of many."""
    programme = Programme.of(assessed.known_counts)
    assert (programme.high[programme.low < programme.high] <= ENDLESS).all()
    text = programme_text(assessed, "lp")
    for cell in np.flatnonzero(programme.low < programme.high).tolist():
        assert f" x{cell} = " not in text


def test_the_command_writes_it(noisegate, tmp_path):
    table = tmp_path / "table.csv"
    table.write_text(
        "area,sex,count\nA,m,15\nA,f,17\nA,total,32\nB,m,11\nB,f,<5\nB,total,14\nC,m,<5\nC,f,20\nC,total,22\n"
    )
    out = tmp_path / "counts.lp"
    code, _, err = noisegate("assess", table, "--quiet", "--attacker", "none", "--programme", out)
    assert (code, err) == (0, "")
    assert out.read_text().startswith("\\ Counts")
    code, _, err = noisegate("assess", table, "--quiet", "--programme", tmp_path / "counts.txt")
    assert code == 2
    assert ".lp" in err
    (tmp_path / "open.csv").write_text("area,count\nA,5\nB,7\n")
    code, _, err = noisegate("assess", tmp_path / "open.csv", "--quiet", "--programme", tmp_path / "none.lp")
    assert code == 2
    assert "no programme" in err
