"""Tables, a release, events and a timetable whose names were chosen by somebody who wants to harm whoever looks at them."""

import csv
import io
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import yaml

import noisegate
from noisegate.laws import DiscreteLaplace, SeededNoise
from noisegate.mechanisms import Mechanism
from noisegate.testing import make_world

IMAGE = "<img src=x onerror=window.harmed=1>"
SCRIPT = "</script><script>window.harmed=1</script>"
NAMES = (
    IMAGE,
    SCRIPT,
    "'\"`; --",
    "\u202egnp.exe",
    f"long {'x' * 300}",
    "two\nlines",
    "nul\u2400\x07",
    "__proto__",
    "constructor",
    "=cmd|' /C calc'!A0",
    "javascript:window.harmed=1",
    "{{7*7}}${window.harmed=1}",
    "../../etc/passwd%00",
    "<svg/onload=window.harmed=1>",
    "a\tb",
    "☃ \u2066é\u2069",
)


def write_hostile_tables(folder: Path) -> None:
    """Tables with hidden cells: columns `__proto__` and `<img ...>`, the names above as values."""
    folder.mkdir(parents=True)
    world = make_world(
        {"__proto__": 8, "two": len(NAMES)},
        margins={"sums": ["two"]},
        mechanism=Mechanism(law=DiscreteLaplace(1.4), threshold=10, rule="ge", zeros="perturb"),
        rng=np.random.default_rng(1),
    )
    plain = folder.parent / "plain-world"
    plain.mkdir()
    world.write(plain)
    labels = {one: NAMES[k] for k, one in enumerate(_labels(plain, "two"))}
    for place, file in enumerate(sorted(plain.iterdir())):
        head, *rows = csv.reader(io.StringIO(file.read_text()))
        where = head.index("two")
        # Not at the start of a file: what begins with `<` is refused as XML.
        head[where] = f"a {IMAGE}"
        for row in rows:
            row[where] = labels[row[where]]
        with (folder / f"{place} {IMAGE.replace('/', '')}.csv").open("w", newline="") as stream:
            csv.writer(stream).writerows([head, *rows])
        file.unlink()
    plain.rmdir()


def _labels(folder: Path, column: str) -> list[str]:
    found: dict[str, None] = {}
    for file in sorted(folder.iterdir()):
        for row in csv.DictReader(io.StringIO(file.read_text())):
            if column in row:
                found[row[column]] = None
    return list(found)


def write_hostile_release(data: Path) -> None:
    """A release of taps at these places, its spec and its events."""
    own = data / "custodian-hostile"
    own.mkdir()
    rng = np.random.default_rng(2)
    n = 4000
    weights = np.linspace(4, 1, len(NAMES))
    taps = pa.table(
        {
            "card": rng.integers(0, 900, n),
            "constructor": rng.choice(["bus", SCRIPT], n),
            IMAGE: rng.choice(np.array(NAMES, object), n, p=weights / weights.sum()).tolist(),
        }
    )
    pq.write_table(taps, own / f"{IMAGE.replace('/', '')}.parquet")
    pq.write_table(taps, own / "taps.parquet")
    spec = {
        "name": "hostile",
        "events": {"source": "taps.parquet", "person": "card"},
        "dimensions": {
            "constructor": {"column": "constructor", "values": ["bus", SCRIPT]},
            "stop": {"column": IMAGE, "values": list(NAMES)},
        },
        "tables": {"cells": ["constructor", "stop"], "constructor": ["stop"]},
        "privacy": {
            "unit": "event",
            "scale": 1.4,
            "law": "laplace",
            "zeros": "keep",
            "suppress": {"below": 18},
            "margins": "independent",
            "unsafe": True,
        },
        "workload": {"constructor": {"by": ["constructor"]}},
    }
    (own / "spec-hostile.yaml").write_text(yaml.safe_dump(spec, sort_keys=False))
    noisegate.release(
        own / "spec-hostile.yaml",
        out=data / "hostile-release",
        ledger=data.parent / "ledger.db",
        entropy=SeededNoise(seed=1),
    )


def write_hostile_city(data: Path) -> None:
    """A day in a small city with a timetable, one of whose stops is called like an image."""
    world = noisegate.simulate(data / "town" / "city", days=1, persons=1500, seed=3)
    city = data / "town" / "city"
    feed = city / "gtfs.zip"
    with zipfile.ZipFile(feed) as packed:
        files = {name: packed.read(name) for name in packed.namelist()}
    taps = pq.read_table(city / "taps.parquet")
    busiest = pc.value_counts(taps["stop"]).to_pylist()
    name = max((one for one in busiest if one["values"] != "UNKNOWN"), key=lambda one: one["counts"])[
        "values"
    ]
    files["stops.txt"] = files["stops.txt"].replace(name.encode(), IMAGE.encode())
    with zipfile.ZipFile(feed, "w") as packed:
        for one, content in files.items():
            packed.writestr(one, content)
    (city / "stops.csv").write_text((city / "stops.csv").read_text().replace(name, IMAGE))
    where = taps.column_names.index("stop")
    renamed = pc.replace_substring(taps["stop"].cast(pa.string()), name, IMAGE)
    pq.write_table(taps.set_column(where, "stop", renamed), city / "taps.parquet")
    noisegate.release(
        world.spec_2016,
        out=data / "town" / "release",
        ledger=data.parent / "ledger.db",
        entropy=SeededNoise(seed=1),
    )
