"""Whole releases on Spark and PostgreSQL against a plain GROUP BY of the same events in the same session, and DuckDB's memory by size.

    python bench/engines.py [--events N] [--engines spark postgresql memory driver] [--json FILE]

The events are those of `release.py`. Plain: group by day, tap, quarter of an hour and place, written as Parquet (Spark) or to a file
(PostgreSQL, a server that is started here on a socket). Ours: the release of the same cells with two margins, noise, files and card.
Ways take turns; the least wall time of three counts. `memory`: peak megabytes of whole releases by DuckDB at three sizes, each a process of its own. `driver`: peak
megabytes of the Python process that drives a release on Spark at three sizes (the Java process beside it has a heap that Spark's own configuration fixes), the tables' rows growing with the events.
"""

import argparse
import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import release as usual

REPEATS = 3
WAYS = {"event, derive": "event, derive", "person-day, 4 cells, derive": "person-day, 4 cells, derive"}
GROWTH = ("event, derive", "person-day, 4 cells, derive", "event, derive, 3 billion cells")
PLAIN = "SELECT {day} AS date, tap, {bin} AS time, stop, count(*) AS count FROM taps GROUP BY {day}, tap, {bin}, stop"


DRIVE = """
import re, sys
from pathlib import Path
from noisegate.engine import connect
from noisegate.releases import release
from noisegate.spec import load_spec
release(load_spec(sys.argv[1]), out=Path("release"), engine=connect("local[2]"), ledger=Path("release.sqlite"), yes=True)
# A process inherits the peak that getrusage gives from the one that starts it; this one is its own.
print(int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) // 1024)
"""


