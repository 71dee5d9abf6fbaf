"""What a question selects: conditions in words, and the labels they mean.

    mode=ferry                  one label
    mode=ferry|train            any of several
    time=06:00..09:00           times from 06:00 up to 09:00, past midnight if the second is not later
    date=2016-07-25..2016-07-29 days, both included

Whether a dimension holds times or dates is read off its labels. A label such as 06:00-07:00 is a time too.
A range must be made of whole labels: what lies inside a published cell cannot be told apart.
"""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np

from noisegate.errors import SpecError
from noisegate.tables.domain import Domain, Mask
from noisegate.tables.selection import Selection, meant

DAY_S = 86_400
Condition = str | Sequence[str]
Where = Mapping[str, Condition] | str | None

_CLOCK = re.compile(r"(\d{2}):(\d{2})(?::(\d{2}))?", re.ASCII)
_PIECE = re.compile(r"""((?:[^,"']|"[^"]*"|'[^']*')+)(?:,|$)""")
_MOST_LISTED = 8


def conditions_of(where: Where | Iterable[str], /) -> dict[str, tuple[str, ...]]:
    """Conditions by dimension, from a mapping or from text such as "mode=ferry,time=06:00..09:00".

    Examples
    --------
    >>> conditions_of("mode=ferry|train, time=06:00..09:00")
    {'mode': ('ferry', 'train'), 'time': ('06:00..09:00',)}
    """
    if where is None:
        return {}
    if isinstance(where, Mapping):
        return {
            str(name): (value,) if isinstance(value, str) else tuple(map(str, value))
            for name, value in where.items()
        }
    texts = [where] if isinstance(where, str) else list(where)
    found: dict[str, tuple[str, ...]] = {}
    for text in texts:
        for piece in (match.group(1).strip() for match in _PIECE.finditer(text) if match.group(1).strip()):
            name, sign, value = piece.partition("=")
            if not sign or not name.strip() or not value.strip():
                raise SpecError(
                    f"a condition looks like mode=ferry or time=06:00..09:00, got {piece!r}; values with commas "
                    "need quotation marks."
                )
            if name.strip() in found:
                raise SpecError(f"{name.strip()} has two conditions; write {name.strip()}=A|B for either.")
            found[name.strip()] = tuple(_bare(part) for part in value.split("|"))
    return found


def _bare(text: str, /) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def select(
    domain: Domain,
    /,
    *,
    where: Mapping[str, Condition],
    by: Sequence[str],
    merged: Mapping[str, Mapping[str, tuple[str, ...]]],
) -> Selection:
    """The selection that the words mean in `domain`; refuses what it does not have."""
    for name in (*where, *by):
        if name not in domain.names:
            raise SpecError.for_choice("a dimension", found=name, allowed=domain.names)
    if len(set(by)) != len(by):
        raise SpecError(f"'by' names each dimension once, got {', '.join(by)}.")
    masks, cuts = [], []
    for dimension in domain.dimensions:
        given = where.get(dimension.name)
        labels = _Labels(name=dimension.name, labels=dimension.labels, merged=merged.get(dimension.name, {}))
        parts = () if given is None else ((given,) if isinstance(given, str) else tuple(given))
        mask, cut = labels.which(parts) if parts else labels.everything()
        masks.append(mask)
        cuts.append(cut)
    _refuse_cuts(domain, masks, cuts)
    return Selection(domain=domain, masks=tuple(masks), by=tuple(by))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Labels:
    name: str
    labels: tuple[str, ...]
    merged: Mapping[str, tuple[str, ...]]

    def everything(self) -> tuple[Mask, Mask]:
        """All labels."""
        return np.ones(len(self.labels), bool), np.zeros(len(self.labels), bool)

    def which(self, parts: Sequence[str], /) -> tuple[Mask, Mask]:
        """The labels that any of the parts means, and those of which they mean only a part."""
        found = [self._one(part) for part in parts]
        mask = np.logical_or.reduce([whole for whole, _ in found])
        cut = np.logical_or.reduce([some for _, some in found])
        return mask, cut & ~mask & ~self._complete(mask)

    def _complete(self, mask: Mask, /) -> Mask:
        """Merged labels all of whose values are meant one by one."""
        meant = {label for label, here in zip(self.labels, mask, strict=True) if here}
        return np.array([set(self.merged.get(label, ("",))) <= meant for label in self.labels])

    def _one(self, part: str, /) -> tuple[Mask, Mask]:
        if part in self.labels:
            meant = {part, *self.merged.get(part, ())}
            cut = {group for group, values in self.merged.items() if part in values}
            return self._of(meant), self._of(cut)
        first, dots, last = part.partition("..")
        if dots:
            return self._range(part, first.strip(), last.strip())
        raise self._unknown(part)

    def _of(self, meant: set[str], /) -> Mask:
        return np.array([label in meant for label in self.labels])

    def _range(self, part: str, first: str, last: str, /) -> tuple[Mask, Mask]:
        if all(_day(label) for label in self.labels):
            low, high = _day(first), _day(last)
            if low is None or high is None or high < low:
                raise SpecError(
                    f"a range of {self.name} looks like {self.labels[0]}..{self.labels[-1]}, got {part!r}."
                )
            mask = np.array([low <= str(_day(label)) <= high for label in self.labels])
            return self._some(mask, np.zeros_like(mask), part)
        spans = [_span(label) for label in self.labels]
        step = _step(spans)
        if step is None:
            raise SpecError(
                f"{self.name} is a list of names, not of times or dates: {part!r} cannot be a range. "
                f"Write {self.name}=A|B for several. It has {_listed(self.labels)}."
            )
        start, end = _clock(first), _clock(last)
        if start is None or end is None:
            raise SpecError(f"a range of {self.name} looks like 06:00..09:00, got {part!r}.")
        return self._some(*_within(spans, step, start % DAY_S, end), part)

    def _some(self, mask: Mask, cut: Mask, part: str, /) -> tuple[Mask, Mask]:
        if not mask.any() and not cut.any():
            raise SpecError(
                f"no {self.name} lies in {part!r}; it runs from {self.labels[0]} to {self.labels[-1]}."
            )
        return mask, cut

    def _unknown(self, part: str, /) -> SpecError:
        near = difflib.get_close_matches(part, self.labels, n=1, cutoff=0.5)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        return SpecError(f"{self.name} has no {part!r}; it has {_listed(self.labels)}.{hint}")


