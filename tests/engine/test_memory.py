"""The memory of a release does not grow with events, persons or non-zero cells: three sizes, beyond what memory may hold."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc"),
]
SIZES = (1_000_000, 2_000_000, 4_000_000)
RELEASE = """
import pathlib, re
from noisegate import limits
from noisegate.engine import CellRuns
from noisegate.releases import release
from noisegate.spec import load_spec
CellRuns.at_once = 1 << 18
small = {"events_at_once": 1 << 18, "pairs_at_once": 1 << 16, "dense_cells": 1 << 18, "summed_cells": 1 << 18}
with limits.override(engine_megabytes=200, **small):
    made = release(load_spec(pathlib.Path("spec.yaml")), out=pathlib.Path("out"), ledger="ledger.sqlite")
# A process inherits the peak that getrusage gives from the one that starts it; this one is its own.
peak = re.search(r"VmHWM:\\s+(\\d+)", pathlib.Path("/proc/self/status").read_text())
print(made.tally.counted, int(peak[1]) // 1024)
"""


def measured(folder, *, events, unit, margins):
    """Counted events and peak megabytes of one release in a process of its own."""
    rng = np.random.default_rng(1)
    stops = [f"Stop {n}" for n in range(20_000)]
    seconds = rng.integers(0, 3 * 86400, events)
    table = {
        "card_id": rng.integers(0, events // 10, events),
        "tapped_at": np.datetime64("2016-07-25", "us") + seconds.astype("timedelta64[s]"),
        "stop": pa.DictionaryArray.from_arrays(
            pa.array(rng.integers(0, len(stops), events), pa.int32()), pa.array(stops)
        ),
    }
    folder.mkdir()
    pq.write_table(pa.table(table), folder / "taps.parquet", row_group_size=1 << 17, store_schema=False)
    bound = {} if unit == "event" else {"max_cells": 4}
    spec = {
        "name": "memory",
        "population": "memory",
        "events": {"source": "taps.parquet", "person": "card_id"},
        "dimensions": {
            "date": {"column": "tapped_at", "from": "2016-07-25", "to": "2016-07-27"},
            "time": {"column": "tapped_at", "every": "1min"},
            "location": {"column": "stop", "values": stops},
        },
        "tables": {"base": ["date", "time", "location"], "loc": ["date", "location"]},
        "privacy": {"unit": unit, "epsilon": 8, "margins": margins, "unsafe": True, **bound}
        | {"suppress": {"spurious": 0.0001}},
    }
    (folder / "spec.yaml").write_text(yaml.safe_dump(spec))
    done = subprocess.run(
        [sys.executable, "-c", RELEASE], cwd=folder, capture_output=True, text=True, check=True
    )
    counted, megabytes = map(int, done.stdout.split()[-2:])
    return counted, megabytes


@pytest.mark.parametrize(("unit", "margins"), [("event", "derive"), ("person-day", "independent")])
def test_memory_does_not_grow(tmp_path, unit, margins):
    found = [measured(tmp_path / str(n), events=n, unit=unit, margins=margins) for n in SIZES]
    counted, megabytes = zip(*found, strict=True)
    assert counted[-1] > 3 * counted[0]
    assert megabytes[-1] < 1.15 * megabytes[0] + 20, megabytes
