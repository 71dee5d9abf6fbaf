"""`noisegate demo`: the story so far on bundled data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from noisegate.cli.output import console
from noisegate.cli.reproduce import reproduce


def demo(
    *,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Where to write pictures.")] = None,
) -> None:
    """Recompute every figure of the 2017 report.

    The whole story (simulate, release as in 2016, assess, fix, assess again) is not in this
    version yet; until then the demo is 'noisegate reproduce'.

    Example: noisegate demo --out pictures
    """
    console.print("This version's demo recomputes every figure of the 2017 report (noisegate reproduce).\n")
    reproduce(out=out)