def run(*, events=20_000_000, engines=("spark", "postgresql", "memory", "driver")):
    """One row for each engine and way."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="noisegate-engines-") as place:
        folder = Path(place)
        if {"spark", "postgresql"} & set(engines):
            usual.write_events(folder, events=events)
            usual.write_specs(folder)
        if "spark" in engines:
            rows += spark(folder, events)
        if "postgresql" in engines and shutil.which("initdb"):
            rows += postgresql(folder, events)
    if "memory" in engines:
        rows += memory((events // 10, events // 3, events))
    if "driver" in engines:
        rows += [driver(size) for size in (events // 20, events // 10, events // 5)]
    return rows


def driver(events, way="person-day, 4 cells, derive"):
    """Peak memory of the process that drives a release on Spark."""
    with tempfile.TemporaryDirectory(prefix="noisegate-driver-") as place:
        folder = Path(place)
        write = [sys.executable, "-c", usual.WRITE, str(Path(__file__).parent), place, str(events)]
        subprocess.run(write, check=True)
        usual.write_specs(folder)
        done = subprocess.run(
            [sys.executable, "-c", DRIVE, f"{way}.yaml"],
            cwd=folder,
            check=True,
            capture_output=True,
            text=True,
        )
        card = json.loads((folder / "release" / "card.json").read_text())
        return {
            "kind": "driver",
            "events": events,
            "way": way,
            "rows": card["tables"]["time-loc"]["rows"],
            "memory_mb": int(done.stdout.split()[-1]),
        }


def spark(folder, events):
    """Releases and plain queries of one session."""
    from noisegate.engine import connect

    session = connect(f"local[{os.cpu_count()}]")
    session.read.parquet(str(folder / "taps.parquet")).createOrReplaceTempView("taps")
    plain = PLAIN.format(
        day="CAST(tapped_at AS DATE)", bin="(hour(tapped_at) * 60 + minute(tapped_at)) div 15"
    )

    def query():
        session.sql(plain).write.mode("overwrite").parquet(str(folder / "plain"))

    return compare("spark", folder, events, query, session)


def postgresql(folder, events):
    """Releases and plain queries of one server."""
    from noisegate.engine import connect

    with server() as url:
        import psycopg
        import pyarrow.csv as pa_csv
        import pyarrow.parquet as pq

        with psycopg.connect(url, autocommit=True) as database:
            database.execute("CREATE TABLE taps (card_id bigint, tap text, tapped_at timestamp, stop text)")
            with database.cursor() as cursor, cursor.copy("COPY taps FROM STDIN (FORMAT CSV)") as copy:
                for batch in pq.ParquetFile(folder / "taps.parquet").iter_batches(1 << 18):
                    with tempfile.TemporaryFile() as file:
                        pa_csv.write_csv(batch, file, pa_csv.WriteOptions(include_header=False))
                        file.seek(0)
                        copy.write(file.read())
            database.execute("VACUUM ANALYZE taps")
        for name in WAYS:
            text = (folder / f"{name}.yaml").read_text()
            (folder / f"{name}.yaml").write_text(text.replace("source: taps.parquet", "source: taps"))
        plain = PLAIN.format(
            day="tapped_at::date",
            bin="(date_part('hour', tapped_at) * 4 + floor(date_part('minute', tapped_at) / 15))",
        )

        def query():
            with psycopg.connect(url) as database, database.cursor() as cursor:
                cursor.execute("SET work_mem = '256MB'")
                with (
                    (folder / "plain.csv").open("wb") as file,
                    cursor.copy(f"COPY ({plain}) TO STDOUT") as copy,
                ):
                    for part in copy:
                        file.write(part)

        return compare("postgresql", folder, events, query, connect(url))


def compare(engine, folder, events, plain, connection):
    """Wall seconds of the plain query and of each release, taking turns."""
    from noisegate.releases import release
    from noisegate.spec import load_spec

    turn = count()

    def ours(name):
        shutil.rmtree(folder / "out", ignore_errors=True)
        # A ledger of its own for each turn: one that is emptied is noticed.
        ledger = folder / f"ledger-{next(turn)}.sqlite"
        spec = load_spec(folder / f"{name}.yaml")
        release(spec, out=folder / "out", engine=connection, ledger=ledger, yes=True)

    found = {}
    for _ in range(REPEATS):
        for name, act in {"plain": plain, **{way: lambda way=way: ours(way) for way in WAYS}}.items():
            began = time.perf_counter()
            act()
            found.setdefault(name, []).append(time.perf_counter() - began)
    least = {name: min(turns) for name, turns in found.items()}
    return [
        {
            "kind": "engines",
            "engine": engine,
            "events": events,
            "way": name,
            "wall_s": round(wall, 2),
            "ratio": round(wall / least["plain"], 2),
        }
        for name, wall in least.items()
    ]


def memory(sizes):
    """Peak memory of releases by DuckDB."""
    return [
        {
            "kind": "memory",
            "events": size,
            "way": row["way"],
            "memory_mb": row["memory_mb"],
            "cpu_s": row["cpu_s"],
        }
        for size in sizes
        for row in usual.speed(size, GROWTH, repeats=1)
    ]


@contextmanager
def server():
    """A throw-away PostgreSQL server that is reached by a socket."""
    home = Path(tempfile.mkdtemp(prefix="ng-pg-"))
    user = {}
    if os.geteuid() == 0 and "postgres" in {entry.pw_name for entry in pwd.getpwall()}:
        shutil.chown(home, "postgres", "postgres")
        user = {"user": "postgres", "group": "postgres", "extra_groups": []}

    def call(*command):
        subprocess.run(command, check=True, capture_output=True, cwd="/", **user)

    options = (
        f"-c listen_addresses='' -c unix_socket_directories='{home}' -c fsync=off -c shared_buffers=512MB"
    )
    call("initdb", "-D", f"{home}/data", "-U", "postgres", "-A", "trust", "--no-sync")
    call("pg_ctl", "-D", f"{home}/data", "-l", f"{home}/log", "-o", options, "-w", "start")
    try:
        yield f"postgresql://postgres@/postgres?host={home}"
    finally:
        call("pg_ctl", "-D", f"{home}/data", "-m", "immediate", "-w", "stop")
        shutil.rmtree(home, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=20_000_000)
    parser.add_argument("--engines", nargs="*", default=["spark", "postgresql", "memory", "driver"])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = run(events=options.events, engines=options.engines)
    for row in rows:
        print(row)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
