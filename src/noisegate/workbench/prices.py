"""What answers cost: for each question of a spec the error at each epsilon. Reads no event and spends nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import yaml

from noisegate import limits
from noisegate.api.releasing import plan, read_spec
from noisegate.errors import DataError, SpecError
from noisegate.places import compose_yaml, read_octets
from noisegate.releases import attacker_views, make_plan
from noisegate.spec import ReleaseSpec
from noisegate.workbench.jobs import Say

#: Epsilons for which the best attack is worked out; between them a page reads off the line.
_EPSILONS = tuple(Fraction(one) for one in ("1/10", "1/4", "1/2", "1", "2", "4", "8", "16"))
#: How deep specs are looked for below the directory.
_DEPTH = 3


def specs(root: Path, /) -> dict[str, Path]:
    """The release specs below a directory, by id."""
    found = sorted(
        one for depth in range(_DEPTH) for one in root.glob("*/" * depth + "spec*.y*ml") if one.is_file()
    )
    return {
        hashlib.sha256(one.relative_to(root).as_posix().encode()).hexdigest()[:12]: one
        for one in found[: limits.current().listed_releases]
    }


def find_spec(root: Path, number: str, /) -> Path:
    """The spec of this id."""
    there = specs(root)
    if number not in there:
        raise DataError("There is no such spec here any more; choose another.")
    return there[number]


def price(file: Path, say: Say, /) -> dict[str, Any]:
    """The questions of a spec, each with its error for a range of epsilons; of one without questions, those of its tables."""
    say("reading the spec")
    text = read_octets(file, most=limits.current().spec_bytes, what="The spec", error=SpecError).decode(
        "utf-8", "replace"
    )
    compose_yaml(text, name=file.name)
    document = yaml.safe_load(text)
    if not isinstance(document, dict):
        raise SpecError(f"{file.name}: this is no release spec.")
    own = read_spec(document, folder=file.parent)
    asked = (
        own
        if own.workload
        else read_spec({**document, "workload": dict(_of_tables(own))}, folder=file.parent)
    )
    found = plan(asked, progress=lambda done, whole: say(f"question {done} of {whole}"))
    privacy = own.privacy
    return {
        "name": own.name,
        "unit": found.unit,
        "epsilon": found.epsilon,
        "max_cells": privacy.max_cells,
        "law": str(privacy.law),
        "days": max(1, len(next((one.labels for one in own.domain.dimensions if one.name == "date"), ("",)))),
        "assumes": found.assumes,
        "own_questions": bool(own.workload),
        "attacker": [one.as_json() for one in attacker_views(make_plan(own))],
        "questions": [
            {
                "name": one.name,
                "reason": one.reason,
                "wanted": one.wanted,
                "curve": [[epsilon, error] for epsilon, error in one.curve] if one.reason is None else [],
            }
            for one in found.questions
        ],
    }


def best_attacks(file: Path, say: Say, /) -> dict[str, Any]:
    """How often the best test is right about one unit and another, for a range of epsilons; worked out for the noise of a spec."""
    spec = read_spec(file)
    found: dict[str, list[list[float]]] = {}
    for epsilon in _EPSILONS:
        say(f"the best attack at epsilon {float(epsilon):g}")
        privacy = spec.privacy.model_copy(update={"epsilon": epsilon, "scale": None})
        try:
            views = attacker_views(make_plan(spec.model_copy(update={"privacy": privacy})))
        except SpecError:
            # Some laws and strategies have no noise for every epsilon; the others still tell.
            continue
        for one in views:
            found.setdefault(one.whose, []).append([float(epsilon), one.right])
    return {
        "sure": [{"whose": whose, "points": points} for whose, points in found.items() if len(points) > 1]
    }


def _of_tables(spec: ReleaseSpec, /) -> Iterator[tuple[str, dict[str, Any]]]:
    """A question for each table: one row of it."""
    for name, dimensions in spec.tables.items():
        yield f"one-row-of-{name}", {"by": list(dimensions)}
    yield "all-together", {}
