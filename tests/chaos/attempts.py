"""Faults injected under releases and ledgers, and what anybody finds afterwards.

    python tests/chaos/attempts.py --runs 500 [--write docs/explanation/faults.md] [--json FILE]

Each attempt is a release of a few hundred invented taps in a process of its own, with a ledger of its own, and one fault. Afterwards
three things must hold: what is in place was charged; what is in place is whole; nothing was charged twice. Prints the table of
attempts; exit code 1 if one of them does not hold.
"""

from __future__ import annotations

import argparse
import codecs
import contextlib
import errno
import importlib
import json
import os
import pwd
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from noisegate.cli import main as program
from noisegate.engine import session
from noisegate.ledger import _ledger, open_ledger
from noisegate.releases import files, job
from noisegate.spec import load_spec

SECRET = "5550123"
SPEC = """\
name: hamlet
population: hamlet
events: {source: taps.csv, person: card}
dimensions:
  date: {column: at, from: 2016-07-25, to: 2016-07-26}
  time: {column: at, every: 1h}
  stop: {column: stop, values: [A, B, C, D]}
tables:
  base: [date, time, stop]
  time: [date, time]
privacy: {unit: person-day, max_cells: 3, epsilon: 1/2, margins: derive, suppress: {below: 3}}
budget: {epsilon: 10}
"""
_NOBODY = 65534


@dataclass
class Found:
    """What one attempt left behind."""

    exit: str
    state: str
    wrong: list[str] = field(default_factory=list)


def prepare(folder: Path) -> None:
    """Events and a spec, the same for all attempts."""
    chance = random.Random(3)
    lines = [
        f"{SECRET}{chance.randrange(90):03d},2016-07-{25 + chance.randrange(2)} {chance.randrange(24):02d}:15:00,"
        f"{chance.choice('ABCD')}"
        for _ in range(400)
    ]
    (folder / "taps.csv").write_text("\n".join(["card,at,stop", *lines]) + "\n")
    (folder / "spec.yaml").write_text(SPEC)


# Faults: each is called in the process of the release, before it begins.


def none(_: random.Random) -> None:
    """Nothing is wrong."""


def _before(module: object, name: str, act: object) -> None:
    """Do something just before a function is called."""
    real = getattr(module, name)

    def wrapped(*arguments: object, **options: object) -> object:
        act()
        return real(*arguments, **options)

    setattr(module, name, wrapped)


def _fill(size: int) -> None:
    """From now on no file grows beyond `size`, as if the disk were full: the system itself refuses, whoever writes."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def full_output(chance: random.Random) -> None:
    size = chance.choice([0, 100, 1000, chance.randrange(4000)])
    _before(job, "write_table" if chance.random() < 0.7 else "write_card", lambda: _fill(size))


def full_ledger(chance: random.Random) -> None:
    size = chance.randrange(0, 21_000)
    _before(_ledger.Ledger, chance.choice(["reserve", "publish"]), lambda: _fill(size))


def full_temporary(chance: random.Random) -> None:
    """A count that must spill, and no room for it."""
    size = chance.randrange(0, 1 << 16)
    real = session.duckdb.connect

    def small(*arguments: object, **options: object) -> object:
        connection = real(*arguments, **options)
        connection.execute("SET memory_limit = '30MB'; SET threads = 1")
        _fill(size)
        with contextlib.suppress(session.duckdb.Error):
            connection.execute(
                "CREATE TEMP TABLE ids AS SELECT md5(i::VARCHAR) AS id FROM range(2000000) t(i)"
            )
        return connection

    session.duckdb.connect = small


def failing_fsync(chance: random.Random) -> None:
    left, real = [chance.randrange(12)], os.fsync

    def sync(handle: int) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        real(handle)

    os.fsync = sync


def clock_going_back(chance: random.Random) -> None:
    passed, step = [0], chance.choice([1, 3600, 86_400 * 400])

    class Back(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:  # noqa: ARG003 - the shape of datetime's own
            passed[0] += step
            return datetime.now(UTC) - timedelta(seconds=passed[0])

    _ledger.datetime = Back


def read_only_output(chance: random.Random) -> None:
    stage = chance.choice(
        [(job, "count_slices"), (job, "publish_tables"), (job, "write_card"), (files, "_rename")]
    )
    _before(*stage, lambda: _lock(Path.cwd()))


def read_only_ledger(chance: random.Random) -> None:
    stage = chance.choice([(job, "count_slices"), (_ledger.Ledger, "reserve"), (_ledger.Ledger, "publish")])
    _before(*stage, lambda: _lock(Path.cwd() / "ledger"))


def _lock(folder: Path) -> None:
    for path in folder.glob("*.sqlite"):
        path.chmod(0o400)
    folder.chmod(0o500)


FAULTS = {
    "none": none,
    "kill -9": none,
    "SIGTERM": none,
    "SIGINT": none,
    "full disk: output": full_output,
    "full disk: ledger": full_ledger,
    "full disk: temporary files": full_temporary,
    "read-only: output": read_only_output,
    "read-only: ledger": read_only_ledger,
    "clock going back": clock_going_back,
    "fsync failing": failing_fsync,
    "PostgreSQL restarted": none,
}
_SIGNALS = {"kill -9": signal.SIGKILL, "SIGTERM": signal.SIGTERM, "SIGINT": signal.SIGINT}


def attempt(
    fault: str, world: Path, place: Path, chance: random.Random, *, lasts_s: float, server: object
) -> Found:
    """One release with one fault, and what it left."""
    (place / "ledger").mkdir(parents=True)
    (place / "tmp").mkdir()
    ledger = str(place / "ledger" / "l.sqlite") if server is None else server.fresh()
    unprivileged = fault.startswith("read-only") and os.geteuid() == 0
    if unprivileged:
        for path in (place, place / "ledger", place / "tmp"):
            os.chown(path, _NOBODY, _NOBODY)
    words = ["release", str(world / "spec.yaml"), "--out", str(place / "out"), "--ledger", ledger, "--quiet"]
    heard, told = os.pipe()  # no files: a full disk must not silence it
    child = os.fork()
    if child == 0:
        _be_the_release(fault, place, words, chance, unprivileged=unprivileged, told=told)
    os.close(told)
    if fault in _SIGNALS:
        time.sleep(lasts_s * 1.1 * chance.random())
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, _SIGNALS[fault])
    elif server is not None:
        time.sleep(lasts_s * 1.5 * chance.random())
        server.restart()
    _, status = os.waitpid(child, 0)
    for path in (place, place / "ledger"):
        path.chmod(0o700)
    end = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else str(os.WEXITSTATUS(status))
    with open(heard, "rb") as stream:  # noqa: PTH123 - of a handle
        said = stream.read().decode(errors="replace")
    return judge(end, place, ledger, said)


def _be_the_release(
    fault: str, place: Path, words: list[str], chance: random.Random, *, unprivileged: bool, told: int
) -> None:
    """The rest of the child's life."""
    code = 1
    try:
        os.chdir(place)
        tempfile.tempdir = str(place / "tmp")
        for number in (1, 2):
            os.dup2(told, number)
        if unprivileged:
            os.setgid(_NOBODY)
            os.setuid(_NOBODY)
        FAULTS[fault](chance)
        signal.signal(signal.SIGTERM, program._end)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        code = program.main(words)
    except SystemExit as ended:
        code = int(ended.code or 0)
    except BaseException:  # noqa: BLE001 - whatever it is, the attempt counts as a fault of ours
        import traceback

        traceback.print_exc()
    finally:
        os._exit(code)


