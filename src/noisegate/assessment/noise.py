"""Whether the noise can be recovered from the tables alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from noisegate.assessment.finding import Check, Finding, Result, assumed
from noisegate.assessment.inquiry import Exhibit, Figure, Grid, Words
from noisegate.assessment.loss import CLEAR_LAW, shown_mechanism
from noisegate.assessment.words import interval, percent, short
from noisegate.laws import RoundedLaplace
from noisegate.mechanisms import state_noise
from noisegate.pictures import Differences, Responses
from noisegate.recovery import Noise, NoiseFit, Recognition
from noisegate.tables import StatedTable

if TYPE_CHECKING:
    from noisegate.assessment.assessment import Assessment
    from noisegate.assessment.facts import Facts

#: Fewer identities than this are called few.
FEW = 30
#: The scale of the noise of 2016, as a yardstick.
_USUAL = 1.4
#: So many tables are pictured; of more the numbers are in `assessment.json`.
_PICTURED = 12

_ADVICE = (
    "Publish the law and the scale of the noise. Hiding them protects nobody, and analysts need them for honest "
    "error bars."
)

WORDS: Mapping[str, Words] = {
    "identity-left-out": Words(
        says="Identities that hold alone, but not together with a larger set.",
    ),
    "identity-refused": Words(
        says="Identities that do not hold among the raw counts, so no number is given.",
    ),
    "no-noise": Words(
        says="All pairs of equal counts are exactly equal: nothing was added to them.",
        meaning="The counts carry no noise.",
        method=(
            "Counts that must be equal in the raw data are compared. If every pair agrees to the last digit, "
            "noise of any useful size is ruled out."
        ),
    ),
    "stated-noise-disagrees": Words(
        says="The noise that was stated with `--noise` is not what the tables show; it is used all the same.",
        meaning="Estimates rest on noise that the tables contradict.",
        method=(
            "What a person states is never overridden. Where law or scale lie well outside what was recovered from the tables, that is said."
        ),
    ),
    "noise-not-recovered": Words(
        says="Why there is no number: no identity, too few, or too many noises in each.",
    ),
    "noise-recovered": Words(
        says="Law and scale of the noise can be read off the tables.",
        meaning="How the noise was made can be worked out from the tables, so it might as well be published.",
        method=(
            "Some raw counts are published twice, or add up to another one. The difference of such counts holds "
            "nothing but noise. Its law, scale and rounding are fitted by maximum likelihood on whole numbers; "
            "differences that are cut off by suppression and a share of counts that do not match are part of the "
            "model. The interval is the set of scales that a likelihood-ratio test does not reject. Identities "
            "that do not hold are refused, not averaged in."
        ),
    ),
}


def ask(facts: Facts, /) -> list[Result]:
    """What was recovered about the noise of every table."""
    card = facts.stated_card
    found = [
        one
        for place, cells in enumerate(facts.structure.tables, 1)
        for one in about_noise(
            facts.noise[cells.name],
            None if card is None else card.about(cells),
            picture=picture_name(place),
            recognition=facts.recognised.get(cells.name),
            spread=float(np.std(cells.values)) if cells.values.size else 0.0,
        )
    ]
    found += _against_stated(facts)
    # How a table was made that has no noise to recover is said where its mechanism is.
    told = {
        name
        for name, one in facts.recognised.items()
        if one.raw_counts or one.rounded or one.kind == "summed"
    }
    return [one for one in found if one.id != "noise-not-recovered" or one.numbers["table"] not in told]


def _against_stated(facts: Facts, /) -> list[Result]:
    """That a person states another noise than the tables show; what is stated is used all the same."""
    law = facts.request.noise
    told = [(one.name, facts.makers.against_stated(one)) for one in facts.structure.tables]
    against = [f"{name}: {why}" for name, why in told if why]
    if law is None or not against:
        return []
    return [
        Finding(
            id="stated-noise-disagrees",
            severity="medium",
            title=f"The tables are not what was stated of their noise: {against[0]}, stated was {state_noise(law)}",
            numbers={
                "stated": state_noise(law),
                "disagreements": len(against),
                "tables": [name for name, why in told if why],
            },
            evidence=against,
            assumptions=("every estimate is made with the noise as stated",),
            advice="Leave the statement out to use what was recovered, or find out why the tables show another noise.",
        )
    ]


def picture_name(place: int, /) -> str:
    """The name of the picture of a table's noise; tables are numbered from 1, the base first."""
    return f"noise-{place}"


