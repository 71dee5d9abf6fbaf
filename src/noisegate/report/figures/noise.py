"""Differences of counts that are equal in the raw data, against the recovered law."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from noisegate.pictures.assess_noise import recovered_noise_picture
from noisegate.pictures.inline import fitted, inline_svg, untitled
from noisegate.recovery.curve import DifferenceCurve
from noisegate.report.page import Figure, Grid
from noisegate.report.source import Json, Source
from noisegate.report.words import interval, short

_NAMES = ("difference", "observed", "expected", "simulated")


def noise_figures(source: Source, /) -> Iterator[Figure]:
    """One figure for each table whose differences are stored."""
    for place, table in enumerate(source.tables, 1):
        curve = curve_of(table)
        if curve is not None:
            yield _figure(table, curve, key=f"noise-{place}", level=source.level)


def curve_of(table: Json, /) -> DifferenceCurve | None:
    """The differences of a table's identities; None if they are not stored."""
    curve = (table.get("noise") or {}).get("curve")
    if not isinstance(curve, dict) or not all(isinstance(curve.get(name), list) for name in _NAMES):
        return None
    lengths = {len(curve[name]) for name in _NAMES}
    if len(lengths) != 1 or 0 in lengths:
        return None
    return DifferenceCurve(
        difference=np.asarray(curve["difference"], float),
        observed=np.asarray(curve["observed"], np.int64),
        expected=np.asarray(curve["expected"], float),
        simulated=np.asarray(curve["simulated"], np.int64),
    )


def _figure(table: Json, curve: DifferenceCurve, /, *, key: str, level: float) -> Figure:
    noise = table["noise"]
    picture = untitled(recovered_noise_picture(curve, title=""))
    scale = f"scale {short(float(noise['scale']))}" if noise.get("scale") is not None else "no known scale"
    ends = interval(noise.get("interval"))
    sure = f" ({float(noise.get('level') or level):.0%}: {ends})" if ends else ""
    columns = (curve.difference, curve.observed, curve.expected.round(2), curve.simulated)
    return Figure(
        key=key,
        caption=(
            f"Differences of counts in {table.get('name')} that are equal in the raw data: what is left is noise. "
            "Bars: observed. Dots: the recovered law. Dashed: one simulation from it."
        ),
        alt=(
            f"Bar chart of {int(curve.observed.sum()):,} differences around zero. The recovered noise has {scale}{sure}, "
            "and its law follows the bars."
        ),
        svg=inline_svg(fitted(picture, height=250), key=key),
        data=Grid.of(
            "Differences, and how often they occur",
            _NAMES,
            zip(*(column.tolist() for column in columns), strict=True),
        ),
        about=("noise-recovered",),
        table=str(table.get("name")),
    )
