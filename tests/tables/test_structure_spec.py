"""What a person states about tables decides where the tables alone would have to guess."""

import pytest

from noisegate.errors import SpecError
from noisegate.reading import find_structure, parse_overrides, read_table


def test_the_spec_says_which_column_is_which(write):
    first = write("first.csv", "origin,destination,count\na,b,40\nb,a,50\nb,c,60\nc,b,61\nc,a,62\na,c,66\n")
    second = write("second.csv", "loc,count\na,90\nb,99\nc,95\n")
    told = parse_overrides({"tables": {"second.csv": {"dimensions": {"loc": {"as": "destination"}}}}})
    structure = find_structure([read_table(path, overrides=told) for path in (first, second)], overrides=told)
    assert structure.links[0].summed == ("origin",)


def test_the_spec_decides_base_domain_and_threshold(week_files):
    told = parse_overrides(
        {
            "tables": {
                "time-loc": {"base": True, "threshold": {"value": 17, "rule": "gt"}},
                "loc": {"threshold": "none"},
            },
            "domain": {"loc": ["Ferry stop 99"], "date": ["2016-08-15"]},
        }
    )
    tables = [read_table(week_files[name], overrides=told) for name in ("loc", "time-loc")]
    structure = find_structure(tables, overrides=told)
    assert (structure.base.threshold.value, structure.base.threshold.rule) == (17, "gt")
    assert structure.links[0].margin.threshold.value is None
    # A declared stop may belong to any mode; a declared day is one more day.
    assert structure.base.shape == (25 + 3, 8, 2, 72)
    assert "Ferry stop 99" in structure.base.dimensions[1].labels


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (
            {"tables": {"time-lok": {}}},
            r"must be one of time-loc.csv, got 'time-lok'. Did you mean 'time-loc.csv'\?",
        ),
        ({"domain": {"locc": ["a"]}}, r"a dimension under 'domain' must be one of .* Did you mean 'loc'\?"),
    ],
)
def test_a_spec_about_other_tables_is_refused(week_files, document, words):
    with pytest.raises(SpecError, match=words):
        find_structure([read_table(week_files["time-loc"])], overrides=parse_overrides(document))


def test_two_bases_in_the_spec(week_files):
    told = parse_overrides({"tables": {"time-loc": {"base": True}, "loc": {"base": True}}})
    with pytest.raises(SpecError, match="more than one table the base"):
        find_structure(
            [read_table(week_files[n], overrides=told) for n in ("loc", "time-loc")], overrides=told
        )
