"""Releases at the same time never overspend, and use the budget to the last bit."""

import subprocess
import sys
from collections import Counter
from fractions import Fraction

import pytest

from noisegate.ledger import Loss, open_ledger

PROCESSES = 8
SPENDER = """
import random, sys
from noisegate.errors import BudgetExceeded
from noisegate.ledger import open_ledger

target, me, start = sys.argv[1], sys.argv[2], sys.stdin
start.read()
done = 0
with open_ledger(target) as ledger:
    while True:
        try:
            paid = ledger.reserve("taps", epsilon="1/30", delta=sys.argv[3], unit="person", release=me,
                                  spec_digest="0" * 64, output=f"/nowhere/{me}-{done}")
        except BudgetExceeded:
            break
        done += 1
        if random.random() < 0.5:
            ledger.publish(paid.id, card_digest="1" * 64)
print(done)
"""


def spend_together(target, delta="0"):
    """Let processes spend at the same time until nothing is left; returns how often each could."""
    command = [sys.executable, "-c", SPENDER, target]
    spenders = [
        subprocess.Popen([*command, f"p{i}", delta], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for i in range(PROCESSES)
    ]
    for one in spenders:
        one.stdin.close()  # the starting gun
        one.stdin = None
    outputs = [one.communicate(timeout=120)[0] for one in spenders]
    assert [one.returncode for one in spenders] == [0] * PROCESSES
    return {f"p{i}": int(text) for i, text in enumerate(outputs)}


def test_eight_processes_end_at_exactly_the_budget(target):
    with open_ledger(target) as ledger:
        ledger.set_budget("taps", epsilon=2, unit="person")
    done = spend_together(target)
    with open_ledger(target, read_only=True) as ledger:
        account = ledger.account("taps")
        assert account.spent == Loss(epsilon=Fraction(2))
        assert Counter(one.release for one in account.reservations) == Counter(done)
        assert sum(done.values()) == 60
        assert not [one for one in ledger.check() if one.fault]


def test_eight_processes_may_make_the_ledger_at_the_same_time(target):
    done = spend_together(target, delta="2e-8")
    with open_ledger(target, read_only=True) as ledger:
        budgets = [entry for entry in ledger.history() if entry.kind == "budget"]
        assert len(budgets) == 1
        assert sum(done.values()) == 50  # delta 2e-8 of the default 1e-6 runs out first
        assert not [one for one in ledger.check() if one.fault]


@pytest.mark.slow
def test_eight_processes_again_and_again(target):
    for turn in range(1, 6):
        with open_ledger(target) as ledger:
            ledger.set_budget("taps", epsilon=2 * turn, unit="person")
        spend_together(target)
        with open_ledger(target, read_only=True) as ledger:
            assert ledger.account("taps").left.epsilon == 0
            assert not [one for one in ledger.check() if one.fault]
