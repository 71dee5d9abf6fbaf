"""Release specs for a simulated world: a sound one, and the recipe of 2016."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path

_DATA = """\
name: {name}
events:
  source: taps.parquet
  person: card_id
dimensions:
  mode:     {{column: mode, values: [{modes}]}}
  tap:      {{column: tap, values: ["on", "off"]}}
  date:     {{column: tapped_at, from: {first}, to: {last}}}
  time:     {{column: tapped_at, every: 15min}}
  location: {{column: stop, values: stops.csv}}
tables:
  time-loc: [mode, date, tap, time, location]
  time:     [mode, date, tap, time]
  loc:      [mode, date, tap, location]
privacy:
"""

_SOUND = """\
  unit: person-day
  max_cells: 4
  epsilon: 2.0
  law: discrete-laplace
  zeros: perturb
  suppress: {spurious: 0.001}
  margins: reconcile
  unsafe: false
"""

_AS_IN_2016 = """\
  unit: event
  scale: 1.4
  law: laplace
  zeros: keep
  suppress: {below: 18}
  margins: independent
  unsafe: true
"""


def write_specs(folder: Path, /, *, modes: Sequence[str], first: date, days: int) -> None:
    """Write `spec.yaml` and `spec-2016.yaml` for the events in `folder`."""
    last = first + timedelta(days=days - 1)
    for file, name, privacy in (
        ("spec.yaml", "sound", _SOUND),
        ("spec-2016.yaml", "as-in-2016", _AS_IN_2016),
    ):
        data = _DATA.format(name=name, modes=", ".join(modes), first=first, last=last)
        (folder / file).write_text(data + privacy, encoding="utf-8")
