"""Damaged inputs for everything that reads what others wrote: nothing but errors of ours may come out.

    python tests/fuzz/mutate.py TARGET --inputs 1000 [--seed 1] [--atheris]

Seeds are the files of `corpus` and a few made here; each input is one of them with bytes flipped, cut, repeated, spliced or replaced by
words that readers trip over. Prints one line of JSON: how many inputs, what came of them, the longest time, the peak of memory.
An input that raised anything else is written to the folder of --keep, to be added to the corpus once it is mended.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import re
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from datetime import date
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"
FEED = Path(__file__).parents[1] / "feeds" / "night-ferries"
LONGEST_S = 10.0
WORDS = [
    b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"'", b'"', b'""', b"|", b"..", b",", b",,", b";", b"\t", b"\n",
    b"\r", b"=", b":", b"-", b"&a", b"*a", b"<<: *a", b"!!python/object:os.system", b"[", b"]", b"{", b"}", b"%s", b"${x}",
    b"9" * 30, b"-1", b"1e308", b"1e-320", b"NaN", b"Infinity", b"null", b"true", b"0x10", b"1/0", b"1/3", b"24:00", b"25:61",
    b"2016-02-30", b"9999-12-31", b"0001-01-01", b"../../etc/passwd", b"/dev/zero", b"/**", b"\\ud800", b"\\u0000", "é".encode(),
    "\u202e".encode(), "𝟙".encode(), b"A" * 300, b"(" * 60, b"PAR1", b"\x1f\x8b", b"PK\x03\x04", b"SQLite format 3\x00",
]  # fmt: skip


def mutated(seed: bytes, others: list[bytes], chance: random.Random) -> bytes:
    """One seed, damaged in one to six places."""
    octets = bytearray(seed)
    for _ in range(chance.choice([1, 1, 1, 2, 3, 6])):
        place = chance.randrange(len(octets) + 1)
        end = min(len(octets), place + chance.choice([1, 1, 2, 8, 40]))
        match chance.randrange(7):
            case 0 if octets:
                octets[min(place, len(octets) - 1)] ^= 1 << chance.randrange(8)
            case 1:
                octets[place:end] = chance.choice(WORDS)
            case 2:
                octets[place:place] = chance.choice(WORDS)
            case 3:
                del octets[place:end]
            case 4:
                octets[place:place] = octets[place:end] * chance.choice([1, 2, 50])
            case 5:
                other = chance.choice(others)
                start = chance.randrange(len(other) + 1)
                octets[place:end] = other[start : start + chance.choice([4, 30, 200])]
            case 6:
                del octets[place:]
    return bytes(octets[: 1 << 18])


class Target:
    """Something that reads bytes; `seeds` are good ones."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.seeds = self.make_seeds()

    def make_seeds(self) -> list[bytes]:
        name = type(self).__name__.lower()
        return [path.read_bytes() for path in sorted(CORPUS.glob(f"{name}*"))]

    def read(self, octets: bytes, chance: random.Random) -> None:
        raise NotImplementedError


class Reader(Target):
    """Published tables: CSV, packed or not, and Parquet."""

    def make_seeds(self) -> list[bytes]:
        import gzip

        import pyarrow as pa
        import pyarrow.parquet as pq

        path = self.folder / "t.parquet"
        pq.write_table(
            pa.table({"mode": ["bus", "train"] * 20, "day": list(range(40)), "count": list(range(40))}), path
        )
        made = super().make_seeds()
        return [*made, path.read_bytes(), gzip.compress(made[0])]

    def read(self, octets: bytes, chance: random.Random) -> None:
        from noisegate.reading import find_structure, read_table

        path = self.folder / f"t{chance.choice(['.csv', '.csv', '.parquet', '.csv.gz', '.txt'])}"
        path.write_bytes(octets)
        find_structure([read_table(path)])


class Spec(Target):
    """Release specs, files of values, and what a person says of tables."""

    def read(self, octets: bytes, chance: random.Random) -> None:
        from noisegate.reading import load_overrides
        from noisegate.spec import load_spec

        if chance.random() < 0.15:
            (self.folder / "stops.csv").write_bytes(octets)
            (self.folder / "spec.yaml").write_bytes(self.seeds[0])
        else:
            (self.folder / "stops.csv").write_text("stop,mode\nA,bus\nB,train\n")
            (self.folder / "spec.yaml").write_bytes(octets)
        if chance.random() < 0.2:
            load_overrides(self.folder / "spec.yaml")
        load_spec(self.folder / "spec.yaml")


class Where(Target):
    """Conditions in words."""

    def read(self, octets: bytes, chance: random.Random) -> None:
        from noisegate.tables import Dimension, Domain, Selection

        times = tuple(f"{q // 4:02d}:{q % 4 * 15:02d}" for q in range(96))
        domain = Domain.product(
            [
                Dimension(name="mode", values=("train", "ferry")),
                Dimension(name="date", values=("2016-07-25", "2016-07-26", "2016-07-27")),
                Dimension(name="time", values=times),
                Dimension(name="stop", values=("Manly, Wharf 1", "Circular Quay")),
                Dimension(name="zone", values=("07", "12")),
            ]
        )
        text = octets.decode("utf-8", errors=chance.choice(["replace", "surrogateescape"]))
        by = () if chance.random() < 0.7 else tuple(text.split(",")[:2])
        found = Selection.parse(text, domain, by=by, whole=chance.random() < 0.5)
        assert all(((share >= 0) & (share <= 1)).all() for share in found.shares)


