"""The table of how often each mechanism is named, from the figures of `bench/mechanisms.py`.

`python docs/_make/mechanisms_table.py` reads bench/results/mechanisms.json, and writes the part of the page between its two marks.
"""  # noqa: INP001 - a script

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from markdown import table

ROOT = Path(__file__).resolve().parents[2]
FIGURES = ROOT / "bench" / "results" / "mechanisms.json"
PAGE = ROOT / "docs" / "explanation" / "noise-recovery.md"
BEGIN = "<!-- Made by docs/_make/mechanisms_table.py from bench/results/mechanisms.json. -->"
END = "<!-- End of what docs/_make/mechanisms_table.py makes. -->"


def tables(kept: Mapping[str, Any], /) -> str:
    """Both tables: kinds, and the ranges of markers."""
    kinds = [
        [
            one["regime"],
            f"{one['identities']:,}",
            str(one["worlds"]),
            str(one["named"]),
            str(one["told"]),
            str(one["epsilon_where_none_is"]),
            str(one["false_condition"]),
            str(one["leading"]),
        ]
        for one in kept["kinds"]
    ]
    heads = [
        "regime",
        "identities",
        "worlds",
        "kind of the base named",
        "all kinds right, or the truth among the rivals",
        "an epsilon, with its condition, where none is",
        "of these, with a condition that is false",
        "of these, that lead",
    ]
    markers = [[one["regime"], str(one["worlds"]), str(one["range_right"])] for one in kept["markers"]]
    ranges = [table(["marker", "worlds", "its range is right"], markers)] if markers else []
    parts = [BEGIN, table(heads, kinds), *ranges, END]
    return "\n\n".join(part.strip("\n") for part in parts)


def page(text: str, kept: Mapping[str, Any], /) -> str:
    """The page with the tables in their place."""
    before, rest = text.split(BEGIN)
    return before + tables(kept) + rest.split(END)[1]


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8"), json.loads(FIGURES.read_text("utf-8"))), "utf-8")