def judge(end: str, place: Path, ledger: str, said: str) -> Found:
    """What anybody finds after an attempt."""
    with open_ledger(ledger, read_only=True) as book:
        accounts, faults = book.accounts(), [one for one in book.check() if one.fault]
    paid = [one for account in accounts for one in account.reservations]
    wrong = [f"ledger: {one.kind}" for one in faults]
    out = place / "out"
    if len(paid) > 1:
        wrong.append("charged twice")
    if out.exists() and not any(one.output == out for one in paid):
        wrong.append("uncharged")
    if out.exists() and not whole(out):
        wrong.append("half-written")
    if end == "0" and not (out.exists() and [one.state for one in paid] == ["published"]):
        wrong.append("said to be fine, and is not")
    if end == "1":
        wrong.append(f"a fault of ours: {said[-300:]}")
    if SECRET in said:
        wrong.append("an id of a person was shown")
    odd = [
        path.name
        for path in place.iterdir()
        if path.name not in _EXPECTED and not _STAGING.fullmatch(path.name)
    ]
    wrong += [f"left behind: {name}" for name in odd]
    if out.exists():
        state = "published" if paid and paid[0].state == "published" else "in place, not yet marked"
    else:
        state = "charged, nothing published" if paid else "nothing happened"
    return Found(exit=end, state=state, wrong=wrong)


_EXPECTED = {"out", "ledger", "tmp"}
_STAGING = re.compile(r"\.out\.[0-9a-f]{32}\.staging")


def whole(out: Path) -> bool:
    """Whether a release can be read, and its files agree with its card."""
    try:
        card = json.loads((out / "card.json").read_text())
        for name, table in card["tables"].items():
            rows = pa_csv.read_csv(out / f"{name}.csv").num_rows
            if not rows == pq.read_table(out / f"{name}.parquet").num_rows == table["rows"]:
                return False
        return (out / "CARD.md").read_text().rstrip().endswith("card.json.")
    except (OSError, ValueError, KeyError, pq.lib.ArrowException):
        return False


