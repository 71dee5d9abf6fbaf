"""A release killed at any moment: nothing half-written is seen, and whatever is seen was paid for."""

import json
import random
import re
import signal
import subprocess
import sys
import time
from fractions import Fraction

import pytest

from noisegate.ledger import open_ledger

PROGRAM = [sys.executable, "-c", "from noisegate.cli.main import run; run()"]


def start(spec, out, ledger):
    words = ["release", str(spec), "--out", str(out), "--ledger", str(ledger), "--quiet"]
    return subprocess.Popen([*PROGRAM, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def check_world(folder, ledger, noisegate, read_release):
    """What anybody may find after a kill; returns how many releases are in place and how many were charged."""
    assert noisegate("ledger", "check", "--ledger", ledger)[0] == 0
    with open_ledger(ledger, read_only=True) as book:
        (account,) = book.accounts() or (None,)
        faults = [one for one in book.check() if one.fault]
    charged = {} if account is None else {one.id: one for one in account.reservations}
    assert faults == []
    in_place = 0
    for path in folder.iterdir():
        if path.name.startswith("."):
            assert re.fullmatch(r"\..+\.[0-9a-f]{32}\.staging", path.name)
            continue
        made = read_release(path)  # whole: all files can be read and agree with the card
        assert made.csv == made.parquet
        assert all(table["rows"] == len(made.csv[name]) for name, table in made.card["tables"].items())
        assert (path / "CARD.md").read_text().rstrip().endswith("card.json.")
        paid = charged[made.card["ledger"]["reservation"]]  # never a release that was not charged
        assert paid.output == path
        in_place += 1
    if account is not None:
        assert account.spent.epsilon == len(charged) * next(iter(charged.values())).loss.epsilon
        marked = sum(one.state == "published" for one in charged.values())
        assert marked <= in_place <= len(charged)
    return in_place, len(charged)


def kill_many(spec, tmp_path, noisegate, read_release, *, times):
    """Kill releases at moments spread over the time that one takes."""
    folder, ledger = tmp_path / "out", tmp_path / "ledger.sqlite"
    folder.mkdir()
    began = time.monotonic()
    assert start(spec, folder / "whole", ledger).wait(timeout=300) == 0
    lasts_s = time.monotonic() - began
    killed = 0
    for turn in range(times):
        one = start(spec, folder / f"turn{turn}", ledger)
        time.sleep(lasts_s * (turn + random.Random().random()) / times)
        one.send_signal(signal.SIGKILL)
        killed += one.wait(timeout=300) == -signal.SIGKILL
        in_place, charged = check_world(folder, ledger, noisegate, read_release)
    assert killed > times // 3  # else this was no test
    return killed, in_place, charged, ledger


#: Ctrl-C in the middle of a finaliser, where Python drops what is raised; once when all is counted, once when all is written.
LOST = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs tests in the background has it ignored
class Dying:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(100):
            pass
from noisegate.cli.main import run
import noisegate.releases.job as job
real = getattr(job, sys.argv[1])
def interrupted(*args, **kwargs):
    Dying()
    return real(*args, **kwargs)
setattr(job, sys.argv[1], interrupted)
del sys.argv[1]
run()
"""


@pytest.mark.parametrize(("moment", "charged"), [("warnings_before_spending", 0), ("write_card", 1)])
def test_a_lost_interrupt_still_stops_a_release(hamlet, tmp_path, moment, charged):
    ledger = tmp_path / "ledger.sqlite"
    words = ["release", str(hamlet / "spec.yaml"), "--out", str(tmp_path / "out"), "--ledger", str(ledger)]
    done = subprocess.run(
        [sys.executable, "-c", LOST, moment, *words], capture_output=True, text=True, check=False
    )
    assert "Exception ignored" in done.stderr  # else nothing was lost
    assert done.returncode == 130
    assert "Stopped: nothing was" in " ".join((done.stdout + done.stderr).split())
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob("*.staging"))
    with open_ledger(ledger, read_only=True) as book:
        assert sum(len(one.reservations) for one in book.accounts()) == charged


def test_killed_at_random_moments(hamlet, tmp_path, noisegate, read_release):
    _, _, charged, ledger = kill_many(hamlet / "spec.yaml", tmp_path, noisegate, read_release, times=6)
    assert noisegate("ledger", "check", "--settle", "--ledger", ledger)[0] == 0
    with open_ledger(ledger, read_only=True) as book:
        (account,) = book.accounts()
    assert account.spent.epsilon == Fraction(charged, 2)
    assert all(one.state != "reserved" for one in account.reservations)


@pytest.mark.slow
def test_killed_at_fifty_random_moments(world, tmp_path, noisegate, read_release):
    """The real thing: reconciled tables of a simulated world, budget for all of them."""
    text = (world.folder / "spec.yaml").read_text() + "budget: {epsilon: 1000}\n"
    (world.folder / "kill.yaml").write_text(text)
    _, in_place, charged, _ = kill_many(
        world.folder / "kill.yaml", tmp_path, noisegate, read_release, times=50
    )
    assert 1 <= in_place <= charged < 51  # some kills came before the charge


#: What is replaced so that the process kills itself there, and what must be found afterwards.
STAGES = {
    "counted": ("job", "warnings_before_spending", "nothing"),
    "charged": ("job", "publish_tables", "charged"),
    "drawn": ("job", "staged", "charged"),
    "one table written": ("job", "write_card", "staging"),
    "all written": ("files", "_rename", "staging"),
    "in place": ("Ledger", "publish", "in place"),
    "marked": ("job", "ReleaseResult", "published"),
}

FORKED = """
import json, os, signal, sys
from pathlib import Path
from noisegate.ledger import Ledger
from noisegate.releases import files, job
from noisegate.spec import load_spec

spec, out, ledger, stages = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], json.loads(sys.argv[4])
places = {"job": job, "files": files, "Ledger": Ledger}

def end(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

for number, (place, name, _) in enumerate(stages.values()):
    (out / str(number)).mkdir()
    child = os.fork()
    if child == 0:
        setattr(places[place], name, end)
        job.release(load_spec(spec), out=out / str(number) / "out", ledger=f"{ledger}{number}")
        os._exit(0)
    _, status = os.waitpid(child, 0)
    print(os.WTERMSIG(status) if os.WIFSIGNALED(status) else f"exit {os.WEXITSTATUS(status)}")
"""


def test_killed_between_any_two_steps(hamlet, tmp_path, noisegate, read_release):
    """At every border between steps, deterministically: each kind of remainder is produced and recognised."""
    folder, ledger = tmp_path / "out", tmp_path / "ledger"
    folder.mkdir()
    words = [str(hamlet / "spec.yaml"), str(folder), str(ledger), json.dumps(STAGES)]
    done = subprocess.run(
        [sys.executable, "-c", FORKED, *words], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.stdout.split() == [str(int(signal.SIGKILL))] * len(STAGES), done.stderr
    for number, (stage, (_, _, left)) in enumerate(STAGES.items()):
        own = f"{ledger}{number}"
        assert noisegate("ledger", "check", "--ledger", own)[0] == 0, stage
        with open_ledger(own, read_only=True) as book:
            states = [one.state for account in book.accounts() for one in account.reservations]
            spent = [account.spent.epsilon for account in book.accounts()]
        in_place = (folder / str(number) / "out").exists()
        staging = [path for path in (folder / str(number)).iterdir() if path.name.startswith(".out.")]
        found = {
            (0, False, False): "nothing",
            (1, False, False): "charged",
            (1, True, False): "staging",
            (1, False, True): "published" if states == ["published"] else "in place",
        }[len(states), bool(staging), in_place]
        assert found == left, stage
        assert spent == ([] if left == "nothing" else [Fraction(1, 2)]), stage
        if in_place:
            made = read_release(folder / str(number) / "out")
            assert made.csv == made.parquet
