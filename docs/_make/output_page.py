"""The keys of `assessment.json` and the columns of `cells.parquet`, from an assessment that is made for it."""  # noqa: INP001

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from markdown import code, page, table
from output_meanings import CELLS, MEANINGS, VEHICLES

from noisegate.assessment import assess
from noisegate.laws import SeededNoise
from noisegate.releases import release
from noisegate.report import write_assessment
from noisegate.simulation import simulate
from noisegate.spec import QuestionBlock, load_spec

#: Blocks whose keys are told one by one; the keys of others are names of tables, groups or findings.
_OPENED = (
    "tables[]",
    "tables[].threshold",
    "tables[].noise",
    "tables[].link",
    "findings[]",
    "checks[]",
    "privacy",
    "inference",
    "score",
    "utility",
    "utility.questions[]",
    "services",
    "dropped",
    "weeks",
    "microdata",
)
_TABLES = ("time-loc", "time", "loc")
#: One question that is answered, and one that no table answers.
_WORKLOAD = {
    "by-mode": QuestionBlock(by="mode", top=2),
    "unasked": QuestionBlock(where={"mode": "ferry", "time": "06:07..06:08"}),
}
_NAMES = "First the dimensions, as text under their own names; one that is called like a column below gets a line after its name."
_CELLS = f"One row for each cell of the base that the published tables allow for, published or not. {_NAMES} Where counts are hidden or rounded but no noise is added there is no law: `lo` and `hi` are then what sums prove, at level 1, and the rest is null where they differ."
_VEHICLES = f"With `--gtfs`: one row for each possible cell that one vehicle alone can have filled. {_NAMES}"


def output_page() -> str:
    """`assessment.md`: what `noisegate assess --out DIR` writes."""
    contents, columns = _examples()
    keys = {"": _keys(contents, []), **{f"{place}.": _keys(contents, place.split(".")) for place in _OPENED}}
    _check(keys)
    parts = [
        (
            "`noisegate assess TABLE... --out DIR` writes `assessment.json`, `cells.parquet`, with a timetable "
            "`vehicles.parquet`, `report.html`, `report.md` and pictures. `--json FILE` writes the first of these alone. What is not known or was not asked for is null."
        ),
    ]
    for before, found in keys.items():
        title = f"### {before.removesuffix('.')}" if before else "## assessment.json"
        rows = [(code(key), MEANINGS[f"{before}{key}"]) for key in found]
        parts.append(f"{title}\n\n{table(('key', 'meaning'), rows)}")
    parts.append(f"## cells.parquet\n\n{_CELLS}\n\n{_columns(columns['cells.parquet'], CELLS)}")
    parts.append(f"## vehicles.parquet\n\n{_VEHICLES}\n\n{_columns(columns['vehicles.parquet'], VEHICLES)}")
    return page("Assessment output", "\n\n".join(parts))


def _check(keys: dict[str, list[str]], /) -> None:
    """Every key has a meaning, and every block is there."""
    gone = [place for place, found in keys.items() if not found]
    unknown = [f"{before}{key}" for before, found in keys.items() for key in found]
    unknown = [place for place in unknown if place not in MEANINGS]
    if gone or unknown:
        raise SystemExit(
            f"assessment.json has keys without a meaning in docs/_make/output_meanings.py: {unknown}; blocks gone: {gone}."
        )


def _examples() -> tuple[list[dict[str, Any]], dict[str, dict[str, str]]]:
    """Assessments of a release as in 2016, with all sections, and with the card; and the columns of its files."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        world = simulate(folder / "city", persons=60_000, days=1, seed=1)
        made, out = folder / "release", folder / "assessed"
        spec = load_spec(world.spec_2016).model_copy(update={"workload": _WORKLOAD})
        release(spec, out=made, ledger=folder / "ledger.db", entropy=SeededNoise(seed=1))
        tables = [made / f"{one}.csv" for one in _TABLES]
        raw = folder / "city" / "taps.parquet"
        with_card = [assess(tables, attacker=None, truth=truth).to_json() for truth in (raw, None)]
        (made / "card.json").unlink()
        found = assess(
            tables,
            gtfs=world.gtfs,
            truth=raw,
            person="card_id",
            attacker="minimal",
            weeks=2,
            claims=["ferry off dropped 1%"],
        )
        write_assessment(found, out)
        whole = found.to_json()
        schemas = {path.name: pq.read_schema(path) for path in sorted(out.glob("*.parquet"))}
        columns = {
            name: {field.name: _kind(field.type) for field in schema} for name, schema in schemas.items()
        }
        return [whole, *with_card], columns


def _keys(contents: list[dict[str, Any]], steps: list[str], /) -> list[str]:
    """Every key of the blocks at a place, in the order in which they are first met."""
    return list(dict.fromkeys(key for content in contents for block in _at(content, steps) for key in block))


def _at(value: Any, steps: list[str], /) -> Iterator[dict[str, Any]]:
    """Every block at a place; `name[]` stands for all that a list holds."""
    if not steps:
        if isinstance(value, dict):
            yield value
        return
    inner = value.get(steps[0].removesuffix("[]")) if isinstance(value, dict) else None
    for one in inner or [] if steps[0].endswith("[]") else [inner]:
        yield from _at(one, steps[1:])


def _columns(columns: dict[str, str], meanings: Mapping[str, str], /) -> str:
    """The columns after the dimensions, which have names of their own."""
    lost = [name for name in list(columns)[-len(meanings) :] if name not in meanings]
    if lost:
        raise SystemExit(f"columns without a meaning in docs/_make/output_meanings.py: {lost}.")
    rows = [(code(name), kind, meanings[name]) for name, kind in columns.items() if name in meanings]
    return table(("column", "type", "meaning"), rows)


def _kind(kind: Any, /) -> str:
    return {"int64": "whole number", "double": "number", "bool": "true or false"}.get(str(kind), "text")