class Server:
    """A PostgreSQL server of its own, whose ledger is a new schema for each attempt."""

    def __init__(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="ng-pg-"))
        self._number = 0
        if os.geteuid() == 0:
            shutil.chown(self.home, "postgres", "postgres")
        self._run(
            "initdb", "-D", f"{self.home}/data", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"
        )
        self._start("start")

    @classmethod
    def there(cls) -> bool:
        """Whether one can be had on this machine."""
        programs = shutil.which("initdb") and shutil.which("pg_ctl")
        known = {entry.pw_name for entry in pwd.getpwall()}
        try:
            import psycopg  # noqa: F401
        except ImportError:
            return False
        return bool(programs) and (os.geteuid() != 0 or "postgres" in known)

    def _run(self, *command: str) -> None:
        user = {"user": "postgres", "group": "postgres", "extra_groups": []} if os.geteuid() == 0 else {}
        subprocess.run(command, check=True, capture_output=True, cwd="/", timeout=120, **user)

    def _start(self, verb: str, *more: str) -> None:
        options = f"-c listen_addresses='' -c unix_socket_directories='{self.home}'"
        self._run(
            "pg_ctl", "-D", f"{self.home}/data", "-l", f"{self.home}/log", "-o", options, "-w", *more, verb
        )

    def restart(self) -> None:
        """Pull the plug, and start again."""
        self._start("restart", "-m", "immediate")

    def fresh(self) -> str:
        """The address of a ledger that nobody has used."""
        import psycopg

        self._number += 1
        address = f"postgresql://postgres@/postgres?host={self.home}"
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA a{self._number}".encode())
        return f"{address}&options=-csearch_path%3Da{self._number}"

    def stop(self) -> None:
        """End it, and remove its files."""
        with contextlib.suppress(subprocess.SubprocessError):
            self._run("pg_ctl", "-D", f"{self.home}/data", "-m", "immediate", "-w", "stop")
        shutil.rmtree(self.home, ignore_errors=True)


def run(runs: int, *, seed: int) -> dict[str, list[Found]]:
    """All attempts, spread evenly over the faults."""
    # What children would load one by one is loaded once; no engine is started here, so that forking is safe.
    for name in (
        "noisegate.engine.count",
        "noisegate.releases",
        "noisegate.workload",
        "noisegate.spec",
        "rich.table",
    ):
        importlib.import_module(name)
    for name in ("utf-8-sig", "ascii", "latin-1", "idna"):
        codecs.lookup(name)
    found: dict[str, list[Found]] = defaultdict(list)
    root = Path(tempfile.mkdtemp(prefix="ng-chaos-"))
    root.chmod(0o755)
    server = Server() if Server.there() else None
    names = [name for name in FAULTS if server is not None or name != "PostgreSQL restarted"]
    try:
        prepare(root)
        load_spec(root / "spec.yaml")
        lasts_s = 1.0
        for number in range(runs):
            fault = names[number % len(names)]
            using = server if fault == "PostgreSQL restarted" else None
            chance = random.Random(f"{seed} {number}")
            place = root / f"attempt-{number}"
            began = time.monotonic()
            found[fault].append(attempt(fault, root, place, chance, lasts_s=lasts_s, server=using))
            if fault == "none":  # signals come at any moment of the time that a release takes now
                lasts_s = time.monotonic() - began
            shutil.rmtree(place, ignore_errors=True)
    finally:
        if server is not None:
            server.stop()
        shutil.rmtree(root, ignore_errors=True)
    return found


STATES = ("nothing happened", "charged, nothing published", "in place, not yet marked", "published")
WRONG = ("uncharged", "half-written", "charged twice")


def table(found: dict[str, list[Found]]) -> str:
    """The table of attempts, as Markdown."""
    heads = ("fault", "attempts", *STATES, *WRONG, "anything else wrong", "exit codes")
    lines = [f"| {' | '.join(heads)} |", f"| {' | '.join(['---'] * len(heads))} |"]
    every = [one for attempts in found.values() for one in attempts]
    for name, attempts in [*found.items(), ("**all**", every)]:
        states, wrong = (
            Counter(one.state for one in attempts),
            Counter(w for one in attempts for w in one.wrong),
        )
        codes = ", ".join(sorted({one.exit for one in attempts}))
        others = sum(n for what, n in wrong.items() if what not in WRONG)
        cells = [len(attempts), *(states[one] for one in STATES), *(wrong[one] for one in WRONG), others]
        lines.append(f"| {name} | {' | '.join(map(str, cells))} | {codes} |")
    return "\n".join(lines)


def write_page(page: Path, made: str) -> None:
    """Put the table between the marks of a page."""
    text = page.read_text()
    start, end = "<!-- attempts -->\n", "<!-- /attempts -->"
    before, _, rest = text.partition(start)
    _, _, after = rest.partition(end)
    page.write_text(f"{before}{start}\n{made}\n\n{end}{after}")


def main() -> int:
    """Run, print, and say whether all is well."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--write", type=Path)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    found = run(given.runs, seed=given.seed)
    made = table(found)
    print(made)
    bad = [(name, one) for name, attempts in found.items() for one in attempts if one.wrong]
    for name, one in bad[:20]:
        print(f"{name}: exit {one.exit}, {one.state}: {', '.join(one.wrong)}", file=sys.stderr)
    if given.json:
        content = {name: [vars(one) for one in attempts] for name, attempts in found.items()}
        given.json.write_text(json.dumps(content, indent=2))
    if given.write and not bad:
        write_page(given.write, made)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
