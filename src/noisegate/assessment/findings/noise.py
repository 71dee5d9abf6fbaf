"""Whether the noise can be recovered from the tables alone."""

from __future__ import annotations

from typing import Any

from noisegate.assessment.finding import Check, Finding, Result
from noisegate.assessment.loss import CLEAR_LAW
from noisegate.recovery.candidates import CANDIDATES
from noisegate.recovery.noise import Noise
from noisegate.recovery.outcome import NoiseFit
from noisegate.tables.card import StatedTable

#: Fewer identities than this are called few.
FEW = 30

_ADVICE = (
    "Publish the law and the scale of the noise. Hiding them protects nobody, and analysts need them for honest "
    "error bars."
)


def about_noise(noise: Noise, stated: StatedTable | None, /) -> list[Result]:
    """What was recovered about the noise of one table; `stated` is what the card says about it."""
    results: list[Result] = [
        Check(
            id="identity-refused",
            outcome="refused",
            title=f"{noise.table}, {one.title}: {reason}",
            numbers={"table": noise.table, **one.to_json()},
        )
        for one, reason in noise.refused
    ]
    results += [
        Check(
            id="identity-left-out",
            outcome="known",
            title=f"{noise.table}, {one.title}: holds alone, but not together with a larger set, so the noise rests on that one",
            numbers={"table": noise.table, **one.to_json()},
        )
        for one in noise.left_out
    ]
    fit = noise.fit
    if fit is None:
        why = Check(
            id="noise-not-recovered",
            outcome="cannot tell",
            title=f"{noise.table}: the noise cannot be recovered: {_why_not(noise)}",
            numbers={"table": noise.table, "n": sum(len(one.identities) for one in noise.sets)},
        )
        return [*results, why]
    if fit.law == "none":
        return [*results, _without_noise(noise, fit)]
    if stated is not None and stated.scale is not None:
        known = Check(
            id="noise-recovered",
            outcome="known",
            title=f"{noise.table}: {in_words(fit)}; the card states it, so nothing is given away by it",
            numbers=_numbers(noise, fit),
            evidence=_evidence(noise),
        )
        return [*results, known]
    return [
        *results,
        Finding(
            id="noise-recovered",
            severity="low",
            title=f"The noise of {noise.table} can be recovered: {in_words(fit)}",
            numbers=_numbers(noise, fit),
            evidence=_evidence(noise),
            advice=_ADVICE,
        ),
    ]


def _why_not(noise: Noise, /) -> str:
    """Why there is no number; what was refused is said where it is refused."""
    if any(noise.reason == reason for _, reason in noise.refused):
        return "the identities that were stated or found do not hold"
    return noise.reason.rstrip(".")


def in_words(fit: NoiseFit, /) -> str:
    """Law, scale and interval in words."""
    low, high = fit.interval
    few = f", from only {fit.n} identities" if fit.n < FEW else ""
    between = f" ({fit.level:.0%}: {low:.3g} to {high:.3g})" if high > low else ""
    if fit.law == "uniform":
        return f"{law_in_words(fit)} up to {fit.scale:.3g} either way{between}{few}"
    if fit.law == "random-rounding":
        return f"{law_in_words(fit)} to multiples of {fit.scale:.3g}{between}{few}"
    return f"{law_in_words(fit)}, scale {fit.scale:.3g}{between}{few}"


def law_in_words(fit: NoiseFit, /) -> str:
    """The law in words, with its rivals where they cannot be told apart."""
    likely = "" if fit.certainty >= CLEAR_LAW else f" ({_how_likely(fit)})"
    word = next((name.capitalize() for name in ("laplace", "gaussian") if name in fit.law), "")
    if not word:
        return f"{fit.law.replace('-', ' ')}{likely}"
    if fit.rounding == "nearest":
        return f"{word}, {'rounded' if fit.told_apart else 'rounded or discrete'}{likely}"
    return f"{'discrete ' if fit.law.startswith('discrete') else ''}{word}{likely}"


def _how_likely(fit: NoiseFit, /) -> str:
    """The probability of the named family, and of those it cannot be told from."""
    others = [f"{family.replace('-', ' ').capitalize()} {p:.0%}" for family, p in fit.rivals.items()]
    return ", ".join([f"{fit.certainty:.0%} likely", *others])


def _without_noise(noise: Noise, fit: NoiseFit, /) -> Finding:
    return Finding(
        id="no-noise",
        severity="high",
        title=f"{noise.table} carries no noise: all {fit.n} pairs of counts are exactly equal",
        numbers=_numbers(noise, fit),
        evidence=_evidence(noise),
        advice="Perturb every count before it is published; a cut alone hides nothing from someone who knows the rest.",
    )


def _numbers(noise: Noise, fit: NoiseFit, /) -> dict[str, Any]:
    return {
        "table": noise.table,
        "law": fit.law,
        "rounding": fit.rounding,
        "scale": round(fit.scale, 6),
        "interval": [round(end, 6) for end in fit.interval],
        "level": fit.level,
        "n": fit.n,
        "few": fit.n < FEW,
        "contamination": round(fit.contamination, 6),
    }


def _evidence(noise: Noise, /) -> list[str]:
    fit = noise.fit
    said = [one.title for one in noise.sets]
    if fit is not None:
        said.append(fit.goodness.statement)
        said += [_if_it_is(fit, family) for family in fit.rivals]
    return said + [f"Assumed: {one}." for one in noise.assumes]


def _if_it_is(fit: NoiseFit, family: str, /) -> str:
    """What the scale would be under a law of a family that was not named."""
    members = {name: one for name, one in fit.evidence.items() if CANDIDATES[name].family == family}
    best = max(members.values(), key=lambda one: one.probability)
    low, high = best.interval
    word = family.replace("-", " ").capitalize()
    return f"{word} noise is possible too ({fit.rivals[family]:.0%}): scale {best.scale:.3g} ({low:.3g} to {high:.3g})."
