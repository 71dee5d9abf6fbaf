"""The map of the reference."""  # noqa: INP001 - a folder of scripts

from __future__ import annotations

from markdown import page

_BODY = """\
What stands here is made from the code by `make docs`, and a test holds it equal to the code.

- [Commands](commands.md): every command, option and default
- [Release spec](release-spec.md): every key of the file that `noisegate release` reads
- [Assessment output](assessment.md): `assessment.json` and `cells.parquet`
- [Findings and checks](findings.md): what each id means
- [Limits](limits.md): how much of anything is held before the tool refuses
- [Python](python.md): the public names
"""


def index_page() -> str:
    """`README.md` of the reference."""
    return page("Reference", _BODY)
