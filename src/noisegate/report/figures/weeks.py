"""Growth by week: being seen, a recurring count, and the loss."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from noisegate.pictures.growth import Growth, growth_picture
from noisegate.pictures.inline import inline_svg
from noisegate.report.page import Figure, Grid
from noisegate.report.source import Json, Source
from noisegate.report.words import chance, number, objects

Curve = list[tuple[float, float]]


def week_figures(source: Source, /) -> Iterator[Figure]:
    """Three panels over the weeks, those that are known."""
    weeks = source.section("weeks") or {}
    seen, width, loss = _seen(weeks), _width(weeks), _loss(weeks)
    panels = [
        Growth(
            title="chance that a recurring group has been proved to be there",
            curves=seen,
            factors=True,
            chances=True,
        )
        if seen
        else None,
        Growth(title="width of the interval of a recurring suppressed count", curves={"": width})
        if width
        else None,
        Growth(title="epsilon of a commuter", curves=loss, factors=True) if loss else None,
    ]
    shown = [panel for panel in panels if panel is not None]
    if not shown:
        return
    yield Figure(
        key="weeks",
        caption=(
            "What every further week adds, if it is released like these with fresh noise. A group recurs once a week in a cell "
            "that would otherwise be empty; a suppressed count recurs in a total that is published; losses add up."
        ),
        alt=f"Curves over the weeks. {_said(weeks, seen, width, loss)}",
        svg=inline_svg(growth_picture(shown), key="weeks"),
        data=Grid.of(
            "Risks by week", ("what", "week", "value"), _points({**seen, "width": width, **loss}), most=80
        ),
        about=("more-weeks",),
    )


def _seen(weeks: Json, /) -> dict[str, Curve]:
    """The chance by week for groups that recur once a week."""
    curves: dict[str, Curve] = {}
    for one in objects(weeks.get("detection")):
        values = one.get("by_week")
        if one.get("occasions_per_week") != 1 or not isinstance(values, list):
            continue
        curve = [
            (float(week), float(p))
            for week, p in enumerate(values, 1)
            if isinstance(p, int | float) and p > 0
        ]
        if curve:
            group = one.get("group")
            curves[f"{number(group)} {'person' if group == 1 else 'people'}"] = curve
    return curves


def _width(weeks: Json, /) -> Curve:
    values = (weeks.get("width") or {}).get("by_week")
    if not isinstance(values, list):
        return []
    return [(float(week), float(v)) for week, v in enumerate(values, 1) if isinstance(v, int | float)]


def _loss(weeks: Json, /) -> dict[str, Curve]:
    """Epsilon of the commuter, in the worst case and by exact composition."""
    growth = objects(weeks.get("loss"))
    chosen = next((one for one in growth if "commuter" in str(one.get("who"))), growth[-1] if growth else {})
    curves: dict[str, Curve] = {}
    for key, name in (("linear", "worst case"), ("tight", "exact composition")):
        curve = [
            (float(at["week"]), float(at[key]))
            for at in objects(chosen.get("by_week"))
            if isinstance(at.get(key), int | float) and isinstance(at.get("week"), int) and at[key] > 0
        ]
        if curve:
            curves[name] = curve
    return curves


def _said(weeks: Json, seen: dict[str, Curve], width: Curve, loss: dict[str, Curve], /) -> str:
    """The last values, in words."""
    horizon = number(weeks.get("horizon"))
    parts = [
        f"a group of {name} is proved with {chance(curve[-1][1])}" for name, curve in list(seen.items())[-1:]
    ]
    if width:
        parts.append(f"the interval shrinks from {width[0][1]:.1f} to {width[-1][1]:.1f}")
    parts += [f"epsilon grows to {curve[-1][1]:,.0f} in the {name}" for name, curve in list(loss.items())[:1]]
    return f"After {horizon} weeks, {', '.join(parts)}."


def _points(curves: dict[str, Curve], /) -> Iterable[tuple[str, float, float]]:
    for name, curve in curves.items():
        every = max(1, len(curve) // 8)
        kept = curve[::every] if (len(curve) - 1) % every == 0 else [*curve[::every], curve[-1]]
        for week, value in kept:
            yield name, week, float(f"{value:.4g}")
