"""The noise that OpenDP states, in the two forms in which it writes it down.

A measurement that was serialised (`opendp.prelude.serialize`) is JSON of the calls that built it. A summary of a query on a context
(`query.summarize()`) is a table with a row for each statistic; written as CSV or JSON it has the columns `distribution` and `scale`.
Tumult Analytics writes no such statement: its results are plain tables.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from noisegate.errors import SpecError
from noisegate.laws import Law, make_law
from noisegate.places import read_octets

_MOST: Final = 16 << 20
#: Calls that add noise, and its family; older versions name the discrete ones by themselves.
_CALLS: Final = {
    "make_laplace": "laplace",
    "make_base_laplace": "laplace",
    "make_geometric": "discrete-laplace",
    "make_base_discrete_laplace": "discrete-laplace",
    "make_gaussian": "gaussian",
    "make_base_gaussian": "gaussian",
    "make_base_discrete_gaussian": "discrete-gaussian",
}
#: What a summary calls a law.
_DISTRIBUTIONS: Final = {
    "integer laplace": "discrete-laplace",
    "float laplace": "laplace",
    "integer gaussian": "discrete-gaussian",
    "float gaussian": "gaussian",
}
_DEEPEST: Final = 200
Stated = tuple[str, float]


def read_stated_noise(path: Path, /) -> Law:
    """The one law of noise that a file of OpenDP states.

    Raises
    ------
    SpecError
        If it cannot be read, states none, or several.
    """
    octets = read_octets(path, most=_MOST, what="the statement of noise", error=SpecError)
    found = sorted(set(_stated(octets)))
    if len(found) != 1:
        several = ", ".join(f"{law}:{scale:g}" for law, scale in found[:4])
        what = f"states several ({several})" if found else "states none that is known here"
        raise SpecError(
            f"One law of noise is needed, and {path.name} {what}; give a serialised measurement or a summary of OpenDP about these "
            "counts alone, or say it as LAW:SCALE, such as laplace:1.4."
        )
    law, scale = found[0]
    return make_law(law, scale=scale)


def _stated(octets: bytes, /) -> Iterator[Stated]:
    try:
        document = json.loads(octets)
    except (ValueError, RecursionError):
        yield from _summary(_rows(octets))
        return
    if isinstance(document, list):
        yield from _summary(one for one in document if isinstance(one, Mapping))
    else:
        yield from _calls(document, 0)


def _rows(octets: bytes, /) -> Iterator[Mapping[str, Any]]:
    text = octets.decode("utf-8", errors="replace")
    try:
        yield from csv.DictReader(io.StringIO(text))
    except csv.Error:
        return


def _summary(rows: Iterator[Mapping[str, Any]], /) -> Iterator[Stated]:
    """Rows of a summary; statistics that are no counts have a scale of their own, and are passed over."""
    for row in rows:
        law = _DISTRIBUTIONS.get(str(row.get("distribution")).casefold())
        counts = str(row.get("aggregate", "")).casefold() in {"", "frame length", "len", "length", "count"}
        if law is not None and counts:
            yield from _scaled(law, row.get("scale"))


def _scaled(law: str, scale: object, /) -> Iterator[Stated]:
    try:
        found = float(scale)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return
    if found > 0:
        yield law, found


def _calls(node: Any, depth: int, /) -> Iterator[Stated]:
    """Every call that adds noise, wherever it stands."""
    if depth > _DEEPEST:
        return
    if isinstance(node, Mapping):
        arguments = node.get("__kwargs__")
        law = _CALLS.get(str(node.get("__function__")))
        if law is not None and isinstance(arguments, Mapping):
            whole = _atom(arguments.get("input_domain"), 0).startswith(("i", "u"))
            yield from _scaled(
                f"discrete-{law}" if whole and not law.startswith("discrete") else law, arguments.get("scale")
            )
    inside = node.values() if isinstance(node, Mapping) else node if isinstance(node, list) else ()
    for one in inside:
        yield from _calls(one, depth + 1)


def _atom(node: Any, depth: int, /) -> str:
    """The type of number that noise is added to, such as `i32`: that of the domain, or what a transformation puts out."""
    if depth > _DEEPEST or not isinstance(node, Mapping):
        return ""
    arguments = node.get("__kwargs__")
    told = arguments if isinstance(arguments, Mapping) else {}
    for name in ("TO", "T"):
        if isinstance(told.get(name), str):
            return str(told[name])
    return next((found for one in told.values() if (found := _atom(one, depth + 1))), "")
