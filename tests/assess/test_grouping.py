"""Many findings of one kind are two, and nothing is lost."""

import numpy as np

from noisegate import assessment as package
from noisegate.report import page_of


def census(path, tables, *, holes):
    """So many measures side by side, each with sums that give hidden counts away."""
    rng = np.random.default_rng(8)
    lines = ["place,group," + ",".join(f"cases {k}" for k in range(tables))]
    for place in range(12):
        counts = rng.integers(8, 60, size=(3, tables))
        counts[rng.integers(3), : holes if place < 6 else 0] = 3
        for group, row in enumerate([*counts, counts.sum(axis=0)]):
            name = ("young", "old", "older", "Total")[group]
            shown = ["<5" if 0 < count < 5 else str(count) for count in row.tolist()]
            lines.append(f"p{place},{name}," + ",".join(shown))
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_findings_of_many_measures_are_grouped(tmp_path):
    found = package.assess([census(tmp_path / "t.csv", 6, holes=6)], attacker=None)
    exact = [one for one in found.findings if one.id == "known-exactly"]
    assert len(exact) == 2
    first, rest = exact
    assert first.numbers["cells"] == 6
    assert rest.title.startswith("In 5 more tables 30 of 30 counts are known exactly as well")
    assert rest.numbers["findings"] == len(rest.numbers["members"]) == 5
    assert rest.severity == first.severity
    # Every cell with its proof is there.
    cells = [cell for one in rest.numbers["members"] for cell in one["numbers"]["listed"]]
    assert len(cells) == 30
    assert all(cell["low"] == cell["high"] == 3 and cell["proof"] for cell in cells)
    assert found.to_json()["findings"][found.findings.index(rest)]["numbers"]["findings"] == 5


def test_few_findings_stand_by_themselves(tmp_path):
    found = package.assess([census(tmp_path / "t.csv", 3, holes=3)], attacker=None)
    assert [one.numbers["cells"] for one in found.findings if one.id == "known-exactly"] == [6, 6, 6]


def test_a_reader_finds_every_cell_whether_its_finding_was_grouped_or_not(tmp_path):
    for many in (3, 6):
        found = package.assess([census(tmp_path / "t.csv", many, holes=many)], attacker=None)
        every = found.numbers("known-exactly")
        assert len(every) == many
        assert sum(len(one["listed"]) for one in every) == 6 * many
    assert found.numbers("presence") == []


def test_the_title_of_a_report_names_a_few_tables_and_says_how_many_more(tmp_path):
    """A workbook of 55 sheets has 951 tables, and the report began with three pages of their names."""
    found = package.assess([census(tmp_path / "t.csv", 6, holes=0)], attacker=None)
    about = page_of(found).about
    assert about.startswith(f"{len(found.tables)} tables: ")
    assert len(about) < 200
    assert "more" in about