def _within(
    spans: Sequence[tuple[int, int | None] | None], step: int, start: int, end: int, /
) -> tuple[Mask, Mask]:
    """Labels inside a range of times, and labels that it cuts through."""
    ranges = [(start, end)] if start < end else [(start, DAY_S), (0, end)]
    mask, cut = np.zeros(len(spans), bool), np.zeros(len(spans), bool)
    for place, span in enumerate(spans):
        if span is None:
            continue
        low, high = span[0], span[1] or span[0] + step
        inside = sum(max(0, min(high, b) - max(low, a)) for a, b in ranges)
        mask[place], cut[place] = inside == high - low, 0 < inside < high - low
    return mask, cut


def _refuse_cuts(domain: Domain, masks: Sequence[Mask], cuts: Sequence[Mask], /) -> None:
    """Refuse a question about a part of what a selected cell shows as one."""
    for axis, (dimension, cut) in enumerate(zip(domain.dimensions, cuts, strict=True)):
        for block in domain.blocks if cut.any() else ():
            met = [*masks[:axis], cut, *masks[axis + 1 :]]
            places = [meant(one, met) for one in block.axes]
            if all(place.size for place in places):
                at = block.axis(axis)
                label = dimension.labels[
                    int(block.axes[at].entries[block.axes[at].place(axis), places[at]].min())
                ]
                raise SpecError(
                    f"the question asks for a part of {dimension.name} {label!r}, which is published only as a whole; "
                    "choose borders between labels, or ask for all of it."
                )


def clock_text(at_s: int, /) -> str:
    """A time of day as labels show it."""
    text = f"{at_s // 3600:02d}:{at_s // 60 % 60:02d}"
    return text if at_s % 60 == 0 else f"{text}:{at_s % 60:02d}"


def _listed(labels: Sequence[str], /) -> str:
    shown = ", ".join(labels[:_MOST_LISTED])
    return shown if len(labels) <= _MOST_LISTED else f"{shown}, ... ({len(labels):,} in all)"


def _day(text: str, /) -> str | None:
    try:
        return date.fromisoformat(text).isoformat() if len(text) == 10 else None
    except ValueError:
        return None


def _clock(text: str, /) -> int | None:
    found = _CLOCK.fullmatch(text)
    if not found:
        return None
    hour, minute, second = (int(part or 0) for part in found.groups())
    at_s = hour * 3600 + minute * 60 + second
    return at_s if at_s <= DAY_S and minute < 60 and second < 60 else None


def _span(label: str, /) -> tuple[int, int | None] | None:
    """A label as a time of day: where it starts and, if it says so, where it ends."""
    first, dash, last = label.partition("-")
    start = _clock(first)
    if start is None:
        return None
    if not dash:
        return start, None
    end = _clock(last)
    return None if end is None else (start, end)


def _step(spans: Sequence[tuple[int, int | None] | None], /) -> int | None:
    """The width of a bin, if the labels are times of day; None if they are names."""
    starts = sorted({span[0] for span in spans if span is not None and span[1] is None})
    if not starts:
        return DAY_S if any(span is not None for span in spans) else None
    return min((b - a for a, b in itertools.pairwise(starts)), default=DAY_S)


def kind_of(labels: Sequence[str], /) -> str:
    """What the labels of a dimension are: "day", "time" or "name"."""
    if all(_day(label) for label in labels):
        return "day"
    return "name" if _step([_span(label) for label in labels]) is None else "time"
