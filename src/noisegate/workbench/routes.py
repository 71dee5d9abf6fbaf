"""What each address answers: a page, its twin in JSON, or one small change."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import yaml
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import Response

from noisegate import limits
from noisegate.errors import SpecError
from noisegate.mechanisms import parse_noise
from noisegate.reading import parse_overrides
from noisegate.workbench.answers import (
    PATIENCE,
    body_of,
    download,
    now,
    parsed,
    reply,
    standing,
    text_of,
    watched,
)
from noisegate.workbench.attackers import MOST_KNOWN, played, sureness
from noisegate.workbench.cases import Case, Dial, Remark
from noisegate.workbench.desk import Desk, Opened
from noisegate.workbench.drawing import drawn
from noisegate.workbench.jobs import Job, Jobs, Work
from noisegate.workbench.journeys import journeys
from noisegate.workbench.keeping import keep

_VERDICTS = ("", "accepted", "rejected")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """The routes, over what is open and what runs."""

    desk: Desk
    jobs: Jobs
    custodian: bool
    assets: Mapping[str, bytes]

    async def start(self, _: Request) -> Response:
        """Everything that lies on the bench."""
        cases = await run_in_threadpool(self.desk.cases.all)
        self._foresee(cases)
        listed = [
            {
                **one.to_json(),
                "open": self._opened(one) is not None,
                "signed": self.desk.cases.notes(one).signed_by,
            }
            for one in cases
        ]
        return reply(
            {
                "folder": self.desk.cases.root.name,
                "custodian": self.custodian,
                "dial": asdict(self.desk.cases.dial),
                "cases": listed,
            }
        )

    def _foresee(self, cases: list[Case], /) -> None:
        """Begin with the first release while somebody still reads the start page, if nothing has been asked for yet."""
        first = next((one for one in cases if one.card), None)
        if first is not None and self.jobs.unused:
            self._assessing(first)

    async def job(self, request: Request) -> Response:
        """How far a job is."""
        found = self.jobs.get(request.path_params["job"])
        if found is None:
            return reply({"error": "This work is over and forgotten; reload the page.", "id": "none"}, 404)
        return reply({"job": found.to_json()})

    async def cancel(self, request: Request) -> Response:
        """Stop a job."""
        found = self.jobs.get(request.path_params["job"])
        if found is not None:
            found.cancel()
        return reply({"job": None if found is None else found.to_json()})

    async def files(self, request: Request) -> Response:
        """How each file was read, how tables hang together, and the verdict."""
        return await self.of_assessment(request, self._files)

    async def noise(self, request: Request) -> Response:
        """What identities give away about the noise of each table."""
        return await self.of_assessment(request, self._noise)

    async def rival(self, request: Request) -> Response:
        """Another law for the noise of a table, at many scales, and how likely each is beside the fitted one."""

        def view(opened: Opened, asked: Mapping[str, str]) -> dict[str, Any]:
            return opened.rival(asked.get("table", ""), asked.get("law", ""))

        return await self.of_assessment(request, view)

    async def compare(self, request: Request) -> Response:
        """Two releases beside each other; their maps are at the addresses of each."""
        other = request.query_params.get("with")
        opened = await self._open(request)
        if isinstance(opened, Response):
            return opened
        cases = await run_in_threadpool(self.desk.cases.all)
        chosen = other or next(
            (one.id for one in cases if one.id != opened.case.id and one.card), opened.case.id
        )
        second = await self._open_case(self.desk.cases.get(chosen))
        if isinstance(second, Response):
            return second
        return reply(await run_in_threadpool(self._beside, opened, second))

    def _beside(self, before: Opened, after: Opened, /) -> dict[str, Any]:
        known = self.desk.cases.dial.known
        found = {
            name: {
                **self._files(one, {}),
                "sure": sureness(one, known),
                "map": f"/r/{one.case.id}/microscope.json",
                **self._said(one.case),
            }
            for name, one in (("before", before), ("after", after))
        }
        kinds = {
            name: [one["key"] for one in _keyed(side.content["findings"])]
            for name, side in (("before", before), ("after", after))
        }
        gone = [one for one in kinds["before"] if one not in kinds["after"]]
        return {**found, "gone": gone, "new": [one for one in kinds["after"] if one not in kinds["before"]]}

    async def findings(self, request: Request) -> Response:
        """What was found, what was looked at, and what people say about it."""
        return await self.of_assessment(request, self._findings)

    async def microscope(self, request: Request) -> Response:
        """A map of the cells."""
        opened = await self._open(request)
        if isinstance(opened, Response):
            return opened
        found = await run_in_threadpool(opened.encoded_map, dict(request.query_params))
        said = json.dumps(self._said(opened.case)).encode()
        return Response(found[:-1] + b"," + said[1:], media_type="application/json")

    async def map(self, request: Request) -> Response:
        """Places on a map, and the vehicles behind the cells of one of them."""
        return await self.of_assessment(request, journeys)

    async def cell(self, request: Request) -> Response:
        """One cell closely; `without` lists what is switched off."""

        def look(opened: Opened, asked: Mapping[str, str]) -> dict[str, Any]:
            number = asked.get("cell", "")
            if not number.isascii() or not number.isdigit() or len(number) > 12:
                raise SpecError.for_value("cell", found=number, allowed="the number of a cell")
            gone = parsed(asked.get("without") or "[]")
            if not isinstance(gone, list) or not all(isinstance(one, str) for one in gone):
                raise SpecError.for_value("without", found="something else", allowed="a list of tables")
            return opened.look(int(number), gone).to_json()

        return await self.of_assessment(request, look)

    async def decide(self, request: Request) -> Response:
        """Say how files are to be read."""
        case, body = self._case(request), await body_of(request)
        text = text_of(body, "decisions", limits.current().overrides_bytes)
        try:
            document = yaml.safe_load(text) or {}
        except (yaml.YAMLError, RecursionError, ValueError):
            raise SpecError(
                "These decisions are not YAML; indent with blanks and quote odd values."
            ) from None
        parse_overrides(document)
        self.desk.cases.note(case, decisions=document)
        return reply({"saved": True})

    async def attack(self, request: Request) -> Response:
        """Say what is known of the noise of these tables."""
        case, body = self._case(request), await body_of(request)
        noise = text_of(body, "noise", 100).strip()
        if noise:
            parse_noise(noise)
        self.desk.cases.note(case, noise=noise)
        return reply({"saved": True})

    async def turn(self, request: Request) -> Response:
        """Turn the dial: what the attacker has beside the tables, for every release alike."""
        body = await body_of(request)
        known, timetable = body.get("known", 0), body.get("timetable", False)
        if isinstance(known, bool) or not isinstance(known, int) or not 0 <= known <= MOST_KNOWN:
            raise SpecError.for_value(
                "known", found="something else", allowed=f"a whole number from 0 to {MOST_KNOWN}"
            )
        if not isinstance(timetable, bool):
            raise SpecError.for_value("timetable", found="something else", allowed="true or false")
        if timetable and not any(one.timetable for one in self.desk.cases.all()):
            raise SpecError("There is no timetable beside these tables; put gtfs.zip into their folder.")
        self.desk.cases.turn(Dial(timetable=timetable, known=known))
        return reply({"dial": asdict(self.desk.cases.dial)})

    async def attacker(self, request: Request) -> Response:
        """How sure the attacker of the dial is about one person."""
        known = self.desk.cases.dial.known
        return await self.of_assessment(request, lambda opened, _: {"sure": sureness(opened, known)})

    async def weeks(self, request: Request) -> Response:
        """What every further week would give away."""
        opened = await self._open(request)
        if isinstance(opened, Response):
            return opened
        known, case = max(1, self.desk.cases.dial.known), opened.case
        job = self.jobs.begin(
            f"weeks:{self.desk.key(case)}:{known}",
            "Playing the weeks",
            lambda say: played(opened, known, say=say),
        )
        return await watched(job, lambda: {**job.result, **self._said(case)})

    async def remark(self, request: Request) -> Response:
        """Accept, reject or comment on a finding."""
        case, body = self._case(request), await body_of(request)
        key, verdict = text_of(body, "finding", 200), text_of(body, "verdict", 20)
        if verdict not in _VERDICTS:
            raise SpecError.for_choice("verdict", found=verdict, allowed=[one for one in _VERDICTS if one])
        said = Remark(
            verdict=verdict, comment=text_of(body, "comment"), by=text_of(body, "by", 200), at=now()
        )
        notes = self.desk.cases.notes(case)
        saved = self.desk.cases.note(case, remarks={**notes.remarks, key: said}, signed_by="", signed_at="")
        return reply({"remark": asdict(saved.remarks[key])})

    async def sign(self, request: Request) -> Response:
        """Sign all that was said; later remarks undo it."""
        case, body = self._case(request), await body_of(request)
        by = text_of(body, "by", 200).strip()
        if not by:
            raise SpecError("A signature needs a name; write yours.")
        notes = self.desk.cases.note(case, signed_by=by, signed_at=now())
        return reply({"signed_by": notes.signed_by, "signed_at": notes.signed_at})

    async def report(self, request: Request) -> Response:
        """Write the report; its page is at `report.html` then."""
        opened = await self._open(request)
        if isinstance(opened, Response):
            return opened
        job = self._reporting(opened)
        return await watched(job, lambda: {"ready": True})

    async def report_page(self, request: Request) -> Response:
        """The report as a file."""
        opened = await self._open(request)
        if isinstance(opened, Response):
            return opened
        return await download(self._reporting(opened), "report.html")

    async def kept(self, request: Request) -> Response:
        """Put the pages of a case into one file; it is at `kept.html` then."""
        opened = await self._open(request)
        return (
            opened
            if isinstance(opened, Response)
            else await watched(self._keeping(opened), lambda: {"ready": True})
        )

    async def kept_page(self, request: Request) -> Response:
        """The pages of a case as one file."""
        opened = await self._open(request)
        return (
            opened
            if isinstance(opened, Response)
            else await download(self._keeping(opened), "workbench.html")
        )

    def _keeping(self, opened: Opened, /) -> Job:
        """The job that puts the pages together: a new one whenever somebody has said something since."""
        return self.jobs.begin(
            f"keep:{self.desk.key(opened.case)}:{self._heard(opened.case)}",
            "Keeping these pages",
            lambda say: keep(opened, self._pages(opened, say), self.assets, say),
        )

    def _pages(self, opened: Opened, say: Callable[[str], None], /) -> dict[str, Any]:
        """The twins of the pages of a case, by address."""
        case, notes, known = opened.case, self.desk.cases.notes(opened.case), self.desk.cases.dial.known
        said = self._said(case)
        return {
            "/start.json": {
                "folder": case.name,
                "custodian": False,
                "dial": asdict(self.desk.cases.dial),
                "cases": [{**case.to_json(), "open": True, "signed": notes.signed_by}],
            },
            f"/r/{case.id}/files.json": {**self._files(opened, {}), **said},
            f"/r/{case.id}/noise.json": {**self._noise(opened, {}), **said},
            f"/r/{case.id}/findings.json": {**self._findings(opened, {}), **said},
            f"/r/{case.id}/weeks.json": {**played(opened, max(1, known), say=say), **said},
            f"/r/{case.id}/attacker.json": {"sure": sureness(opened, known), **said},
        }

    def _reporting(self, opened: Opened, /) -> Job:
        key = f"report:{self.desk.key(opened.case)}:{self._heard(opened.case)}"
        return self.jobs.begin(key, "Writing the report", lambda say: self.desk.report(opened, say))

    def _heard(self, case: Case, /) -> str:
        """A digest of all that people said of a case, and of the dial."""
        said = [asdict(self.desk.cases.notes(case)), asdict(self.desk.cases.dial)]
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:16]

    async def dimensions(self, request: Request) -> Response:
        """What a release can be asked about."""
        case = self._released(request)

        def work(say: Callable[[str], None]) -> dict[str, Any]:
            release = self.desk.release(case, say)
            card = release.card
            return {
                "name": release.name,
                "dimensions": [
                    {"name": one.name, "labels": list(one.labels), "kind": str(one.kind)}
                    for one in release.domain.dimensions
                ],
                "unit": str(card.to_json().get("privacy", {}).get("unit", "")) or None,
            }

        job = self.jobs.begin(f"open:{case.id}", "Opening the release", work)
        return await watched(job, lambda: job.result)

    async def answer(self, request: Request) -> Response:
        """How many, with an interval: `where` and `by` as the command line takes them."""
        case = self._released(request)
        asked = dict(request.query_params)
        by = tuple(one for one in asked.get("by", "").split("|") if one)
        where = _conditions(asked, "where")
        level = parsed(asked.get("level") or "0.95")
        if not isinstance(level, float):
            raise SpecError.for_value("level", found="something else", allowed="a number between 0 and 1")

        form, to = asked.get("form", "total"), parsed(asked.get("to") or "{}")
        if form not in {"total", "difference", "ratio"} or not isinstance(to, dict):
            raise SpecError.for_value("form", found=form, allowed="total, difference or ratio")

        def work(say: Callable[[str], None]) -> dict[str, Any]:
            release = self.desk.release(case, say)
            say("answering")
            if form == "total":
                found = release.answer(where=where or None, by=by, level=level)
            else:
                shape: Literal["difference", "ratio"] = "ratio" if form == "ratio" else "difference"
                found = release.compare(where=where or None, to=to, by=by, form=shape, level=level)
            most = limits.current().listed_answers
            rows = found.largest(most).to_rows() if len(found) > most else found.to_rows()
            return {"rows": rows, "groups": len(found), "level": level, "table": found.table}

        key = f"ask:{case.id}:{json.dumps([where, by, level, form, to], sort_keys=True)}"
        return await watched(job := self.jobs.begin(key, "Answering", work), lambda: job.result)

    async def draws(self, request: Request) -> Response:
        """What the truth might be: the same sum in many whole releases that could lie behind this one."""
        case = self._released(request)
        asked = dict(request.query_params)
        where, to, form = _conditions(asked, "where"), _conditions(asked, "to"), asked.get("form", "total")

        def work(say: Callable[[str], None]) -> dict[str, Any]:
            release = self.desk.release(case, say)
            say("drawing what the truth might be")
            return drawn(release, where, to if form == "difference" else None, say)

        key = f"draws:{case.id}:{json.dumps([where, to, form], sort_keys=True)}"
        return await watched(job := self.jobs.begin(key, "Drawing", work), lambda: job.result)

    async def upload(self, request: Request) -> Response:
        """Take files that were dropped; they become a case of their own."""
        form = await request.form(
            max_files=limits.current().upload_files, max_fields=10, max_part_size=1 << 20
        )
        try:
            given = [one for one in form.getlist("files") if isinstance(one, UploadFile)]
            if not given:
                raise SpecError("No file came with this; drop CSV, Excel or Parquet files.")
            case = await run_in_threadpool(self._taken, given)
        finally:
            await form.close()
        return reply({"case": case.to_json()}, 201)

    def _taken(self, given: list[UploadFile], /) -> Case:
        aside = Path(tempfile.mkdtemp(dir=self.desk.cases.state, prefix="incoming-"))
        try:
            files = []
            for k, one in enumerate(given):
                place = aside / str(k)
                with place.open("xb") as stream:
                    shutil.copyfileobj(one.file, stream)
                files.append((one.filename or "file", place))
            return self.desk.cases.take(files)
        finally:
            shutil.rmtree(aside, ignore_errors=True)

    async def discard(self, request: Request) -> Response:
        """Delete files that were dropped."""
        case = self._case(request)
        await run_in_threadpool(self.desk.cases.discard, case)
        self.jobs.drop(f"assess:{case.id}")
        return reply({"discarded": True})

    def _case(self, request: Request, /) -> Case:
        return self.desk.cases.get(request.path_params["case"])

    def _released(self, request: Request, /) -> Case:
        case = self._case(request)
        if not case.card:
            raise SpecError("Questions need the card of a release; these tables have none beside them.")
        return case

    def _opened(self, case: Case, /) -> Opened | None:
        return self.desk.opened(self.desk.key(case))

    async def _open(self, request: Request, /) -> Opened | Response:
        """The assessment of the case of an address; if it is not there yet, the job that makes it."""
        return await self._open_case(self._case(request))

    async def _open_case(self, case: Case, /) -> Opened | Response:
        key = self.desk.key(case)
        found = self.desk.opened(key)
        if found is not None:
            return found
        job = self._assessing(case)
        if job.standing == "done":
            # It was worked out once and has been put away since.
            self.jobs.drop(f"assess:{key}")
            job = self._assessing(case)
        await job.wait(PATIENCE)
        found = self.desk.opened(key)
        return found if found is not None else standing(job)

    def _assessing(self, case: Case, /) -> Job:
        """The job that takes a case apart."""
        work: Work = lambda say: self.desk.assess(case, say)  # noqa: E731 - named for its type
        return self.jobs.begin(f"assess:{self.desk.key(case)}", f"Taking {case.name} apart", work)

    async def of_assessment(
        self, request: Request, view: Callable[[Opened, Mapping[str, str]], dict[str, Any]], /
    ) -> Response:
        """What a view says of the assessment of a case, or the job that makes it."""
        opened = await self._open(request)
        if isinstance(opened, Response):
            return opened
        content = await run_in_threadpool(view, opened, dict(request.query_params))
        return reply({**content, **self._said(opened.case)})

    def _said(self, case: Case, /) -> dict[str, Any]:
        """Which case a page is about, and what the attacker has."""
        return {
            "case": case.to_json(),
            "timetable": self.desk.timetable(case),
            "known": self.desk.cases.dial.known,
            "noise": self.desk.cases.notes(case).noise,
        }

    def _files(self, opened: Opened, _: Mapping[str, str], /) -> dict[str, Any]:
        content, notes = opened.content, self.desk.cases.notes(opened.case)
        return {
            "tables": content["tables"],
            "left_out": content["left_out"],
            "privacy": content["privacy"],
            "inference": content["inference"],
            "not_examined": content["not_examined"],
            "findings": _keyed(content["findings"]),
            "checks": len(content["checks"]),
            "states": opened.states,
            "proved": opened.mapped and opened.map.facts.level >= 1,
            "decided": notes.decisions,
            "card": {
                "agrees": _evidence(content["checks"], "card"),
                "disagrees": _evidence(content["findings"], "card-disagrees"),
            },
            "couplings": [one.title for one in opened.assessment.couplings],
            "decisions": yaml.safe_dump(notes.decisions, sort_keys=False, allow_unicode=True)
            if notes.decisions
            else "",
        }

    def _noise(self, opened: Opened, _: Mapping[str, str], /) -> dict[str, Any]:
        return {"tables": opened.content["tables"], "level": opened.content["level"]}

    def _findings(self, opened: Opened, _: Mapping[str, str], /) -> dict[str, Any]:
        notes = self.desk.cases.notes(opened.case)
        return {
            "findings": _keyed(opened.content["findings"]),
            "checks": opened.content["checks"],
            "remarks": {key: asdict(one) for key, one in notes.remarks.items()},
            "signed_by": notes.signed_by,
            "signed_at": notes.signed_at,
        }


def _conditions(asked: Mapping[str, str], name: str, /) -> dict[str, Any]:
    found = parsed(asked.get(name) or "{}")
    if not isinstance(found, dict):
        raise SpecError.for_value(name, found="something else", allowed="conditions by dimension")
    return found


def _evidence(results: list[dict[str, Any]], kind: str, /) -> list[str]:
    """What results of one kind rest on."""
    return [line for one in results if one["id"] == kind for line in one["evidence"]]


def _keyed(findings: list[dict[str, Any]], /) -> list[dict[str, Any]]:
    """The findings with a name each, also where several are of one kind."""
    seen: dict[str, int] = {}
    found = []
    for one in findings:
        seen[one["id"]] = number = seen.get(one["id"], 0) + 1
        found.append({**one, "key": one["id"] if number == 1 else f"{one['id']}-{number}"})
    return found
