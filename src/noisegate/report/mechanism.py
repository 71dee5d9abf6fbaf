"""How the counts of a table were made, as far as an assessment found out."""

from __future__ import annotations

from noisegate.errors import SpecError
from noisegate.laws import make_law
from noisegate.mechanisms.mechanism import Mechanism
from noisegate.report.source import Json, Source


def mechanism_of(table: Json, source: Source, /) -> Mechanism | None:
    """The mechanism of a table, recovered or else as stated; None if it is not known or does not publish integers.

    Where it is not known whether zeros are kept, they are taken to be: the worse case.
    """
    made = _recovered(table) or _stated(table, source)
    law, scale, least = made.get("law"), made.get("scale"), made.get("threshold")
    if law in (None, "none") or not isinstance(scale, int | float):
        return None
    try:
        mechanism = Mechanism(
            law=make_law(str(law), scale=float(scale)),
            rounding=made.get("rounding") or "none",
            threshold=float(least) if isinstance(least, int | float) else None,
            rule=made.get("rule") or "ge",
            zeros="perturb" if zeros_rule(source) == "perturb" else "keep",
        )
    except SpecError:
        return None
    return mechanism if mechanism.integers else None


def _recovered(table: Json, /) -> Json:
    """Noise and least count as the tables show them."""
    noise, cut = table.get("noise") or {}, table.get("threshold") or {}
    if noise.get("scale") is None:
        return {}
    return {**{key: noise.get(key) for key in ("law", "scale", "rounding")}, "threshold": cut.get("value")}


def _stated(table: Json, source: Source, /) -> Json:
    """What the inference took the table to be made by: a card, or a person, said so."""
    mechanisms = (source.section("inference") or {}).get("mechanisms")
    found = mechanisms.get(str(table.get("name"))) if isinstance(mechanisms, dict) else None
    return found if isinstance(found, dict) else {}


def zeros_rule(source: Source, /) -> str | None:
    """`keep`, `perturb`, or None if it is not known."""
    if source.finding("zeros-kept"):
        return "keep"
    check = source.check("zeros")
    return "perturb" if check is not None and check.get("outcome") == "fine" else None