def about_noise(
    noise: Noise,
    stated: StatedTable | None,
    /,
    *,
    picture: str | None = None,
    recognition: Recognition | None = None,
    spread: float = 0.0,
) -> list[Result]:
    """What was recovered about the noise of one table; `stated` is what the card says about it.

    Where `recognition` found another law than the fit was made for, or none, that is what is said. `spread` is the standard deviation of
    what is published, which noise alone cannot exceed.
    """
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
            title=f"{noise.table}: the noise cannot be recovered: {_why_not(noise, recognition)}",
            numbers={"table": noise.table, "n": sum(len(one.identities) for one in noise.sets)},
        )
        return [*results, why]
    if fit.law == "none":
        return [*results, _without_noise(noise, fit)]
    if recognition is not None and recognition.kind == "exact":
        return results
    if recognition is not None and recognition.without_noise > _MORE_THAN_ALL_OTHERS:
        return [*results, _perhaps_silent(noise, recognition)]
    if stated is not None and stated.scale is not None:
        known = Check(
            id="noise-recovered",
            outcome="known",
            title=f"{noise.table}: {in_words(fit)}; the card states it, so nothing is given away by it",
            numbers=_numbers(noise, fit),
            evidence=[*_evidence(noise), *map(assumed, noise.assumes)],
        )
        return [*results, known]
    return [
        *results,
        Finding(
            id="noise-recovered",
            severity="low",
            title=f"The noise of {noise.table} can be recovered: {_recognised(fit, recognition)}",
            numbers=_numbers(noise, fit) | ({} if recognition is None else {"kind": recognition.kind}),
            baseline={
                "from": "the spread of the published values alone, which noise cannot exceed",
                "sd_at_least": 0.0,
                "sd_at_most": round(spread, 3),
            },
            evidence=_evidence(noise),
            assumptions=noise.assumes,
            advice=_ADVICE,
            picture=picture,
        ),
    ]


def _perhaps_silent(noise: Noise, recognition: Recognition, /) -> Check:
    return Check(
        id="noise-not-recovered",
        outcome="cannot tell",
        title=(
            f"{noise.table}: whether it has noise of its own cannot be told; with {recognition.without_noise:.0%} it has none, and that of its parts "
            "alone explains what it differs by"
        ),
        numbers={"table": noise.table, "n": noise.n, "without_noise": round(recognition.without_noise, 6)},
    )


def _why_not(noise: Noise, recognition: Recognition | None, /) -> str:
    """Why there is no number; what was refused is said where it is refused."""
    if recognition is not None and recognition.perhaps_exact and not noise.sets:
        return "the few sums that there are show none"
    if any(noise.reason == reason for _, reason in noise.refused):
        return "the identities that were stated or found do not hold"
    return noise.reason.rstrip(".")


#: A law that is less likely than this is not named as the law.
_MORE_THAN_ALL_OTHERS = 0.5


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


def _recognised(fit: NoiseFit, recognition: Recognition | None, /) -> str:
    """The noise in words: as it was fitted, unless the mechanism was recognised as another law, or as none in particular."""
    if recognition is None or recognition.noise_sd is None or recognition.kind in fit.law:
        untold = (
            "" if fit.certainty >= _MORE_THAN_ALL_OTHERS else "which law it has cannot be told; if it is "
        )
        return f"{untold}{in_words(fit)}"
    spread = f"standard deviation {recognition.noise_sd:.3g}"
    if recognition.kind in {"bounded", "uniform"}:
        errors = [f" ± {error:.3f}" for error in recognition.pmf_se] or [""] * len(recognition.pmf)
        both = zip(recognition.pmf[:3], errors, strict=False)
        masses = ", ".join(f"P({k}) {p:.3f}{error}" for k, (p, error) in enumerate(both))
        chances = f" ({masses})" if recognition.kind == "bounded" and masses else ""
        return f"{recognition.kind} within ±{recognition.bound}, {spread}{chances}"
    return f"{spread}; which law it has cannot be told; if it is {in_words(fit)}"


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
        baseline={
            "from": f"noise of scale {_USUAL:g}, as in 2016, in both counts of a pair",
            "equal": round(fit.n * _equal_by_chance()),
        },
        evidence=_evidence(noise),
        assumptions=noise.assumes,
        advice="Perturb every count before it is published; a cut alone hides nothing from someone who knows the rest.",
    )


