"""What a page of the gallery says of an assessment, as plain values that are kept and compared."""  # noqa: INP001 - a folder of scripts

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from noisegate import OpenAssessment

#: A page tells so many findings, one of a kind, each with so many lines of proof; the rest is counted.
_FINDINGS, _PROOFS, _OPEN = 5, 3, 4
_ORDER = {"high": 0, "medium": 1, "low": 2}
#: Numbers in a text, with thousands, decimals and exponents.
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")
#: Two numbers are the same if they differ by less than this share: fits depend a little on the machine.
CLOSE = 0.02


def facts_of(found: OpenAssessment, /, *, card: Path | None = None) -> dict[str, Any]:
    """How tables were read, what they were recognised as, what was found and what cannot be told."""
    said = found.to_json()
    findings = sorted(said["findings"], key=lambda one: _ORDER[one["severity"]])
    first = list({one["id"]: one for one in reversed(findings)}.values())[::-1]
    told = sorted(first, key=lambda one: _ORDER[one["severity"]])[:_FINDINGS]
    comparisons = {one.title: one.comparison for one in found.findings}
    return {
        "tables": [_table(one) for one in said["tables"]],
        "mechanisms": [_stated(_mechanism(one, said["checks"]), card) for one in said["tables"]],
        "findings": [
            {
                "id": one["id"],
                "severity": one["severity"],
                "title": one["title"],
                "proof": [line for line in one["evidence"] if not line.startswith("Assumed")][:_PROOFS],
                "baseline": comparisons[one["title"]],
                "assumes": one["assumptions"][:2],
                "advice": one["advice"],
            }
            for one in told
        ],
        "more": len(findings) - len(told),
        "open": [one["title"] for one in said["checks"] if one["outcome"] == "cannot tell"][:_OPEN],
    }


def _table(one: Mapping[str, Any], /) -> dict[str, Any]:
    named = ", ".join(f"{part['name']} ({part['values']:,})" for part in one["details"])
    hidden = [f"{mark['cells']:,} marked {mark['text']!r}" for mark in one["markers"] if "cells" in mark]
    return {
        "name": one["name"],
        "role": one["role"],
        "dimensions": named,
        "rows": one["rows"],
        "cells": one["domain_size"],
        "hidden": ", ".join(hidden) or (f"{one['hidden']:,}" if one["hidden"] else ""),
        "threshold": _threshold(one["threshold"]),
    }


def _threshold(one: Mapping[str, Any], /) -> str:
    if one["value"] is None:
        return "none to be seen"
    others = ", ".join(
        f"{'above' if rival['rule'] == 'gt' else 'from'} {rival['value']:g} {rival['probability']:.0%}"
        for rival in one["alternatives"]
    )
    rule = "above" if one["rule"] == "gt" else "from"
    return f"{rule} {one['value']:g} ({one['sure']:.1%} sure that there is one)" + (
        f"; or {others}" if others else ""
    )


def _mechanism(one: Mapping[str, Any], checks: list[Mapping[str, Any]], /) -> dict[str, str]:
    """What the table was recognised as, and how likely each rival is."""
    for check in checks:
        numbers = check["numbers"]
        if check["id"] == "mechanism" and numbers.get("table") == one["name"]:
            said = check["title"].removeprefix(f"{one['name']}: ")
            return {"table": one["name"], "said": said, "rivals": _shares(numbers["rivals"])}
    noise = one["noise"]
    if noise["law"] is None:
        said = noise["evidence"]["statement"]
        return {"table": one["name"], "said": f"not recovered: {said}", "rivals": ""}
    low, high = noise["interval"]
    said = f"{noise['law']} noise, scale {noise['scale']:.2f} ({noise['level']:.0%}: {low:.2f} to {high:.2f}), from {noise['n']:,} identities"
    return {"table": one["name"], "said": said, "rivals": _shares(noise["evidence"]["laws"])}


def _stated(found: dict[str, str], card: Path | None, /) -> dict[str, str]:
    """What the card says of the table, before what the tables alone say."""
    if card is None:
        return found
    noise = json.loads(card.read_text("utf-8"))["tables"][found["table"]]["noise"]
    said = f"on its card: {noise['law']}, scale {noise['scale']:.3g}; from the tables alone: {found['said']}"
    return found | {"said": said}


def _shares(rivals: Mapping[str, float], /) -> str:
    ranked = sorted(rivals.items(), key=lambda pair: -pair[1])
    return ", ".join(f"{name} {share:.1%}" for name, share in ranked if share >= 5e-4)


def essence(facts: Mapping[str, Any], /) -> dict[str, Any]:
    """What must stay as it is when sentences are worded anew: numbers, kinds and severities of findings, what tables were recognised as."""
    return {
        "numbers": facts["numbers"],
        "findings": [[one["id"], one["severity"], _values(one["title"])] for one in facts["findings"]],
        "mechanisms": [[one["table"], one["rivals"].partition(" ")[0]] for one in facts["mechanisms"]],
        "tables": [[one["name"], one["role"], one["rows"], one["cells"]] for one in facts["tables"]],
    }


def _values(text: str, /) -> list[float]:
    return [_value(one) for one in _NUMBER.findall(text)]


def alike(one: Any, other: Any, /) -> bool:
    """Whether two kept values say the same: words exactly, numbers to within `CLOSE`."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, str) and isinstance(other, str):
        mine, theirs = _NUMBER.findall(one), _NUMBER.findall(other)
        same = _NUMBER.sub("#", one) == _NUMBER.sub("#", other)
        return same and all(_near(_value(a), _value(b)) for a, b in zip(mine, theirs, strict=True))
    if isinstance(one, float) or isinstance(other, float):
        return _near(float(one), float(other))
    return bool(one == other)


def _value(text: str, /) -> float:
    return float(text.replace(",", ""))


def _near(one: float, other: float, /) -> bool:
    return math.isclose(one, other, rel_tol=CLOSE, abs_tol=1e-9)
