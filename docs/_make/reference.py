"""Make docs/reference from the code: `python docs/_make/reference.py [--out DIR]`."""  # noqa: INP001 - a script

from __future__ import annotations

import argparse
from pathlib import Path

from command_pages import commands_page
from findings_page import findings_page
from index_page import index_page
from limits_page import limits_page
from output_page import output_page
from python_page import python_page
from spec_page import spec_page

_PAGES = {
    "README.md": index_page,
    "commands.md": commands_page,
    "release-spec.md": spec_page,
    "assessment.md": output_page,
    "findings.md": findings_page,
    "limits.md": limits_page,
    "python.md": python_page,
}


def write(folder: Path, /) -> None:
    """Write every page of the reference into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in _PAGES.items():
        (folder / name).write_text(make(), encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parents[1] / "reference")
    write(parser.parse_args().out)
