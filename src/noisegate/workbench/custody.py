"""What the custodian's addresses answer; they are there only if the server was started for the custodian."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from noisegate import limits
from noisegate.errors import SpecError
from noisegate.ledger import default_target
from noisegate.tables import Card
from noisegate.workbench.answers import body_of, reply, standing, text_of, watched
from noisegate.workbench.books import ledger_pages
from noisegate.workbench.cases import Case
from noisegate.workbench.desk import Opened
from noisegate.workbench.fixes import ASKS, FIXES, Draft, drafted, next_name, publish
from noisegate.workbench.interview import event_files, find_events, judged, keep_spec, questions
from noisegate.workbench.jobs import Jobs
from noisegate.workbench.prices import best_attacks, find_spec, price, specs

_MOST_ASKED = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Custody:
    """The custodian's routes: prices, the interview, the ledger, and a release that is made anew."""

    root: Path
    jobs: Jobs
    ledger: str | None

    async def prices(self, _: Request) -> Response:
        """The specs that can be priced."""
        found = await run_in_threadpool(specs, self.root)
        return reply({"specs": [{"id": number, "name": file.stem} for number, file in found.items()]})

    async def price(self, request: Request) -> Response:
        """What the questions of a spec cost."""
        number = request.path_params["spec"]
        file = await run_in_threadpool(find_spec, self.root, number)
        key = f"price:{number}:{file.stat().st_mtime_ns}"
        job = self.jobs.begin(key, f"Pricing {file.stem}", lambda say: price(file, say))
        return await watched(job, lambda: job.result)

    async def best_attacks(self, request: Request) -> Response:
        """What the best attack on a spec achieves at each epsilon."""
        number = request.path_params["spec"]
        file = await run_in_threadpool(find_spec, self.root, number)
        key = f"attacks:{number}:{file.stat().st_mtime_ns}"
        job = self.jobs.begin(key, "Working out the best attack", lambda say: best_attacks(file, say))
        return await watched(job, lambda: job.result)

    async def book(self, _: Request) -> Response:
        """What each population has spent, and on what."""
        # Losses of many releases take a while to compose; what was worked out holds until the ledger is written again.
        key = f"ledger:{await run_in_threadpool(_written, self.ledger)}"
        job = self.jobs.begin(key, "Reading the ledger", lambda _: ledger_pages(self.ledger))
        return await watched(job, lambda: job.result)

    async def interviews(self, _: Request) -> Response:
        """The files of events that a spec can be drafted for; their names, and nothing of what is in them."""
        found = await run_in_threadpool(event_files, self.root)
        return reply(
            {
                "events": [
                    {"id": number, "name": file.relative_to(self.root).as_posix()}
                    for number, file in found.items()
                ]
            }
        )

    async def interview(self, request: Request) -> Response:
        """The draft for a file, and what only people can decide."""
        file = await run_in_threadpool(find_events, self.root, request.path_params["events"])
        return reply(await run_in_threadpool(questions, file))

    async def judge(self, request: Request) -> Response:
        """Whether a spec says all that it must."""
        file, text = await self._spec_text(request)
        return reply(await run_in_threadpool(judged, text, file.parent))

    async def keep(self, request: Request) -> Response:
        """Write the spec beside the events."""
        file, text = await self._spec_text(request)
        return reply(await run_in_threadpool(keep_spec, text, file.parent), 201)

    async def _spec_text(self, request: Request, /) -> tuple[Path, str]:
        file = await run_in_threadpool(find_events, self.root, request.path_params["events"])
        body = await body_of(request, most=limits.current().spec_bytes)
        return file, text_of(body, "text", limits.current().spec_bytes)

    def fix(self, opened: Opened, asked: Mapping[str, str], /) -> dict[str, Any]:
        """The findings of a release, what would answer each, and the spec as it would be."""
        there = specs(self.root)
        number = asked.get("spec") or self._own(opened.case, there)
        found: dict[str, Any] = {
            "specs": [{"id": one, "name": file.stem} for one, file in there.items()],
            "spec": number,
            "draft": None,
        }
        if number is None or number not in there:
            return {**found, "spec": None}
        wanted = [one for one in asked.get("do", "").split(",") if one]
        draft = self._draft(there[number], wanted, {name: asked.get(name) for name in ASKS})
        return {
            **found,
            "draft": {
                "name": draft.name,
                "file": f"spec-{draft.name}.yaml",
                "diff": draft.diff,
                "problem": draft.problem,
                "changed": draft.before != draft.after,
            },
            "fixes": [
                {
                    **asdict(one),
                    "answers": sorted(one.answers),
                    "able": one.key in draft.able,
                    "on": one.key in wanted,
                }
                for one in FIXES
            ],
            "asks": [{"name": name, "says": says, "value": start} for name, (says, start) in ASKS.items()],
            "findings": [
                {"id": one["id"], "severity": one["severity"], "title": one["title"], "advice": one["advice"]}
                for one in opened.content["findings"]
            ],
        }

    def _own(self, case: Case, there: Mapping[str, Path], /) -> str | None:
        """The spec that made a release: the one that has its name; else none, and somebody has to say."""
        if not case.card:
            return None
        name = Card.read(case.folder / "card.json").name
        named = (number for number, file in there.items() if f"name: {name}" in _text(file).splitlines()[:3])
        return next(named, None)

    def _draft(self, file: Path, wanted: list[str], values: Mapping[str, Any], /) -> Draft:
        names = {one.key for one in FIXES}
        wrong = next((one for one in wanted if one not in names), None)
        if wrong is not None:
            raise SpecError.for_choice("a change", found=wrong, allowed=sorted(names))
        numbers = {name: _number(name, value) for name, value in values.items() if value not in (None, "")}
        old = _named(file)
        return drafted(file, wanted, numbers, next_name(old, file, self.root))

    async def publish(self, request: Request) -> Response:
        """Make the changed release, if its name was typed."""
        body = await body_of(request)
        file = await run_in_threadpool(find_spec, self.root, text_of(body, "spec", 40))
        wanted = [one for one in text_of(body, "do", 200).split(",") if one]
        values = {name: body.get(name) for name in ASKS}
        draft = await run_in_threadpool(self._draft, file, wanted, values)
        if text_of(body, "confirm", 200).strip() != draft.name:
            raise SpecError(f"A release cannot be taken back; type its name, {draft.name}, to make it.")
        if draft.problem is not None or draft.before == draft.after:
            raise SpecError(draft.problem or "Nothing was changed; choose what to change first.")
        job = self.jobs.begin(
            f"publish:{draft.name}",
            f"Making {draft.name}",
            lambda say: publish(draft, file, self.root, self.ledger, say),
        )
        await job.wait(0.2)
        number = hashlib.sha256(f"{draft.name}/release".encode()).hexdigest()[:12]
        return standing(job, case=number)


def _written(ledger: str | None, /) -> int:
    """When the ledger was last written; another number each minute where no file tells."""
    target = default_target() if ledger is None else ledger
    place = None if "://" in str(target) else Path(target)
    beside = [] if place is None else [place, place.with_name(f"{place.name}-wal")]
    return max(
        (one.stat().st_mtime_ns for one in beside if one.is_file()), default=int(time.monotonic() // 60)
    )


def _text(file: Path, /) -> str:
    return file.read_text(encoding="utf-8", errors="replace")


def _named(file: Path, /) -> str:
    """The name of the release that a spec makes; that of its file if it has none."""
    for line in _text(file).splitlines():
        if line.startswith("name:"):
            return line.removeprefix("name:").split("#")[0].strip().strip("'\"") or file.stem
    return file.stem


def _number(name: str, value: Any, /) -> float:
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = 0.0
    if not 0 < found < _MOST_ASKED:
        raise SpecError.for_value(name, found="something else", allowed="a number above 0")
    return found
