"""Pictures of the gallery that no assessment draws by itself."""  # noqa: INP001 - a folder of scripts

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from noisegate.pictures import BLUE, GREY, INK, ORANGE, Picture, rows

_WIDE = 430


def ranges_picture(
    listed: Sequence[Mapping[str, Any]],
    names: Sequence[str],
    /,
    *,
    title: str,
    truth: Sequence[int] | None = None,
) -> Picture:
    """For each count what was shown of it (grey) and what is proven (orange)."""
    order = alt.EncodingSortField(field="place", order="ascending")
    y = alt.Y("name:N", sort=order, title=None, axis=alt.Axis(labelLimit=320, grid=False))
    data = rows(
        name=list(names),
        place=range(len(names)),
        low=[one["shown_as"][0] - 0.3 for one in listed],
        high=[one["shown_as"][1] + 0.3 for one in listed],
        least=[one["low"] - 0.3 for one in listed],
        most=[one["high"] + 0.3 for one in listed],
    )
    x = alt.X("low:Q", title="people", scale=alt.Scale(nice=False, zero=False), axis=alt.Axis(tickMinStep=1))
    shown = alt.Chart(data).mark_bar(color=GREY, opacity=0.35, height=12).encode(x=x, x2="high:Q", y=y)
    known = alt.Chart(data).mark_bar(color=ORANGE, height=12).encode(x="least:Q", x2="most:Q", y=y)
    layers = [shown, known]
    if truth is not None:
        true = rows(name=list(names), place=range(len(names)), count=list(truth))
        layers.append(alt.Chart(true).mark_tick(color=INK, thickness=2, height=16).encode(x="count:Q", y=y))
    legend = "grey: what was shown; orange: what the other counts leave" + (
        "; black: the truth" if truth is not None else ""
    )
    return alt.layer(*layers).properties(
        width=_WIDE, height=alt.Step(20), title=alt.Title(title, subtitle=legend)
    )


def bars_picture(
    names: Sequence[Any],
    values: Sequence[float],
    /,
    *,
    title: str,
    x: str,
    y: str,
    errors: Sequence[float] = (),
) -> Picture:
    """Bars of chances, with two standard errors if there are any."""
    order = alt.EncodingSortField(field="place", order="ascending")
    across = alt.X("name:O", title=x, sort=order, axis=alt.Axis(labelAngle=0))
    data = rows(name=list(names), place=range(len(names)), value=list(values))
    layers = [
        alt.Chart(data)
        .mark_bar(color=BLUE, size=26)
        .encode(x=across, y=alt.Y("value:Q", title=y, scale=alt.Scale(domain=[0, 1])))
    ]
    if errors:
        spread = rows(
            name=list(names),
            place=range(len(names)),
            low=[max(v - 2 * e, 0) for v, e in zip(values, errors, strict=True)],
            high=[v + 2 * e for v, e in zip(values, errors, strict=True)],
        )
        layers.append(
            alt.Chart(spread).mark_rule(color=INK).encode(x=across, y=alt.Y("low:Q", title=y), y2="high:Q")
        )
    return alt.layer(*layers).properties(width=_WIDE, height=220, title=title)


def claims_picture(
    claims: Mapping[str, float], low: float, best: float, high: float, /, *, title: str
) -> Picture:
    """What is claimed (orange) beside what the tables show (blue), on one axis."""
    names = [*claims, "the tables show"]
    order = alt.EncodingSortField(field="place", order="ascending")
    y = alt.Y("name:N", sort=order, title=None, axis=alt.Axis(labelLimit=240, grid=False))
    claimed = rows(name=list(claims), place=range(len(claims)), scale=list(claims.values()))
    seen = rows(name=["the tables show"], place=[len(claims)], low=[low], high=[high], best=[best])
    x = alt.X("scale:Q", title="scale of the noise", scale=alt.Scale(zero=True, nice=True))
    layers = [
        alt.Chart(claimed).mark_point(color=ORANGE, filled=True, size=110).encode(x=x, y=y),
        alt.Chart(seen).mark_bar(color=BLUE, opacity=0.45, height=14).encode(x="low:Q", x2="high:Q", y=y),
        alt.Chart(seen).mark_point(color=BLUE, filled=True, size=70).encode(x="best:Q", y=y),
    ]
    return alt.layer(*layers).properties(
        width=_WIDE, height=alt.Step(36 if len(names) < 4 else 28), title=title
    )


