"""How the counts of a table were made, as far as an assessment found out."""

from __future__ import annotations

from noisegate.core.laws import make_law
from noisegate.core.mechanism import Mechanism
from noisegate.errors import SpecError
from noisegate.report.source import Json, Source


def mechanism_of(table: Json, source: Source, /) -> Mechanism | None:
    """The recovered mechanism of a table; None if it was not recovered or does not publish integers.

    Where it is not known whether zeros are kept, they are taken to be: the worse case.
    """
    noise, cut = table.get("noise") or {}, table.get("threshold") or {}
    if not isinstance(noise.get("scale"), int | float) or noise.get("law") in (None, "none"):
        return None
    least = cut.get("value")
    try:
        mechanism = Mechanism(
            law=make_law(str(noise["law"]), scale=float(noise["scale"])),
            rounding=noise.get("rounding") or "none",
            threshold=float(least) if isinstance(least, int | float) else None,
            rule="ge",
            zeros="perturb" if zeros_rule(source) == "perturb" else "keep",
        )
    except SpecError:
        return None
    return mechanism if mechanism.integers else None


def zeros_rule(source: Source, /) -> str | None:
    """`keep`, `perturb`, or None if it is not known."""
    if source.finding("zeros-kept"):
        return "keep"
    check = source.check("zeros")
    return "perturb" if check is not None and check.get("outcome") == "fine" else None