def _equal_by_chance() -> float:
    """The share of pairs of equal counts that stay equal under usual noise."""
    shown = np.exp(RoundedLaplace(_USUAL).logpmf(np.arange(-40, 41)))
    return float(shown @ shown)


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
    return said


def _if_it_is(fit: NoiseFit, family: str, /) -> str:
    """What the scale would be under a law of a family that was not named."""
    best = max(fit.members(family).values(), key=lambda one: one.probability)
    low, high = best.interval
    word = family.replace("-", " ").capitalize()
    return f"{word} noise is possible too ({fit.rivals[family]:.0%}): scale {best.scale:.3g} ({low:.3g} to {high:.3g})."


def show(assessment: Assessment, /) -> Exhibit:
    """Differences against the recovered law, and what the base publishes for a raw count."""
    return Exhibit(section="tables", figures=(*_differences(assessment), *_responses(assessment)))


def _differences(assessment: Assessment, /) -> Iterator[Figure]:
    """One figure for each of the first tables whose noise was recovered from differences."""
    told = [(place, one) for place, one in enumerate(assessment.tables, 1) if one.noise.fit is not None]
    for place, table in told[:_PICTURED]:
        fit, curve = table.noise.fit, table.noise.curve()
        if fit is None or curve is None:
            continue
        name, ends = table.summary.name, interval(fit.interval)
        sure = f" ({fit.level:.0%}: {ends})" if ends else ""
        columns = (curve.difference, curve.observed, curve.expected.round(2), curve.simulated)
        low, high = fit.interval
        yield Figure(
            key=picture_name(place),
            caption=(
                f"Differences of counts in {name} that are equal in the raw data: what is left is noise. "
                "Bars: observed. Dots: the recovered law. Dashed: one simulation from it."
            ),
            alt=(
                f"Bar chart of {int(curve.observed.sum()):,} differences around zero. The recovered noise has scale "
                f"{short(fit.scale)}{sure}, and its law follows the bars."
            ),
            picture=Differences(
                curve=curve,
                law="recovered law",
                title=f"Noise of {name}: {fit.name}, scale {fit.scale:.3g}",
                subtitle=f"{fit.n:,} identities; {fit.level:.0%} interval {low:.3g} to {high:.3g}",
            ),
            data=Grid.of(
                "Differences, and how often they occur",
                ("difference", "observed", "expected", "simulated"),
                zip(*(column.tolist() for column in columns), strict=True),
            ),
            about=("noise-recovered",),
            table=name,
        )


def _responses(assessment: Assessment, /) -> Iterator[Figure]:
    """What becomes of an empty cell, of a count just below the cut, and of one just above it."""
    mechanism = shown_mechanism(assessment)
    if mechanism is None:
        return
    first = 0 if assessment.zeros.rule else 1
    around = mechanism.whole_threshold if mechanism.whole_threshold is not None else 10
    counts: Sequence[int] = (first, max(around - 2, 2), around + 2)
    shown = {
        count: float(np.exp(mechanism.response(count).log_published)) for count in range(first, around + 8)
    }
    cut = (
        f" Orange: nothing is published, as the value is below {around}." if mechanism.whole_threshold else ""
    )
    yield Figure(
        key="responses",
        caption=(
            f"What {assessment.base.name} publishes for raw counts of {counts[0]:,}, {counts[1]:,} and {counts[2]:,}, "
            f"under the noise that was recovered or stated.{cut}"
        ),
        alt=(
            f"Three bar charts of the published value. A raw count of {counts[1]:,} is published in "
            f"{percent(shown[counts[1]])} of cases, one of {counts[2]:,} in {percent(shown[counts[2]])}."
        ),
        picture=Responses(mechanism=mechanism, counts=counts),
        data=Grid.of(
            "Probability of being published, by raw count",
            ("raw count", "published", "not published"),
            ((count, float(f"{p:.4g}"), float(f"{1 - p:.4g}")) for count, p in shown.items()),
        ),
    )
