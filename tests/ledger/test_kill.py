"""A release killed at any moment: what it reserved is spent, and the ledger is consistent."""

import random
import signal
import subprocess
import sys
import time
from fractions import Fraction

import pytest

from noisegate.ledger import open_ledger

RELEASER = """
import hashlib, json, os, sys
from pathlib import Path
from noisegate.ledger import open_ledger

target, parent = sys.argv[1], Path(sys.argv[2])

def say(word):
    os.write(1, (word + "\\n").encode())

turn = 0
while True:
    turn += 1
    with open_ledger(target) as ledger:
        paid = ledger.reserve("taps", epsilon="1/7", unit="person", release=f"r{turn}",
                              spec_digest="0" * 64, output=parent / f"{os.getpid()}-{turn}")
        say("reserved " + paid.id)
        paid.staging.mkdir(parents=True)
        card = json.dumps({"ledger": {"dataset": paid.dataset, "reservation": paid.id}}).encode()
        (paid.staging / "card.json").write_bytes(card)
        paid.staging.rename(paid.output)
        say("renamed " + paid.id)
        ledger.publish(paid.id, card_digest=hashlib.sha256(card).hexdigest())
        say("published " + paid.id)
"""


def run_and_kill(target, parent, *, after_s):
    """Run releases, kill -9 after a while; returns what they said they had done."""
    one = subprocess.Popen([sys.executable, "-c", RELEASER, target, str(parent)], stdout=subprocess.PIPE)
    first = one.stdout.readline()  # the interpreter's start is over
    time.sleep(after_s)
    one.send_signal(signal.SIGKILL)
    rest, _ = one.communicate(timeout=60)
    assert one.returncode == -signal.SIGKILL
    return [line.split() for line in (first + rest).decode().splitlines() if len(line) == len(line.strip())]


def said(lines, word):
    return {line[1] for line in lines if line[0] == word and len(line) == 2 and len(line[1]) == 32}


def kill_many(target, parent, *, times):
    random_s = random.Random()
    lines = []
    with open_ledger(target) as ledger:
        ledger.set_budget("taps", epsilon=10**6, unit="person")
    for _ in range(times):
        lines += run_and_kill(target, parent, after_s=random_s.uniform(0, 0.06))
    with open_ledger(target, read_only=True) as ledger:
        account, problems = ledger.account("taps"), ledger.check()
    known = {one.id: one for one in account.reservations}
    assert said(lines, "reserved") <= known.keys()
    assert account.spent.epsilon == Fraction(len(known), 7)
    assert all(known[one].state == "published" for one in said(lines, "published"))
    assert not [one for one in problems if one.fault], problems
    for directory in parent.iterdir():  # nothing half-written is visible, nothing is there unpaid
        if not directory.name.startswith("."):
            assert (directory / "card.json").exists()
            assert any(one.output == directory for one in known.values())
    return account, problems


def test_killed_at_random_moments(target, tmp_path):
    account, _ = kill_many(target, tmp_path / "out", times=6)
    assert account.reservations
    with open_ledger(target) as ledger:
        spent = ledger.account("taps").spent
        ledger.settle()
        assert ledger.account("taps").spent == spent
        assert {one.kind for one in ledger.check()} <= {"staging"}
        assert all(one.state != "reserved" for one in ledger.account("taps").reservations)


@pytest.mark.slow
def test_killed_at_fifty_random_moments(target, tmp_path):
    _, problems = kill_many(target, tmp_path / "out", times=50)
    assert {"unpublished", "unmarked"} & {one.kind for one in problems}  # some kills did land in between


def test_a_kill_inside_a_transaction_leaves_no_part_of_it(sqlite_target):
    half = """
import os, signal, sys
from noisegate.ledger import open_ledger
ledger = open_ledger(sys.argv[1])
with ledger._store.exclusive():
    ledger._write("budget", "taps", unit="event", epsilon="1", delta="0", source="set")
    ledger._store._connection.execute("PRAGMA cache_spill = 1")
    os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", half, sqlite_target], check=False)
    assert done.returncode == -signal.SIGKILL
    with open_ledger(sqlite_target, read_only=True) as ledger:
        assert ledger.history() == ()
        assert ledger.check() == ()
