"""Small published tables, written to files the way agencies write them."""

import gzip
from itertools import product

import numpy as np
import pytest

MODES = {"bus": 12, "ferry": 4, "train": 9}
SCALE = 1.4


@pytest.fixture
def write(tmp_path):
    """Write text (or bytes) to a file and return its path."""

    def to(name, content, *, encoding="utf-8"):
        path = tmp_path / name
        data = content if isinstance(content, bytes) else content.encode(encoding)
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return to


def publish(rng, raw, *, threshold):
    """The 2016 recipe: noise on what is not zero, rounded, dropped when small; NaN where nothing is shown."""
    noisy = np.rint(raw + rng.laplace(0, SCALE, raw.shape))
    return np.where((raw > 0) & (noisy >= threshold), noisy, np.nan)


@pytest.fixture(scope="session")
def week():
    """Raw counts of a small week: mode and location, date, tap, quarter of an hour; and their labels."""
    rng = np.random.default_rng(5)
    stops = [(mode, f"{mode.title()} stop {k}") for mode, n in MODES.items() for k in range(n)]
    dates = [f"201608{day:02d}" for day in range(8, 15)]
    taps = ["on", "off"]
    times = [f"{minutes // 60:02d}:{minutes % 60:02d}" for minutes in range(300, 1380, 15)]
    size = rng.lognormal(2.6, 1.2, len(stops))
    profile = (
        0.3
        + np.exp(-(((np.arange(len(times)) - 14) / 8) ** 2))
        + np.exp(-(((np.arange(len(times)) - 50) / 9) ** 2))
    )
    mean = size[:, None, None, None] * rng.uniform(0.7, 1.3, (1, 7, 2, 1)) * profile
    raw = rng.poisson(np.broadcast_to(mean, (len(stops), 7, 2, len(times))))
    return {"raw": raw, "stops": stops, "dates": dates, "taps": taps, "times": times}


@pytest.fixture(scope="session")
def week_rows(week):
    """The three tables of the 2016 kind as lists of rows, and the raw counts they came from."""
    rng = np.random.default_rng(6)
    raw = week["raw"]
    base = publish(rng, raw, threshold=18)
    by_mode = {mode: [k for k, (m, _) in enumerate(week["stops"]) if m == mode] for mode in MODES}
    per_time = np.stack([raw[rows].sum(axis=0) for rows in by_mode.values()])
    time = publish(rng, per_time, threshold=35)
    loc = publish(rng, raw.sum(axis=3), threshold=35)
    stops, dates, taps, times = week["stops"], week["dates"], week["taps"], week["times"]
    return {
        "time-loc": [
            (*stops[s], dates[d], taps[p], times[t], int(base[s, d, p, t]))
            for s, d, p, t in product(*map(range, base.shape))
            if not np.isnan(base[s, d, p, t])
        ],
        "time": [
            (mode, dates[d], taps[p], times[t], int(time[m, d, p, t]))
            for m, mode in enumerate(by_mode)
            for d, p, t in product(*map(range, time.shape[1:]))
            if not np.isnan(time[m, d, p, t])
        ],
        "loc": [
            (*stops[s], dates[d], taps[p], int(loc[s, d, p]))
            for s, d, p in product(*map(range, loc.shape))
            if not np.isnan(loc[s, d, p])
        ],
    }


def csv_text(header, rows, *, delimiter=","):
    """Rows as CSV text; values with the delimiter in them are quoted."""

    def field(value):
        text = str(value)
        return f'"{text}"' if delimiter in text else text

    lines = [header, *([field(value) for value in row] for row in rows)]
    return "".join(delimiter.join(map(str, line)) + "\n" for line in lines)


@pytest.fixture
def as_csv():
    return csv_text


@pytest.fixture
def modes():
    """How many stops each mode has in the small week."""
    return MODES


@pytest.fixture(scope="session")
def week_files(tmp_path_factory, week_rows):
    """The three tables as CSV files."""
    folder = tmp_path_factory.mktemp("week")
    headers = {
        "time-loc": ["mode", "loc", "date", "tap", "time", "count"],
        "time": ["mode", "date", "tap", "time", "count"],
        "loc": ["mode", "loc", "date", "tap", "count"],
    }
    files = {}
    for name, rows in week_rows.items():
        files[name] = folder / f"{name}.csv"
        files[name].write_text(csv_text(headers[name], rows))
    return files
