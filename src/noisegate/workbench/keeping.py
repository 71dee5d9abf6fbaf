"""The pages of one assessment as a single file that needs no server and no network: the built front end with its answers inside."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

from noisegate.assessment import CellState
from noisegate.workbench.desk import Opened
from noisegate.workbench.jobs import Say

#: Maps and close looks that go into a file: it should still fit into a mail.
_MAPS, _LOOKS = 14, 16
#: With more witnesses than this, only one at a time is switched off.
_FEW = 3
_NOTHING_ELSE = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; font-src data:; img-src data: blob:"


def keep(opened: Opened, pages: Mapping[str, Any], assets: Mapping[str, bytes], say: Say, /) -> bytes:
    """One HTML file with the front end, the twins of these pages by address, maps, and close looks at the sharpest holes."""
    kept: dict[str, Any] = {"pages": dict(pages), "maps": [], "looks": {}}
    if opened.assessment.inference is not None:
        kept["maps"] = list(_maps(opened, pages, say))
        kept["looks"] = dict(_looks(opened, say))
    say("putting it together")
    return _whole(json.dumps(kept, ensure_ascii=True, allow_nan=False), assets).encode()


def _maps(opened: Opened, pages: Mapping[str, Any], say: Say, /) -> Iterator[dict[str, Any]]:
    """The map that opens first, then those of the other values that are held, one dimension at a time."""
    about = next(one for one in pages.values() if "case" in one)
    said = {name: about[name] for name in ("case", "timetable", "known", "noise")}
    first = opened.microscope({})
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
    holes = [_at(opened, cell) for cell in opened.map.sharpest[:_LOOKS]]
    distinct = {json.dumps(view, sort_keys=True): view for view in [*holes, *views]}
    distinct.pop(
        json.dumps({f"at.{name}": label for name, label in first["view"]["at"].items()}, sort_keys=True), None
    )
    for k, view in enumerate(list(distinct.values())[: _MAPS - 1]):
        say(f"map {k + 2} of {min(len(distinct) + 1, _MAPS)}")
        yield {**opened.microscope(view), **said}


def _at(opened: Opened, cell: int, /) -> dict[str, str]:
    view = opened.map.view({"cell": str(cell)})
    return {f"at.{name}": label for name, label in view.at.items()}


def _looks(opened: Opened, say: Say, /) -> Iterator[tuple[str, dict[str, Any]]]:
    """Close looks at the sharpest holes, with every witness and with some of them switched off."""
    first = opened.map.first(opened.map.view({}))
    cells = list(dict.fromkeys([*([] if first is None else [first]), *opened.map.sharpest[:_LOOKS]]))
    for k, cell in enumerate(cells):
        say(f"close look {k + 1} of {len(cells)}")
        names = [one.name for one in opened.look(cell, []).witnesses]
        most = len(names) if len(names) <= _FEW else 1
        for gone in (some for size in range(most + 1) for some in combinations(sorted(names), size)):
            look = opened.look(cell, list(gone))
            assert look.state is not CellState.IMPOSSIBLE or not look.witnesses
            yield f"{cell}|{'|'.join(gone)}", look.to_json()


def _whole(data: str, assets: Mapping[str, bytes], /) -> str:
    """The front end in one file; no text of a table can end the script that holds it."""
    style = re.sub(
        r"url\((?:\"|')?/?(?:assets/|\./)?([\w.-]+\.woff2)(?:\"|')?\)",
        lambda found: (
            f"url(data:font/woff2;base64,{base64.b64encode(assets['assets/' + found.group(1)]).decode()})"
        ),
        assets["assets/index.css"].decode(),
    )
    script = (
        assets["assets/workbench.js"].decode().replace("</script", "<\\/script").replace("<!--", "<\\!--")
    )
    safe = data.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="content-security-policy" content="{_NOTHING_ELSE}">'
        f"<title>noisegate</title><style>{style}</style></head>"
        f'<body><div id="app"></div><script type="application/json" id="noisegate-kept">{safe}</script>'
        f'<script type="module">{script}</script></body></html>\n'
    )
