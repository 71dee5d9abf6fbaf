"""A small town whose people tap often enough to be bounded, and a workload that its tables do not fully answer."""

from types import SimpleNamespace

import numpy as np
import pytest

from noisegate.spec import parse_spec

WORKLOAD = {
    "total": {},
    "by-mode": {"by": ["mode"]},
    "peak": {"where": {"time": "07:00..09:00"}, "by": "mode", "wanted": 5},
    "odd-hours": {"where": {"time": "07:15..08:30"}, "by": "mode"},
    "busiest": {"by": ["stop"], "top": 2},
    "by-colour": {"by": ["colour"]},
}
STOPS = [f"S{n}" for n in range(8)]


@pytest.fixture(scope="session")
def town(tmp_path_factory):
    folder = tmp_path_factory.mktemp("town")
    rng = np.random.default_rng(4)
    lines, moments = ["card,at,mode,stop,colour"], []
    for card in range(1500):
        for _ in range(int(rng.integers(1, 6))):
            hour = int(np.clip(rng.normal(rng.choice([8, 17]), 1.5), 0, 23))
            minute = int(rng.integers(60))
            stop = STOPS[min(7, int(rng.geometric(0.35)) - 1)]
            mode = "train" if stop < "S5" else "bus"
            day = 25 + int(rng.integers(2))
            lines.append(f"c{card},2016-07-{day} {hour:02d}:{minute:02d}:00,{mode},{stop},red")
            moments.append((mode, hour * 60 + minute, stop))
    (folder / "taps.csv").write_text("\n".join(lines) + "\n")

    def spec(*, workload=WORKLOAD, tables=None, **privacy):
        block = {"unit": "person-day", "max_cells": 2, "epsilon": 1, "margins": "reconcile", **privacy}
        return parse_spec(
            {
                "name": "town",
                "events": {"source": "taps.csv", "person": "card"},
                "dimensions": {
                    "mode": {"column": "mode", "values": ["train", "bus"]},
                    "date": {"column": "at", "from": "2016-07-25", "to": "2016-07-26"},
                    "time": {"column": "at", "every": "1h"},
                    "stop": {"column": "stop", "values": STOPS},
                    "colour": {"column": "colour", "values": ["red", "blue"]},
                },
                "tables": tables
                or {
                    "base": ["mode", "date", "time", "stop"],
                    "time": ["mode", "date", "time"],
                    "stops": ["mode", "date", "stop"],
                },
                "privacy": block,
                **({"workload": workload} if workload else {}),
            },
            folder=folder,
        )

    return SimpleNamespace(folder=folder, spec=spec, moments=moments)
