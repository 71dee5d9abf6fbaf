"""The part of a report that can be used: the pages of the workbench with a few maps and close looks inside, in the same file.

The pages come built (`frontend/`), and lie with the workbench, which serves them. Here they stand in a corner of the document of their own,
so that no rule of theirs reaches the report. The policy of the page names the one script by its digest: no other runs.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import combinations
from typing import Any

from noisegate.assessment import Assessment, CloseLook
from noisegate.report.maps import CellMap, inferred_map

Show = Callable[[Mapping[str, str]], dict[str, Any]]
Look = Callable[[int, list[str]], CloseLook]
Say = Callable[[str], None]

#: With more witnesses than this, only one at a time is switched off.
_FEW = 3
#: What a report holds: maps, close looks, and cells that are solved for these; beyond, it holds fewer looks.
_MAPS, _LOOKS, _SOLVED = 3, 6, 40_000
#: A map of more cells than this would make the file too large for a mail.
_MAP_CELLS = 250_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """What the page holds beside the report: data as JSON, the script and its digest, and the style sheet. None of it can end its element."""

    data: str
    script: str
    style: str

    @property
    def digest(self) -> str:
        """What the policy of the page calls the script."""
        found = hashlib.sha256(self.script.encode()).digest()
        return f"sha256-{base64.b64encode(found).decode()}"


def live_of(assessment: Assessment, /) -> Live | None:
    """The pages of an assessment whose cells were worked out; None for any other."""
    if assessment.inference is None or assessment.inference.cells.size > _MAP_CELLS * _MAPS:
        return None
    cells = inferred_map(assessment.inference)
    level = cells.facts.level
    tables = [one.to_json(level=level) for one in assessment.tables]
    said = {"case": _case(assessment), "timetable": assessment.vehicles is not None, "known": 0, "noise": ""}
    pages: dict[str, Any] = {
        "/start.json": {
            "folder": assessment.tables[0].summary.name,
            "custodian": False,
            "dial": {"timetable": False, "known": 0},
            "cases": [{**_case(assessment), "open": True, "signed": ""}],
        },
        "/r/report/noise.json": {"tables": tables, "level": level, **said},
    }
    if assessment.weeks is not None:
        weeks = finite(assessment.weeks.to_json())
        pages["/r/report/weeks.json"] = {"weeks": weeks, "why": "", "trips": 1, "sure": [], **said}

    def look(cell: int, without: list[str]) -> CloseLook:
        return cells.microscope.look(cell, without=without)

    kept = {
        "pages": pages,
        "maps": list(embedded_maps(cells, said, show=cells.to_json, most=_MAPS)),
        "looks": dict(embedded_looks(cells, look=look, most=_LOOKS, solved=_SOLVED)),
    }
    built = built_pages()
    return Live(data=as_data(kept), script=as_script(built), style=_sheet(built))


def _case(assessment: Assessment, /) -> dict[str, Any]:
    return {
        "id": "report",
        "name": assessment.tables[0].summary.name,
        "files": [one.summary.name for one in assessment.tables],
        "card": False,
        "timetable": False,
        "uploaded": False,
    }


def embedded_maps(
    cells: CellMap, said: Mapping[str, Any], /, *, show: Show, most: int, say: Say = lambda _: None
) -> Iterator[dict[str, Any]]:
    """The map that opens first, those of the sharpest holes, then those of other values that are held, one dimension at a time."""
    first = show({})
    yield {**first, **said}
    views = [
        {
            **{f"at.{name}": label for name, label in first["view"]["at"].items()},
            f"at.{one['name']}": value["label"],
        }
        for one in first["filters"]
        for value in one["values"]
        if value["label"] != one["at"]
    ]
    holes = [_at(cells, cell) for cell in cells.sharpest[:most]]
    distinct = {json.dumps(view, sort_keys=True): view for view in [*holes, *views]}
    distinct.pop(
        json.dumps({f"at.{name}": label for name, label in first["view"]["at"].items()}, sort_keys=True), None
    )
    for k, view in enumerate(list(distinct.values())[: most - 1]):
        say(f"map {k + 2} of {min(len(distinct) + 1, most)}")
        yield {**show(view), **said}


def _at(cells: CellMap, cell: int, /) -> dict[str, str]:
    view = cells.view({"cell": str(cell)})
    return {f"at.{name}": label for name, label in view.at.items()}


def embedded_looks(
    cells: CellMap, /, *, look: Look, most: int, solved: int | None = None, say: Say = lambda _: None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Close looks at the sharpest holes, with every witness and with some of them switched off; no more once so many cells were solved."""
    first = cells.first(cells.view({}))
    wanted = list(dict.fromkeys([*([] if first is None else [first]), *cells.sharpest[:most]]))
    spent = 0
    for k, cell in enumerate(wanted):
        if solved is not None and spent > solved:
            return
        say(f"close look {k + 1} of {len(wanted)}")
        names = [one.name for one in look(cell, []).witnesses]
        together = len(names) if len(names) <= _FEW else 1
        for gone in (some for size in range(together + 1) for some in combinations(sorted(names), size)):
            found = look(cell, list(gone))
            spent += found.neighbours
            yield f"{cell}|{'|'.join(gone)}", found.to_json()


@cache
def built_pages() -> dict[str, str]:
    """The built script and style sheet; empty texts where they are not built, so that a report is written all the same."""
    top = resources.files("noisegate").joinpath("workbench", "static", "assets")
    files = {"script": top.joinpath("workbench.js"), "style": top.joinpath("index.css")}
    return {name: one.read_text(encoding="utf-8") if one.is_file() else "" for name, one in files.items()}


def as_script(built: Mapping[str, str], /) -> str:
    """The script as it can stand in a page."""
    return built["script"].replace("</script", "<\\/script").replace("<!--", "<\\!--")


def as_data(content: Any, /) -> str:
    """JSON as it can stand in a page: no text of a table can end the element that holds it."""
    text = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _sheet(built: Mapping[str, str], /) -> str:
    """The style sheet for a corner of a document: its root is the host, and it brings no fonts, which none can load there."""
    plain = re.sub(r"@font-face\s*\{[^}]*\}", "", built["style"])
    plain = re.sub(r":root\[data-theme=\"?dark\"?\]", ':host([data-theme="dark"])', plain).replace(
        ":root", ":host"
    )
    plain = re.sub(r"(^|[}\s])body\s*\{", r"\1:host{display:block;", plain)
    return f"{plain}:host{{background:none}}".replace("</style", "<\\/style")


def finite(value: Any, /) -> Any:
    """The same with None for what has no bound."""
    if isinstance(value, dict):
        return {key: finite(one) for key, one in value.items()}
    if isinstance(value, list):
        return [finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
