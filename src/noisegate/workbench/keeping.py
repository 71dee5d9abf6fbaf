"""The pages of one assessment as a single file that needs no server and no network: the built front end with its answers inside."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any

from noisegate.report import as_data, as_script, embedded_looks, embedded_maps
from noisegate.workbench.desk import Opened
from noisegate.workbench.jobs import Say

#: Maps and close looks that go into a file: it should still fit into a mail.
_MAPS, _LOOKS = 14, 16
_NOTHING_ELSE = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; font-src data:; img-src data: blob:"


def keep(opened: Opened, pages: Mapping[str, Any], assets: Mapping[str, bytes], say: Say, /) -> bytes:
    """One HTML file with the front end, the twins of these pages by address, maps, and close looks at the sharpest holes."""
    kept: dict[str, Any] = {"pages": dict(pages), "maps": [], "looks": {}}
    if opened.mapped:
        about = next(one for one in pages.values() if "case" in one)
        said = {name: about[name] for name in ("case", "timetable", "known", "noise")}
        kept["maps"] = list(embedded_maps(opened.map, said, show=opened.microscope, most=_MAPS, say=say))
        kept["looks"] = dict(embedded_looks(opened.map, look=opened.look, most=_LOOKS, say=say))
    say("putting it together")
    return _whole(as_data(kept), assets).encode()


def _whole(data: str, assets: Mapping[str, bytes], /) -> str:
    """The front end in one file; no text of a table can end the script that holds it."""
    style = re.sub(
        r"url\((?:\"|')?/?(?:assets/|\./)?([\w.-]+\.woff2)(?:\"|')?\)",
        lambda found: (
            f"url(data:font/woff2;base64,{base64.b64encode(assets['assets/' + found.group(1)]).decode()})"
        ),
        assets["assets/index.css"].decode(),
    )
    script = as_script({"script": assets["assets/workbench.js"].decode()})
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="content-security-policy" content="{_NOTHING_ELSE}">'
        f"<title>noisegate</title><style>{style}</style></head>"
        f'<body><div id="app"></div><script type="application/json" id="noisegate-kept">{data}</script>'
        f'<script type="module">{script}</script></body></html>\n'
    )