class Card(Target):
    """Cards, alone and beside the tables of a release."""

    def make_seeds(self) -> list[bytes]:
        import pyarrow as pa

        from noisegate import release

        taps = {"card": [f"c{n % 40}" for n in range(300)], "line": ["ABC"[n % 3] for n in range(300)]}
        spec = {
            "name": "day",
            "events": {"person": "card"},
            "budget": {"dataset": "example", "epsilon": 100},
            "dimensions": {"line": {"column": "line", "values": ["A", "B", "C", "D"]}},
            "tables": {"lines": ["line"]},
            "privacy": {"unit": "person", "max_cells": 2, "epsilon": 2, "suppress": {"below": 3}},
        }
        release(
            spec, events=pa.table(taps), out=self.folder / "day", ledger=self.folder / "l.sqlite", yes=True
        )
        return [*super().make_seeds(), (self.folder / "day" / "card.json").read_bytes()]

    def read(self, octets: bytes, chance: random.Random) -> None:
        from noisegate.query import open_release
        from noisegate.tables import Card as StatedCard

        if chance.random() < 0.03:
            (self.folder / "day" / "card.json").write_bytes(octets)
            open_release(self.folder / "day").answer(by=["line"])
            return
        card = StatedCard.read(octets)
        json.dumps(card.to_json(), ensure_ascii=False).encode()
        card.build_domain()


class Gtfs(Target):
    """Timetables, as folders and as archives."""

    def make_seeds(self) -> list[bytes]:
        return [path.read_bytes() for path in sorted(FEED.glob("*.txt"))]

    def read(self, octets: bytes, chance: random.Random) -> None:
        import shutil
        import zipfile

        from noisegate.timetable import read_feed

        place, names = self.folder / "feed", [path.name for path in sorted(FEED.glob("*.txt"))]
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(FEED, place)
        alike = [name for name, seed in zip(names, self.seeds, strict=True) if seed[:8] == octets[:8]]
        (place / chance.choice(alike or names)).write_bytes(octets)
        if chance.random() < 0.3:
            with zipfile.ZipFile(self.folder / "feed.zip", "w") as archive:
                for name in names:
                    archive.write(place / name, name)
            if chance.random() < 0.5:
                whole = (self.folder / "feed.zip").read_bytes()
                (self.folder / "feed.zip").write_bytes(mutated(whole, [octets], chance))
            place = self.folder / "feed.zip"
        feed = read_feed(place)
        feed.visits([feed.first_date or date(2016, 7, 25)])


class Ledger(Target):
    """Ledgers in a file."""

    def make_seeds(self) -> list[bytes]:
        from noisegate.ledger import open_ledger

        path = self.folder / "good.sqlite"
        with open_ledger(path) as book:
            for n in range(3):
                book.set_budget(f"taps{n % 2}", epsilon="10", unit="person")
                facts = {
                    "release": f"r{n}",
                    "spec_digest": "0" * 64,
                    "output": self.folder / "none" / f"o{n}",
                }
                paid = book.reserve(f"taps{n % 2}", epsilon="1/7", unit="person", **facts)
                if n:
                    book.publish(paid.id, card_digest="1" * 64)
        return [path.read_bytes()]

    def read(self, octets: bytes, chance: random.Random) -> None:
        from noisegate.ledger import account_document, open_ledger

        path = self.folder / "l.sqlite"
        path.write_bytes(octets)
        with open_ledger(path, read_only=True) as book:
            book.history()
            book.check()
            [account_document(one) for one in book.accounts()]
        if chance.random() < 0.1:
            with open_ledger(path) as book:
                facts = {"release": "x", "spec_digest": "0" * 64, "output": self.folder / "none" / "x"}
                book.reserve("taps0", epsilon="1/7", unit="person", **facts)


class Events(Target):
    """Raw events: CSV, packed or not, and Parquet."""

    def make_seeds(self) -> list[bytes]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = self.folder / "e.parquet"
        rows = {
            "card": [f"c{n % 7}" for n in range(60)],
            "at": ["2016-07-25 06:15:00"] * 60,
            "stop": ["A", "B"] * 30,
        }
        pq.write_table(pa.table(rows), path)
        return [*super().make_seeds(), path.read_bytes()]

    def read(self, octets: bytes, chance: random.Random) -> None:
        from noisegate.engine import count
        from noisegate.laws import OsNoise
        from noisegate.spec import parse_spec

        name = f"taps{'.parquet' if b'PAR1' in octets[:8] else chance.choice(['.csv', '.csv', '.csv.gz'])}"
        (self.folder / name).write_bytes(octets)
        spec = {
            "name": "day",
            "events": {"source": name, "person": "card"},
            "dimensions": {
                "stop": {"column": "stop", "values": ["A", "B"]},
                "date": {"column": "at", "from": "2016-07-25", "to": "2016-07-26"},
            },
            "tables": {"base": ["date", "stop"]},
            "privacy": {"unit": "person-day", "max_cells": 2, "epsilon": "1"},
        }
        count(parse_spec(spec, folder=self.folder), entropy=OsNoise())


