"""Pictures that stand inside a page: SVG that scales, takes the page's font, and turns dark with it.

All colours are those listed here, so that a page can name each one's partner for dark screens. A picture
holds no script, no link and nothing to be fetched; texts that came from data are escaped by the converter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import altair as alt
import vl_convert

from noisegate.pictures.canvas import BLUE, GREEN, GREY, INK, ORANGE, Picture

#: Width of a picture in its own units: narrow enough for a phone to show its letters.
WIDTH = 420
QUIET, GRID, PAPER = "#555555", "#E3E6E8", "#FFFFFF"
#: From nothing to everything, for three kinds of things; nothing looks the same in all.
NOTHING = "#F1F4F6"
BLUES = ("#CFE3F1", "#9AC6E3", "#5AA3CF", "#1B7AB3", "#064A73")
GREYS = ("#E3E7EA", "#D2D8DC", "#C0C7CD", "#AEB7BE", "#9CA6AE")
ORANGES = ("#F9DCC4", "#F3B68A", "#E88B4D", "#CF6212", "#8A3D00")

#: How an axis says chances: 1 in so many.
ODDS = "'1 in ' + format(1 / datum.value, datum.value >= 0.5 ? '.1~f' : ',.0f')"

#: The partner of each colour on a dark page.
DARK: Mapping[str, str] = {
    INK: "#E8EAED",
    QUIET: "#B4B9BF",
    GREY: "#8E959C",
    GRID: "#33393F",
    PAPER: "#16191C",
    BLUE: "#62B1E5",
    ORANGE: "#F2925A",
    GREEN: "#4CC3A0",
    NOTHING: "#21262A",
    **dict(zip(BLUES, ("#173C54", "#1B567B", "#2A79A8", "#57A6D6", "#A9D6F5"), strict=True)),
    **dict(zip(GREYS, ("#2A3035", "#343B41", "#3F474E", "#4B545B", "#58626A"), strict=True)),
    **dict(zip(ORANGES, ("#4A2A12", "#77421A", "#B0632A", "#E58C4C", "#FFC79C"), strict=True)),
}

#: Transparent, quiet axes, letters of one size; nothing for readers of alternatives, who have the page's.
_LOOK = {
    "font": "sans-serif",
    "padding": 4,
    "background": "transparent",
    "aria": False,
    "view": {"stroke": None},
    "axis": {
        "labelColor": QUIET,
        "titleColor": INK,
        "titleFontWeight": "normal",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titlePadding": 8,
        "labelFlush": False,
        "gridColor": GRID,
        "domainColor": GREY,
        "tickColor": GREY,
    },
    "title": {"color": INK, "anchor": "start", "fontSize": 12, "fontWeight": "normal", "offset": 6},
    "legend": {
        "labelColor": INK,
        "titleColor": INK,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "orient": "top",
        "symbolSize": 90,
    },
}
_ID = re.compile(r'\bid="([^"]+)"')
_OPEN = re.compile(r"^<svg\b[^>]*>")
_VIEW = re.compile(r'viewBox="([-\d. ]+)"')


def inline_svg(chart: Picture, /, *, key: str) -> str:
    """`chart` as SVG for a page; `key` keeps its names apart from those of other pictures."""
    # Altair copies all data with every setting, so the look is set on what it makes.
    spec = {**chart.to_dict(validate=False), "config": _LOOK}
    return prepared(vl_convert.vegalite_to_svg(spec, allowed_base_urls=[]), key=key)


def prepared(svg: str, /, *, key: str) -> str:
    """The SVG without a size of its own, its names made unique by `key`, hidden from readers of its alternative."""
    opening = _OPEN.match(svg)
    view = _VIEW.search(opening.group()) if opening else None
    if opening is None or view is None:
        raise ValueError("the converter gave no SVG with a view box")
    body = svg[opening.end() :]
    # Names are numbered in the order they appear: the converter counts on from picture to picture.
    for place, name in enumerate(dict.fromkeys(_ID.findall(body))):
        body = body.replace(f'id="{name}"', f'id="{key}-{place}"').replace(
            f"url(#{name})", f"url(#{key}-{place})"
        )
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{view.group(1)}" aria-hidden="true" focusable="false">{body}'


def untitled(chart: Picture, /) -> Picture:
    """`chart` without its title: a page has captions instead."""
    copy = chart.copy()
    copy.title = alt.Undefined
    return copy


def fitted(chart: Picture, /, *, height: int = 240) -> Picture:
    """One view, axes included, in the width of a page's picture."""
    return chart.properties(width=WIDTH, height=height, autosize={"type": "fit", "contains": "padding"})


def dark_rules(prefix: str, /) -> Iterator[str]:
    """CSS that gives every colour of our pictures its partner, for a page that is dark."""
    for light, dark in DARK.items():
        for what in ("fill", "stroke"):
            yield f'{prefix} [{what}="{light}"]{{{what}:{dark}}}'


def coloured(names: Sequence[str], colours: Sequence[str], /) -> alt.Scale:
    """A colour for each name, in the same order everywhere."""
    return alt.Scale(domain=list(names), range=list(colours[: len(names)]))
