"""What stands in place of a count (`<5`, `*`, `..`, a blank), and which counts it can stand for.

A range is decided with evidence, the strongest first: a person says so; the marker says so itself (`<5`, `1-9`, `100+`); a note in the file
explains it; the published counts leave a gap that it fills (zeros are shown, 1 to 9 never, so `*` is 1 to 9). Where nothing tells,
the marker hides any count. Totals may refute a range afterwards: where the hidden parts of a total must hold more than their
markers allow, something larger was hidden to protect the rest.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from noisegate.mechanisms import Marker
from noisegate.reading.published import PublishedTable
from noisegate.reading.values import common_step
from noisegate.reading.words import words_of
from noisegate.tables import folded

#: Signs and words that hide a count without saying which.
OPAQUE = words_of(
    "*, **, ***, x, c, s, p, np, n.p., .., ..., …, ., -, --, –, —, :, ..c, suppressed, n/a, na, nan, null, none, "
    "hidden, confidential, d, (d), (s), (x), not published, supp, #, †, ^, ~, z, [c], [x], [z], [u], [low], low, "
    "not available"
)
#: Signs that say "nothing there" in the tables of some offices, and those that say "not available".
_DASHES = frozenset({"-", "--", "–", "—"})
_UNAVAILABLE = frozenset({"..", "...", "…", ":", "n/a", "na", "[x]", "[z]", "z", "not available"})

#: A colon with what it is for, as Eurostat writes it, and any row of stars.
_ODD = re.compile(r":\s?[a-z]{1,2}|\*+")
_NUMBER = r"(\d{1,6})"
_BELOW = re.compile(rf"(?:<|&lt;|under|less than|fewer than|below)\s*{_NUMBER}", re.IGNORECASE)
_UP_TO = re.compile(
    rf"(?:<=|≤|=<|up to|at most)\s*{_NUMBER}|{_NUMBER}\s*(?:or less|or fewer|and under)", re.IGNORECASE
)
_BETWEEN = re.compile(rf"[\[(]?\s*{_NUMBER}\s*(?:-|–|—|to|\.\.|and)\s*{_NUMBER}\s*[\])]?", re.IGNORECASE)
_ABOVE = re.compile(rf"(?:>|&gt;|over|more than|above)\s*{_NUMBER}", re.IGNORECASE)
_FROM = re.compile(
    rf"(?:>=|≥|=>|at least|from)\s*{_NUMBER}|{_NUMBER}\s*(?:\+|or more|and (?:over|more|above))",
    re.IGNORECASE,
)
#: How a note says what a sign means: `* = fewer than 5`, `c: confidential`, `".." denotes not available`.
_EXPLAINS = (
    r"\s*[\"'”’\])]?(?:\s*(?:=|:|–|-|denotes?|means?|indicates?|stands? for|represents?|is used)\s*"
    r"|\s+(?=(?:fewer|less|under|below|between|counts?|numbers?|values?|figures?|not|confidential|suppressed|withheld|nil|zero)\b))"
)
_HIDES = re.compile(
    r"suppress|confidential|withheld|disclos|replaced|hidden|not shown|small (?:number|count)|rounded",
    re.IGNORECASE,
)
_NOTHING = re.compile(
    r"\b(?:nil|zero|nothing|none|no (?:cases|persons|people|observations))\b", re.IGNORECASE
)
_NOT_THERE = re.compile(r"not (?:available|applicable|collected|known)|missing|no data", re.IGNORECASE)


def own_range(text: str, /) -> tuple[int, int] | None:
    """The least and the largest count that a marker names itself, such as 0 and 4 for `<5`; None if it names none.

    Examples
    --------
    >>> own_range("<5"), own_range("1-9"), own_range("≤ 3"), own_range("*")
    ((0, 4), (1, 9), (0, 3), None)
    """
    word = text.strip()
    if (match := _BELOW.fullmatch(word)) and int(match[1]) > 0:
        return 0, int(match[1]) - 1
    if match := _UP_TO.fullmatch(word):
        return 0, int(match[1] or match[2])
    match = _BETWEEN.fullmatch(word)
    if match and int(match[1]) <= int(match[2]):
        return int(match[1]), int(match[2])
    return None


def own_least(text: str, /) -> int | None:
    """The least count that a marker without a largest one names itself, such as 101 for `>100`; None if it names none.

    Examples
    --------
    >>> own_least(">100"), own_least("100+"), own_least("≥ 100"), own_least("<5")
    (101, 100, 100, None)
    """
    word = text.strip().replace(",", "")
    if match := _ABOVE.fullmatch(word):
        return int(match[1]) + 1
    match = _FROM.fullmatch(word)
    return int(match[1] or match[2]) if match else None


@cache
def is_marker(text: str, /) -> bool:
    """Whether a text in a column of counts says that a count is hidden."""
    word = folded(text)
    own = own_range(text) is not None or own_least(text) is not None
    return word in OPAQUE or bool(_ODD.fullmatch(word)) or own


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """What the published counts of tables that hide something say about what they hide."""

    least: int | None
    near: int
    step: int
    zeros: bool
    sparse: bool
    wholly: str


def find_meanings(parts: Sequence[PublishedTable], /, *, told: Mapping[str, Marker]) -> list[PublishedTable]:
    """The parts of one file with what their markers mean. They follow one rule, so the parts are looked at together.

    Parameters
    ----------
    parts
        Base and totals of one measure in one file.
    told
        What a person decided about markers, by their text.
    """
    texts = list(dict.fromkeys(text for part in parts for text in _used(part)))
    notes = tuple(dict.fromkeys(note for part in parts for note in part.legend))
    found = {text: _decide(text, texts, _shown(text, parts), notes, told) for text in texts}
    empty = next((text for text, one in found.items() if one.high == 0), None)
    if empty is not None:  # a marker of their own shows zeros as well as a 0 does
        for text, one in found.items():
            if one.high != 0 and not (shown := _shown(text, parts)).zeros:
                again = _decide(text, texts, replace(shown, zeros=True), notes, told)
                why = again.evidence.replace("zeros are shown as 0", f"zeros are shown as {empty!r}")
                found[text] = replace(
                    again, evidence=why.replace("zeros are shown,", f"zeros are shown as {empty!r},")
                )
    return [
        replace(
            part,
            markers=tuple(found.get(marker.text, marker) for marker in part.markers),
            absent=_absent(part, found),
        )
        for part in parts
    ]


def _used(part: PublishedTable) -> list[str]:
    return [part.markers[k].text for k in np.unique(part.marks).tolist()]


def _shown(text: str, parts: Sequence[PublishedTable]) -> _Shown:
    """The published counts of those parts in which this marker stands; a total that hides nothing follows no rule."""
    hiding = [part for part in parts if text in _used(part)]
    counts = np.concatenate([part.counts for part in hiding]) if hiding else np.zeros(0)
    positive = counts[counts > 0]
    sparse = any(part.rows + part.hidden.shape[1] < part.possible for part in hiding)
    least = int(np.ceil(positive.min())) if positive.size else None
    return _Shown(
        least=least,
        near=int((positive < 2 * (least or 0)).sum()),
        step=common_step(positive),
        zeros=bool((counts == 0).any()),
        sparse=sparse,
        wholly=_wholly(text, max(hiding, key=lambda part: part.marks.size)) if hiding else "",
    )


#: A gap below fewer published counts than this is no rule; where words say "not available", more are asked for.
_FEWEST, _MANY = 3, 12
_PLAINLY = frozenset({"n/a", "na", "not available"})
#: A value hides all its cells for a reason of its own only if it has so many.
_WHOLE = 10


def _wholly(text: str, part: PublishedTable) -> str:
    """The values all of whose cells a marker hides, if it hides no others; empty if it is not so."""
    hidden = part.hidden[:, np.array([one.text == text for one in part.markers])[part.marks]]
    for place, dimension in enumerate(part.dimensions):
        values, often = np.unique(hidden[place], return_counts=True)
        if (
            2 * values.size < dimension.size
            and often.min() >= _WHOLE
            and not np.isin(part.codes[place], values).any()
        ):
            more = f" and {values.size - 1} more" if values.size > 1 else ""
            return f"{dimension.name} {dimension.labels[values[0]]}{more}"
    return ""


def _decide(
    text: str, texts: list[str], shown: _Shown, notes: Sequence[str], told: Mapping[str, Marker]
) -> Marker:
    if text in told:
        return told[text]
    named = own_range(text)
    if named is not None:
        return _bounded(text, *named, shown, "it says so")
    least = own_least(text)
    if least is not None:
        return Marker(text=text, low=least, evidence="it says so")
    noted = _in_notes(text, notes)
    if noted is not None:
        low, high, why = noted
        return (
            Marker(text=text, low=low, evidence=why)
            if high is None
            else _bounded(text, low, high, shown, why)
        )
    return _from_gap(text, texts, shown)


def _bounded(text: str, low: int, high: int, shown: _Shown, why: str) -> Marker:
    """The range that somebody states, without 0 where empty cells are shown or left out."""
    if low == 0 and high > 0:
        if shown.zeros:
            return Marker(
                text=text, low=1, high=high, cause="primary", evidence=f"{why}, and zeros are shown as 0"
            )
        if shown.sparse:
            return Marker(
                text=text, low=1, high=high, cause="primary", evidence=f"{why}, and empty cells have no row"
            )
    return Marker(text=text, low=low, high=high, cause="primary" if high else "unknown", evidence=why)


def _in_notes(text: str, notes: Sequence[str]) -> tuple[int, int | None, str] | None:
    """What the notes of the file say about a marker; None if they do not explain it."""
    sign = re.compile(rf"(?:^|[\s\"'“‘(\[]){re.escape(text)}{_EXPLAINS}(.*)", re.IGNORECASE) if text else None
    for note in notes:
        said = (
            sign.search(note) if sign else re.search(r"((?:blank|empty|count|cell).*)", note, re.IGNORECASE)
        )
        if not said or (not text and not _HIDES.search(note)):
            continue
        meaning = said[1][:200]
        quoted = f'a note says "{textwrap.shorten(note, 80, placeholder=" ...")}"'
        for pattern, shift in ((_BETWEEN, 0), (_BELOW, 1), (_UP_TO, 0)):
            if match := pattern.search(meaning):
                numbers = [int(group) for group in match.groups() if group]
                if pattern is _BETWEEN:
                    if numbers[0] > numbers[1]:
                        continue
                    return numbers[0], numbers[1], quoted
                return 0, max(numbers[0] - shift, 0), quoted
        if _NOTHING.search(meaning) and not _HIDES.search(meaning):
            return 0, 0, quoted
        if _NOT_THERE.search(meaning) and not _HIDES.search(meaning):
            return 0, None, quoted
    return None


def _from_gap(text: str, texts: list[str], shown: _Shown) -> Marker:
    """What the gap between 0 and the least published count says about a marker that nobody explains."""
    others = [one for one in texts if one != text]
    gone = folded(text) in _UNAVAILABLE
    if folded(text) in _DASHES and not shown.zeros and (others or shown.least == 1):
        why = "another marker hides small counts" if others else "counts of 1 are shown"
        return Marker(text=text, high=0, evidence=f"zeros are never written as 0, and {why}")
    if any(own_range(one) is not None for one in others):
        why = "small counts have a marker of their own, so this one can hide any count"
        return Marker(text=text, cause="unknown" if gone else "secondary", evidence=why)
    if gone and others:
        return Marker(text=text, evidence="it is used for what is not available")
    if shown.wholly:
        why = f"it stands for all of {shown.wholly} and nowhere else, whatever the counts"
        return Marker(text=text, evidence=why)
    if not _telling(shown, fewest=_MANY if folded(text) in _PLAINLY else _FEWEST):
        return Marker(text=text, evidence=_untold(shown))
    return _gap(text, shown, (shown.least or 1) - 1)


def _untold(shown: _Shown) -> str:
    if shown.least is None:
        return "nothing else is published"
    if shown.least == 1:
        return "counts of 1 are shown, so it does not stand for small ones"
    return f"too few counts are published to tell; the least is {shown.least}"


def _gap(text: str, shown: _Shown, high: int) -> Marker:
    never = f"nothing from 1 to {high} is published" if high > 1 else "1 is never published"
    if shown.zeros:
        return Marker(text=text, low=1, high=high, cause="primary", evidence=f"zeros are shown, and {never}")
    if shown.sparse:
        why = f"{never}, and empty cells have no row"
        return Marker(text=text, low=1, high=high, cause="primary", evidence=why)
    return Marker(text=text, high=high, cause="primary", evidence=f"zeros are not shown, and {never}")


def _telling(shown: _Shown, /, *, fewest: int) -> bool:
    """Whether the gap below the least published count is a rule: above it, every count up to twice as many comes up on average.

    Otherwise it is a table of few or large counts, which leaves such gaps everywhere.
    """
    least = shown.least or 1
    fewest *= (
        2 if least == 2 and shown.step == 1 else 1
    )  # half of those that are near would be expected in the gap
    return least > 1 and shown.near >= fewest and shown.near * shown.step >= least - 1


def _absent(part: PublishedTable, found: Mapping[str, Marker]) -> Marker | None:
    """What a missing row means: nobody, where small counts are marked and empty cells are not listed; None if that is not so."""
    small = [found[text] for text in _used(part) if found[text].high]
    if not small or part.rows + part.hidden.shape[1] >= part.possible or bool((part.counts == 0).any()):
        return None
    return Marker(text="", high=0, evidence="small counts are marked and zeros are never shown")
