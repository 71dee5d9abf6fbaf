"""Work that waits: as much as allowed, and what nobody waits for makes room."""

import threading
import time

import pytest

from noisegate import limits
from noisegate.errors import SpecError
from noisegate.workbench import Jobs


def test_a_full_queue_lets_go_of_what_nobody_asks_for():
    gate, done = threading.Event(), []

    def work(name):
        def run(_):
            gate.wait(30)
            done.append(name)

        return run

    jobs = Jobs(patience=0.2)
    with limits.override(waiting_jobs=6):
        for k in range(6):
            jobs.begin(f"k{k}", "work", work(k))
        with pytest.raises(SpecError, match="Too much work waits"):
            jobs.begin("more", "work", work("more"))
        wanted = jobs.begin("k5", "work", work(5))
        time.sleep(0.3)
        jobs.get(wanted.id)
        new = jobs.begin("more", "work", work("more"))
        gate.set()
        ends = time.monotonic() + 30
        while (new.live or wanted.live) and time.monotonic() < ends:
            time.sleep(0.02)
    # The two that ran already, the one that was asked for, and the new one.
    assert sorted(map(str, done)) == ["0", "1", "5", "more"]
    assert (new.standing, wanted.standing) == ("done", "done")
    jobs.close()
