"""Who shows: the chance that a group in an otherwise empty cell is published, by its size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from noisegate.mechanisms.privacy import detection
from noisegate.pictures.groups import groups_picture
from noisegate.pictures.inline import inline_svg
from noisegate.report.mechanism import mechanism_of, zeros_rule
from noisegate.report.page import Figure, Grid
from noisegate.report.source import Source
from noisegate.report.words import chance

#: Groups up to the cut, but no fewer and no more than these.
_FEWEST, _MOST = 12, 60


def detection_figures(source: Source, /) -> Iterator[Figure]:
    """The chance by size of the group; nothing where zeros get noise, and so no value proves anything."""
    mechanism, rule = mechanism_of(source.base, source), zeros_rule(source)
    if mechanism is None or rule == "perturb":
        return
    kept = replace(mechanism, zeros="keep")
    sizes = range(1, min(max(kept.whole_threshold or 0, _FEWEST), _MOST) + 1)
    chances = {size: p for size in sizes if (p := detection(kept, size)) > 0}
    if not chances:
        return
    doubt = "" if rule else " This holds if empty cells get no noise, which these tables do not decide."
    one, twelve = chances.get(1, 0.0), chances.get(12, 0.0)
    yield Figure(
        key="groups",
        caption=(
            f"Who shows in {source.base.get('name')}: the chance that people in a cell that would otherwise be empty are "
            f"published, and so proved to have been there.{doubt}"
        ),
        alt=(
            f"Rising line on a logarithmic scale. One person shows with a chance of {chance(one)}, a group of 12 with "
            f"{chance(twelve)}."
        ),
        svg=inline_svg(groups_picture(list(chances), list(chances.values())), key="groups"),
        data=Grid.of(
            "Chance of showing, by size of the group",
            ("people", "probability", "odds"),
            ((size, float(f"{p:.3g}"), chance(p)) for size, p in chances.items()),
        ),
        about=("zeros-kept", "privacy-loss"),
    )