TARGETS = {kind.__name__.lower(): kind for kind in (Reader, Spec, Where, Card, Gtfs, Ledger, Events)}


class TooLong(BaseException):
    """An input took longer than it may."""


def _ring(*_: object) -> None:
    raise TooLong


def tried(target: Target, octets: bytes, chance: random.Random) -> str:
    """What came of one input: read, or the kind of our error; anything else is what must not be."""
    from noisegate.errors import InternalError, NoisegateError

    # By the clock of the processor, so that a busy machine damages nothing; what waits for ever is stopped by that on the wall.
    signal.setitimer(signal.ITIMER_PROF, LONGEST_S)
    signal.setitimer(signal.ITIMER_REAL, 12 * LONGEST_S)
    try:
        target.read(octets, chance)
    except InternalError as error:
        return f"! InternalError: {error}"
    except NoisegateError as error:
        return type(error).__name__ if "\n" not in str(error) else f"! several lines: {error}"
    except TooLong:
        return "! more than 10 s"
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what this looks for
        import traceback

        frame = traceback.extract_tb(error.__traceback__)[-1]
        return f"! {type(error).__name__} at {Path(frame.filename).name}:{frame.lineno}: {str(error)[:80]}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
    return "read"


def run(name: str, inputs: int, *, seed: int, keep: Path | None) -> dict[str, object]:
    """So many damaged inputs for one target."""
    signal.signal(signal.SIGALRM, _ring)
    signal.signal(signal.SIGPROF, _ring)
    outcomes: Counter[str] = Counter()
    longest = 0.0
    with tempfile.TemporaryDirectory(prefix="ng-fuzz-") as folder:
        target = TARGETS[name](Path(folder))
        for number in range(inputs):
            chance = random.Random(f"{name} {seed} {number}")
            octets = mutated(chance.choice(target.seeds), target.seeds, chance)
            began = time.process_time()
            outcome = tried(target, octets, chance)
            longest = max(longest, time.process_time() - began)
            if outcome.startswith("!") and keep is not None:
                (keep / f"{name}-{seed}-{number}").write_bytes(octets)
            outcomes[outcome] += 1
    peak = _peak_mib()
    return {
        "target": name,
        "inputs": inputs,
        "outcomes": outcomes,
        "longest_s": round(longest, 2),
        "peak_mib": peak,
    }


def with_atheris(name: str, inputs: int) -> None:
    """The same targets, steered by what code they reach; needs the package atheris.

    Loops are not compiled, since Numba knows no instrumented code. Timetables and events are read by threads of the engine,
    which libFuzzer waits for in vain: they have only the other way.
    """
    import os

    os.environ["NUMBA_DISABLE_JIT"] = "1"
    import atheris

    with atheris.instrument_imports(include=["noisegate"]):
        from noisegate import engine, ledger, query, reading, spec, tables, timetable

        assert all((engine, ledger, query, reading, spec, tables, timetable))
    signal.signal(signal.SIGALRM, _ring)
    signal.signal(signal.SIGPROF, _ring)
    with tempfile.TemporaryDirectory(prefix="ng-fuzz-") as folder, tempfile.TemporaryDirectory() as found:
        target = TARGETS[name](Path(folder))
        for number, seed in enumerate(target.seeds):
            (Path(found) / f"seed{number}").write_bytes(seed)

        def read_one(octets: bytes) -> None:
            outcome = tried(target, octets, random.Random(octets))
            assert not outcome.startswith("!"), outcome

        atheris.Setup([sys.argv[0], f"-runs={inputs}", "-max_len=20000", found], read_one)
        atheris.Fuzz()


def _peak_mib() -> int:
    """Peak memory of this program alone; getrusage would count whoever started it."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.search(r"VmHWM:\s+(\d+)", status.read_text())[1]) >> 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def main() -> int:
    """Run one target, or all; exit code 1 if anything came out that must not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=[*TARGETS, "all"])
    parser.add_argument("--inputs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--atheris", action="store_true")
    given = parser.parse_args()
    if given.atheris:
        if given.target in ("all", "gtfs", "events"):
            parser.error("--atheris takes one of reader, spec, where, card, ledger")
        with contextlib.suppress(SystemExit):
            with_atheris(given.target, given.inputs)
        return 0
    bad = False
    for name in TARGETS if given.target == "all" else [given.target]:
        found = run(name, given.inputs, seed=given.seed, keep=given.keep)
        print(json.dumps(found), flush=True)
        bad = bad or any(outcome.startswith("!") for outcome in found["outcomes"])
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
