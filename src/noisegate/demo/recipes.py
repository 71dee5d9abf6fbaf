"""The three releases of the story, as specs that a person could have written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from noisegate.simulation import World

#: Stops belong to one mode, and the wharves of a quay are one place, so that no service is closed any more.
_DIMENSIONS = """\
name: {name}
events:
  source: taps.parquet
  person: card_id
dimensions:
  mode:     {{column: mode, values: [train, bus, ferry, lightrail]}}
  tap:      {{column: tap, values: ["on", "off"]}}
  date:     {{column: tapped_at, from: {first}, to: {last}}}
  time:     {{column: tapped_at, every: 15min}}
  location: {{column: stop, values: stops.csv, only: {{mode: mode}}, group_by: {{postcode: {{mode: [ferry]}}}}}}
tables:
  time-loc: [mode, date, tap, time, location]
  time:     [mode, date, tap, time]
  loc:      [mode, date, tap, location]
privacy:
"""

_CORRECTED = """\
  unit: event
  scale: 1.4
  law: discrete-laplace
  zeros: perturb
  suppress: {below: 18}
  margins: reconcile
  unsafe: false
"""

_PERSON_DAY = """\
  unit: person-day
  max_cells: 4
  epsilon: 2.0
  law: discrete-laplace
  zeros: perturb
  suppress: {spurious: 0.001}
  margins: reconcile
  unsafe: false
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """One way to release the same events."""

    key: str
    title: str
    spec: Path
    unit: str


def write_recipes(world: World, last: str, /) -> tuple[Recipe, ...]:
    """The recipe of 2016, which the world brings along, and two sound ones, written beside its events."""
    made = [Recipe(key="2016", title="as in 2016", spec=world.spec_2016, unit="event")]
    for key, title, privacy, unit in (
        ("corrected", "corrected", _CORRECTED, "event"),
        ("person-day", "for persons", _PERSON_DAY, "person-day"),
    ):
        spec = world.folder / f"spec-{key}.yaml"
        spec.write_text(
            _DIMENSIONS.format(name=key, first=world.first, last=last) + privacy, encoding="utf-8"
        )
        made.append(Recipe(key=key, title=title, spec=spec, unit=unit))
    return tuple(made)
