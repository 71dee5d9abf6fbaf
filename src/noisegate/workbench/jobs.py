"""Work that takes longer than a page should wait: begun once, watched, cancelled, and its result kept for a while."""

from __future__ import annotations

import asyncio
import logging
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Literal

from noisegate import limits
from noisegate.errors import InputError, NoisegateError, SpecError

Say = Callable[[str], None]
Work = Callable[[Say], Any]
Standing = Literal["waiting", "running", "done", "failed", "cancelled"]

_LOG = logging.getLogger("noisegate.workbench")
#: Results and failures that are kept for whoever asks again.
_KEPT = 200
#: Bytes of files (reports, kept pages) among them.
_KEPT_BYTES = 64 << 20
#: Jobs that run at the same time; each uses threads of its own.
_AT_ONCE = 2
#: Seconds after which somebody who does not ask has left.
_LEFT = 20.0
#: How often somebody who waits looks whether a job is over, in seconds: at first, and later.
_SHORT, _LONG = 0.005, 0.1


class CancelledError(Exception):
    """Somebody does not want the result any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What a person is told of an error: one sentence with the way out, and an id under which the log has the rest."""

    sentence: str
    id: str
    status: int = 500

    def to_json(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {"error": self.sentence, "id": self.id}


def fault_of(problem: BaseException, /, *, private: str = "") -> Fault:
    """The fault behind an exception: our own errors are sentences for people, the text of any other may hold data and stays here.

    Parameters
    ----------
    private
        A path that is nobody's business; it is left out of the sentence.
    """
    number = secrets.token_hex(4)
    if isinstance(problem, NoisegateError) and problem.exit_code != 1:
        said = str(problem).replace(f"{private}/", "") if private else str(problem)
        return Fault(sentence=said, id=number, status=422 if isinstance(problem, InputError) else 409)
    _LOG.error("fault %s: %s", number, type(problem).__name__, exc_info=problem)
    return Fault(
        sentence="Something went wrong that is a fault of ours. Try again; if it stays, report the id and the server's log.",
        id=number,
    )


@dataclass(kw_only=True, eq=False)
class Job:
    """One piece of work: how far it is, and what came of it."""

    key: str
    title: str
    id: str = field(default_factory=lambda: secrets.token_hex(6))
    standing: Standing = "waiting"
    step: str = ""
    begun: float = field(default_factory=time.monotonic)
    asked: float = field(default_factory=time.monotonic)
    ended: float | None = None
    result: Any = None
    fault: Fault | None = None
    _stop: threading.Event = field(default_factory=threading.Event, repr=False)

    @property
    def live(self) -> bool:
        """Whether it waits or runs."""
        return self.standing in {"waiting", "running"}

    async def wait(self, seconds: float, /) -> bool:
        """Whether it is over, after waiting so long at most; holds no thread, so that any number of people can wait."""
        ends, pause = time.monotonic() + seconds, _SHORT
        while self.live and time.monotonic() < ends:
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONG)
        return not self.live

    def cancel(self) -> None:
        """Ask it to stop at its next step."""
        self._stop.set()

    def say(self, step: str, /) -> None:
        """Note what is being done; stops here if nobody wants it any more."""
        if self._stop.is_set():
            raise CancelledError
        self.step = step

    def run(self, work: Work, /, *, private: str) -> None:
        """Do the work."""
        try:
            self.say("starting")
            self.standing = "running"
            self.result = work(self.say)
            self.standing = "done"
        except CancelledError:
            self.standing = "cancelled"
        except Exception as problem:  # noqa: BLE001 - becomes a fault with an id
            self.fault, self.standing = fault_of(problem, private=private), "failed"
        finally:
            self.ended = time.monotonic()

    def to_json(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {
            "id": self.id,
            "title": self.title,
            "standing": self.standing,
            "step": self.step,
            "seconds": round((self.ended or time.monotonic()) - self.begun, 1),
            **({} if self.fault is None else self.fault.to_json()),
        }


class Jobs:
    """All jobs, by id and by what they are about: the same work is never begun twice at a time."""

    def __init__(self, *, private: str = "", patience: float = _LEFT) -> None:
        self._private, self._patience = private, patience
        self._pool = ThreadPoolExecutor(max_workers=_AT_ONCE, thread_name_prefix="workbench")
        self._lock = threading.Lock()
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._latest: dict[str, Job] = {}

    @property
    def unused(self) -> bool:
        """Whether there has been no job at all."""
        return not self._jobs

    def begin(self, key: str, title: str, work: Work, /) -> Job:
        """The job of this key if it lives or has a result; else a new one."""
        with self._lock:
            known = self._latest.get(key)
            if known is not None and (known.live or known.standing == "done"):
                known.asked = time.monotonic()
                return known
            self._abandon()
            if sum(job.live for job in self._jobs.values()) >= limits.current().waiting_jobs:
                raise SpecError(
                    "Too much work waits already; cancel something, or come back when it is done."
                )
            job = Job(key=key, title=title)
            self._jobs[job.id] = self._latest[key] = job
            self._forget()
        self._pool.submit(job.run, work, private=self._private)
        return job

    def _abandon(self) -> None:
        """Where the queue is full, let go of what waits in it and nobody has asked for in a while: they have left."""
        waiting = [job for job in self._jobs.values() if job.standing == "waiting"]
        if len(waiting) < limits.current().waiting_jobs - _AT_ONCE:
            return
        for job in waiting:
            if time.monotonic() - job.asked > self._patience:
                job.cancel()
                job.standing = "cancelled"

    def _forget(self) -> None:
        """Let go of what is over, the oldest first, beyond so many jobs or so many bytes of files."""
        over, held = [job for job in reversed(self._jobs.values()) if not job.live], 0
        for place, job in enumerate(over):
            held += len(job.result) if isinstance(job.result, bytes) else 0
            if place >= _KEPT or held > _KEPT_BYTES:
                del self._jobs[job.id]
                if self._latest.get(job.key) is job:
                    del self._latest[job.key]

    def drop(self, prefix: str, /) -> None:
        """Forget the results of all jobs whose key starts so; those that live are cancelled."""
        with self._lock:
            for key in [key for key in self._latest if key.startswith(prefix)]:
                self._latest.pop(key).cancel()

    def get(self, number: str, /) -> Job | None:
        """The job of this id, which somebody still waits for."""
        found = self._jobs.get(number)
        if found is not None:
            found.asked = time.monotonic()
        return found

    def close(self) -> None:
        """Ask everything to stop."""
        for job in list(self._jobs.values()):
            job.cancel()
        self._pool.shutdown(wait=False, cancel_futures=True)
