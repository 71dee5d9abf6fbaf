"""The file behind --spec: what it may say, and what happens when it says something else."""

from pathlib import Path

import pytest

from noisegate.errors import SpecError
from noisegate.reading import TableOverride, load_overrides, parse_overrides
from noisegate.tables import Kind

WHOLE = """
tables:
  time-loc.csv:
    count: n
    base: true
    ignore: [note]
    missing: ["-1", UNKNOWN]
    delimiter: ";"
    encoding: latin-1
    threshold: {value: 18, rule: gt, cut: before}
    dimensions:
      tap_date: {as: date, kind: date, format: "%d/%m/%Y"}
      stop: {as: location, total: All stops}
      hour: {every: 1h}
  other: {threshold: none, columns: [a, b]}
domain:
  location: [Manly Wharf, 2000]
  date: [2016-08-08]
"""


def test_everything_that_can_be_said(write):
    told = load_overrides(write("spec.yaml", WHOLE))
    table = told.of(Path("somewhere/time-loc.csv"))
    assert (table.count, table.base, table.ignore, table.missing) == ("n", True, ("note",), ("-1", "UNKNOWN"))
    assert (table.delimiter, table.encoding) == (";", "latin-1")
    assert (table.threshold.value, table.threshold.rule, table.threshold.cut) == (18, "gt", "before")
    date = table.dimensions["tap_date"]
    assert (date.name, date.kind, date.pattern) == ("date", Kind.DATE, "%d/%m/%Y")
    assert table.dimensions["stop"].total == "All stops"
    assert table.dimensions["hour"].step == 60
    other = told.of(Path("other.csv.gz"))
    assert (other.threshold.value, other.columns) == (None, ("a", "b"))
    assert told.domain == {"location": ("Manly Wharf", "2000"), "date": ("2016-08-08",)}
    assert told.of(Path("third.csv")) == TableOverride()


def test_an_empty_file_says_nothing(write):
    assert load_overrides(write("spec.yaml", "# later\n")).tables == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tables: [a]", "'tables' must be a list of 'name: value' lines, got list"),
        (
            "tabels: {}",
            r"a setting of the spec must be one of tables, domain, got 'tabels'. Did you mean 'tables'\?",
        ),
        ("tables: {a: {cuont: n}}", r"a setting of table a must be one of count, .*Did you mean 'count'\?"),
        ("tables: {a: {base: 1}}", "base of table a must be true or false, got 1"),
        ("tables: {a: {delimiter: ',,'}}", "delimiter of table a must be one character, got ',,'"),
        ("tables: {a: {count: 7}}", r"count of table a must be text, got 7. Put it in quotes"),
        ("tables: {a: {ignore: note}}", "ignore of table a must be a list, got 'note'"),
        (
            "tables: {a: {missing: [on]}}",
            r"an entry of missing of table a must be text, got True. Put it in quotes",
        ),
        (
            "tables: {a: {threshold: {value: -1}}}",
            "threshold value of table a must be a number of at least 0, got -1",
        ),
        (
            "tables: {a: {threshold: {value: 5, rule: get}}}",
            r"must be one of ge, gt, got 'get'. Did you mean 'gt",
        ),
        (
            "tables: {a: {threshold: {value: 5, cut: late}}}",
            "threshold cut of table a must be one of before, after",
        ),
        (
            "tables: {a: {dimensions: {d: {kind: dat}}}}",
            r"kind of dimension d of table a .*Did you mean 'date'\?",
        ),
        ("tables: {a: {dimensions: {d: {frmt: x}}}}", "a setting of dimension d of table a must be one of"),
        ("tables: {a: {dimensions: {d: {every: 7min}}}}", "a part of a day such as 15min or 1h, got '7min'"),
        ("tables: {a: {dimensions: {d: {every: 15}}}}", "a part of a day such as 15min or 1h, got 15"),
        ("domain: {tap: [on, off]}", "an entry of domain of tap must be text, got True"),
        ("tables: {a: [", r"line \d: this is not YAML"),
        ("a\n\tb: c", "is not YAML"),
        ("\x00", "is not YAML"),
    ],
)
def test_one_sentence(write, text, words):
    with pytest.raises(SpecError, match=words):
        load_overrides(write("spec.yaml", text))


def test_files_that_cannot_be_read(tmp_path, write):
    with pytest.raises(SpecError, match=r"does not exist|not a regular file|cannot be read"):
        load_overrides(tmp_path / "missing.yaml")
    with pytest.raises(SpecError, match=r"does not exist|not a regular file|cannot be read"):
        load_overrides(tmp_path)
    with pytest.raises(SpecError, match=r"longer than 1 MiB"):
        load_overrides(write("spec.yaml", "#" * (1 << 21)))


def test_a_document_that_unfolds_without_end_is_harmless(write):
    bomb = "a: &a [x, x]\n" + "".join(
        f"{b}: &{b} [*{a}, *{a}, *{a}, *{a}]\n"
        for a, b in zip("abcdefghijklmnop", "bcdefghijklmnopq", strict=True)
    )
    with pytest.raises(SpecError) as caught:
        load_overrides(write("spec.yaml", bomb + "domain: {loc: [*q]}\n"))
    assert len(str(caught.value)) < 300


def test_documents_need_not_come_from_files():
    assert parse_overrides({"tables": {"a": {"count": "n"}}}).of(Path("a.parquet")).count == "n"
