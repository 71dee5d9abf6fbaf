"""What the base publishes for a raw count."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from noisegate.pictures.inline import inline_svg
from noisegate.pictures.responses import responses_picture
from noisegate.report.mechanism import mechanism_of, zeros_rule
from noisegate.report.page import Figure, Grid
from noisegate.report.source import Source
from noisegate.report.words import percent


def response_figures(source: Source, /) -> Iterator[Figure]:
    """What becomes of an empty cell, of a count just below the cut, and of one just above it."""
    mechanism = mechanism_of(source.base, source)
    if mechanism is None:
        return
    first = 0 if zeros_rule(source) else 1
    around = mechanism.whole_threshold if mechanism.whole_threshold is not None else 10
    counts = [first, max(around - 2, 2), around + 2]
    shown = {
        count: float(np.exp(mechanism.response(count).log_published)) for count in range(first, around + 8)
    }
    cut = (
        f" Orange: nothing is published, as the value is below {around}." if mechanism.whole_threshold else ""
    )
    yield Figure(
        key="responses",
        caption=(
            f"What {source.base.get('name')} publishes for raw counts of {counts[0]:,}, {counts[1]:,} and {counts[2]:,}, "
            f"under the noise that was recovered or stated.{cut}"
        ),
        alt=(
            f"Three bar charts of the published value. A raw count of {counts[1]:,} is published in "
            f"{percent(shown[counts[1]])} of cases, one of {counts[2]:,} in {percent(shown[counts[2]])}."
        ),
        svg=inline_svg(responses_picture(mechanism, counts), key="responses"),
        data=Grid.of(
            "Probability of being published, by raw count",
            ("raw count", "published", "not published"),
            ((count, float(f"{p:.4g}"), float(f"{1 - p:.4g}")) for count, p in shown.items()),
        ),
    )
