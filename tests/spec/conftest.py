"""The spec of the design document, and the files beside it."""

import pytest

DESIGN = """\
name: week
events:
  source: taps.parquet            # path, glob, or a table of the engine
  person: card_id
dimensions:
  mode:     {column: mode, values: [train, bus, ferry, lightrail]}
  tap:      {column: tap, values: ["on", "off"]}
  date:     {column: tapped_at, from: 2016-07-25, to: 2016-07-31}
  time:     {column: tapped_at, every: 15min}
  location: {column: stop, values: stops.csv}      # one value per row, first column; or an inline list
tables:
  time-loc: [mode, date, tap, time, location]
  time:     [mode, date, tap, time]
  loc:      [mode, date, tap, location]
privacy:
  unit: person-day                # event | person-day | person
  max_cells: 4                    # base cells per unit; kept at random beyond that
  epsilon: 2.0                    # for all tables together; or  scale: 1.4  for an event-level mechanism as in 2016
  law: discrete-laplace
  zeros: perturb                  # keep = the 2016 flaw; allowed only with  unsafe: true, and said so on the card
  suppress: {spurious: 0.001}     # or {below: 18}
  margins: reconcile              # derive | reconcile | independent (independent needs  unsafe: true)
  unsafe: false
"""

STOPS = """\
stop,mode,postcode
Central,train,2000
Redfern,train,2016
"Lee St, Stand A",bus,2000
Cleveland St,bus,2016
Circular Quay,ferry,2000
UNKNOWN,,UNKNOWN
"""


@pytest.fixture
def design():
    return DESIGN


@pytest.fixture
def folder(tmp_path):
    """A folder with stops.csv."""
    (tmp_path / "stops.csv").write_text(STOPS, encoding="utf-8")
    return tmp_path


@pytest.fixture
def write(folder):
    """Write a spec and give its path."""

    def write(text):
        path = folder / "week.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write