def counts_picture(
    at: Sequence[int], seen: Sequence[float], expected: Sequence[float], /, *, title: str, law: str, x: str
) -> Picture:
    """How often each difference was seen (bars, with the number) and is expected (dots); small numbers stay visible."""
    order = alt.EncodingSortField(field="place", order="ascending")
    across = alt.X("name:O", title=x, sort=order, axis=alt.Axis(labelAngle=0, grid=False))
    up = alt.Y(
        "value:Q",
        title="how often",
        scale=alt.Scale(type="symlog"),
        axis=alt.Axis(values=[0, 1, 10, 100, 1000]),
    )
    colour = alt.Color("kind:N", title=None, scale=alt.Scale(domain=["seen", law], range=[BLUE, ORANGE]))
    bars = rows(name=list(at), place=range(len(at)), value=list(seen), kind=["seen"] * len(at))
    dots = rows(name=list(at), place=range(len(at)), value=list(expected), kind=[law] * len(at))
    drawn = alt.Chart(bars).encode(x=across, y=up)
    layers = [
        drawn.mark_bar(size=18, opacity=0.6).encode(color=colour),
        alt.Chart(dots).mark_point(filled=True, size=40).encode(x=across, y=up, color=colour),
        drawn.transform_filter("datum.value > 0")
        .mark_text(dy=-8, color=INK, fontSize=11)
        .encode(text=alt.Text("value:Q", format=",")),
    ]
    return alt.layer(*layers).properties(width=520, height=240, title=title)


def sets_picture(
    sets: Sequence[tuple[Sequence[str], int]], tables: Sequence[str], drop: Sequence[str], /, *, title: str
) -> Picture:
    """Which tables each smallest set is made of, and how many counts it gives away; tables to leave out in orange."""
    points = [
        (f"{cells} counts · set {k + 1}", one, k) for k, (names, cells) in enumerate(sets) for one in names
    ]
    data = rows(
        set=[one[0] for one in points],
        table=[one[1] for one in points],
        place=[one[2] for one in points],
        kind=["leave out" if one[1] in drop else "keep" for one in points],
    )
    order = alt.EncodingSortField(field="place", order="ascending")
    colour = alt.Color(
        "kind:N",
        scale=alt.Scale(domain=["keep", "leave out"], range=[BLUE, ORANGE]),
        legend=alt.Legend(title=None),
    )
    return (
        alt.Chart(data)
        .mark_point(filled=True, size=160)
        .encode(
            x=alt.X("table:N", title=None, sort=list(tables), axis=alt.Axis(labelAngle=-30, grid=True)),
            y=alt.Y("set:N", title=None, sort=order),
            color=colour,
        )
        .properties(width=alt.Step(70), height=alt.Step(26), title=title)
    )


def points_picture(
    values: Sequence[float], sums: Sequence[float], /, *, title: str, x: str, y: str
) -> Picture:
    """Values against the sums of their parts, as differences over size."""
    data = rows(total=list(values), gap=[a - b for a, b in zip(values, sums, strict=True)])
    zero = alt.Chart(rows(gap=[0])).mark_rule(color=GREY, strokeDash=[4, 3]).encode(y="gap:Q")
    dots = (
        alt.Chart(data)
        .mark_point(filled=True, size=60, color=BLUE)
        .encode(
            x=alt.X("total:Q", title=x, scale=alt.Scale(type="log"), axis=alt.Axis(grid=False, format="~s")),
            y=alt.Y("gap:Q", title=y),
        )
    )
    return alt.layer(zero, dots).properties(width=_WIDE, height=220, title=title)
