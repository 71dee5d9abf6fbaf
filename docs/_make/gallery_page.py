"""A page of the gallery from what is kept about it, and the list of all pages."""  # noqa: INP001 - a folder of scripts

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gallery_items import Item
from markdown import code, table

_MADE = "<!-- Made by docs/_make/gallery.py (make gallery). Edit the code, not this page. -->"

#: Findings whose evidence is a proof: whole counts that equations leave.
_PROVEN = {"known-exactly", "known-within-one", "surely-not-empty", "tables-together", "slivers"}


def item_page(item: Item, facts: Mapping[str, Any], /) -> str:
    """One release taken apart: published, read, recognised, found, compared, mended."""
    parts = [
        _MADE,
        f"# {item.title}",
        f"*{item.field}, {'real tables' if item.real else 'simulated, so that the truth is known'}.* {item.published}",
        item.shows.format(**facts["numbers"]),
        f"![{item.caption}](../images/gallery-{item.slug}.svg)",
        "## How it was read",
        _read(facts["tables"]),
        "## Which mechanism",
        _mechanisms(facts["mechanisms"]),
        "## What was found",
        *(_finding(one) for one in facts["findings"]),
        *(
            [f"{facts['more']} more of these kinds or less severe; `--verbose` lists them."]
            if facts["more"]
            else []
        ),
        *(["Nothing that somebody should act on."] if not facts["findings"] else []),
        *(_open(facts["open"]) if facts["open"] else []),
        "## What to fix",
        _advice(item, facts["findings"]),
        "## The command line",
        "\n".join(f"    {line}" for line in item.command.splitlines()),
        "[All of the gallery](README.md)",
    ]
    return "\n\n".join(parts) + "\n"


def _read(tables: Sequence[Mapping[str, Any]], /) -> str:
    rows = [
        (
            one["name"],
            one["role"],
            one["dimensions"],
            f"{one['rows']:,} of {one['cells']:,}",
            one["hidden"] or "-",
            one["threshold"],
        )
        for one in tables
    ]
    return table(("table", "is", "dimensions (values)", "cells shown", "hidden", "threshold"), rows)


def _mechanisms(found: Sequence[Mapping[str, str]], /) -> str:
    rows = [(one["table"], one["said"], one["rivals"] or "-") for one in found]
    return table(("table", "recognised as", "how likely, with rivals"), rows)


def _finding(one: Mapping[str, Any], /) -> str:
    lines = [f"**{one['severity'].upper()}** {code(one['id'])} {one['title']}."]
    proof = "Proof: " if one["id"] in _PROVEN else ""
    lines += [f"- {proof}{line.rstrip('.')}." for line in one["proof"]]
    lines += [f"- Baseline: {one['baseline']}"] if one["baseline"] else []
    lines += [f"- Assumed: {line}." for line in one["assumes"]]
    return lines[0] + "\n\n" + "\n".join(lines[1:]) if len(lines) > 1 else lines[0]


def _open(found: Sequence[str], /) -> list[str]:
    return ["These tables do not tell:", "\n".join(f"- {line}" for line in found)]


def _advice(item: Item, findings: Sequence[Mapping[str, Any]], /) -> str:
    said = dict.fromkeys(one["advice"] for one in findings)
    lines = [f"- {line}" for line in said]
    return "\n".join([*lines, *([f"- {item.mend}"] if item.mend else [])]) or "Nothing."


def index_page(items: Sequence[Item], facts: Mapping[str, Mapping[str, Any]], /) -> str:
    """The list of all releases."""
    rows = []
    for item in items:
        kept = facts[item.slug]
        worst = kept["findings"][0] if kept["findings"] else None
        rows.append(
            (
                f"[{item.title}]({item.slug}.md)",
                item.field,
                "real" if item.real else "simulated",
                item.made_by,
                f"{worst['severity']}: {worst['title']}" if worst else "nothing to act on",
            )
        )
    body = (
        "Twelve releases of counts, from several fields, as their readers would get them. Each page says what was published, how it was read, which mechanism "
        "was recognised and against which rivals, what was found with its proof and its baseline, and what to fix. Pages and pictures are made by "
        "`make gallery`; the numbers are worked out again by the tests. Real tables are read where they lie and are no part of this project; "
        "in simulated ones the truth is known, and the page says how often the attack was right."
    )
    head = ("release", "field", "tables", "protected by", "worst finding")
    return "\n\n".join([_MADE, "# Gallery: twelve releases taken apart", body, table(head, rows)]) + "\n"
