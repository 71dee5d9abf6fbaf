"""What each address answers: a page, its twin in JSON, or one small change."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import yaml
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from noisegate import limits
from noisegate.assessment import CellState
from noisegate.errors import SpecError
from noisegate.mechanisms import parse_noise
from noisegate.reading import parse_overrides
from noisegate.workbench.cases import Case, Remark
from noisegate.workbench.desk import Desk, Opened
from noisegate.workbench.jobs import Job, Jobs, Work
from noisegate.workbench.keeping import keep
from noisegate.workbench.prices import find_spec, price, specs

#: A page waits this long for work before it is told to watch it, in seconds.
_PATIENCE = 0.4
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
        listed = [
            {
                **one.to_json(),
                "open": self._opened(one) is not None,
                "signed": self.desk.cases.notes(one).signed_by,
            }
            for one in cases
        ]
        return _json({"folder": self.desk.cases.root.name, "custodian": self.custodian, "cases": listed})

    async def job(self, request: Request) -> Response:
        """How far a job is."""
        found = self.jobs.get(request.path_params["job"])
        if found is None:
            return _json({"error": "This work is over and forgotten; reload the page.", "id": "none"}, 404)
        return _json({"job": found.to_json()})

    async def cancel(self, request: Request) -> Response:
        """Stop a job."""
        found = self.jobs.get(request.path_params["job"])
        if found is not None:
            found.cancel()
        return _json({"job": None if found is None else found.to_json()})

    async def files(self, request: Request) -> Response:
        """How each file was read, how tables hang together, and the verdict."""
        return await self._of_assessment(request, self._files)

    async def noise(self, request: Request) -> Response:
        """What identities give away about the noise of each table."""
        return await self._of_assessment(request, self._noise)

    async def findings(self, request: Request) -> Response:
        """What was found, what was looked at, and what people say about it."""
        return await self._of_assessment(request, self._findings)

    async def microscope(self, request: Request) -> Response:
        """A map of the cells."""
        return await self._of_assessment(request, lambda opened, asked: opened.microscope(asked))

    async def cell(self, request: Request) -> Response:
        """One cell closely; `without` lists what is switched off."""

        def look(opened: Opened, asked: Mapping[str, str]) -> dict[str, Any]:
            number = asked.get("cell", "")
            if not number.isascii() or not number.isdigit() or len(number) > 12:
                raise SpecError.for_value("cell", found=number, allowed="the number of a cell")
            gone = _parsed(asked.get("without") or "[]")
            if not isinstance(gone, list) or not all(isinstance(one, str) for one in gone):
                raise SpecError.for_value("without", found="something else", allowed="a list of tables")
            return opened.look(int(number), gone).to_json()

        return await self._of_assessment(request, look)

    async def decide(self, request: Request) -> Response:
        """Say how files are to be read."""
        case, body = self._case(request), await _body(request)
        text = _text(body, "decisions", limits.current().overrides_bytes)
        try:
            document = yaml.safe_load(text) or {}
        except (yaml.YAMLError, RecursionError, ValueError):
            raise SpecError(
                "These decisions are not YAML; indent with blanks and quote odd values."
            ) from None
        parse_overrides(document)
        self.desk.cases.note(case, decisions=document)
        return _json({"saved": True})

    async def attack(self, request: Request) -> Response:
        """Say what the attacker has beside the tables."""
        case, body = self._case(request), await _body(request)
        if body.get("timetable") and case.timetable is None:
            raise SpecError("There is no timetable beside these tables; put gtfs.zip into their folder.")
        noise = _text(body, "noise", 100).strip()
        if noise:
            parse_noise(noise)
        self.desk.cases.note(case, timetable=bool(body.get("timetable")), noise=noise)
        return _json({"saved": True})

    async def remark(self, request: Request) -> Response:
        """Accept, reject or comment on a finding."""
        case, body = self._case(request), await _body(request)
        key, verdict = _text(body, "finding", 200), _text(body, "verdict", 20)
        if verdict not in _VERDICTS:
            raise SpecError.for_choice("verdict", found=verdict, allowed=[one for one in _VERDICTS if one])
        said = Remark(verdict=verdict, comment=_text(body, "comment"), by=_text(body, "by", 200), at=_now())
        notes = self.desk.cases.notes(case)
        saved = self.desk.cases.note(case, remarks={**notes.remarks, key: said}, signed_by="", signed_at="")
        return _json({"remark": asdict(saved.remarks[key])})

    async def sign(self, request: Request) -> Response:
        """Sign all that was said; later remarks undo it."""
        case, body = self._case(request), await _body(request)
        by = _text(body, "by", 200).strip()
        if not by:
            raise SpecError("A signature needs a name; write yours.")
        notes = self.desk.cases.note(case, signed_by=by, signed_at=_now())
        return _json({"signed_by": notes.signed_by, "signed_at": notes.signed_at})

    async def report(self, request: Request) -> Response:
        """Write the report; its page is at `report.html` then."""
        opened = await self._open(request)
        if isinstance(opened, Response):
            return opened
        job = self._reporting(opened)
        return await _watched(job, lambda: {"ready": True})

    async def report_page(self, request: Request) -> Response:
        """The report as a file."""
        opened = await self._open(request)
        if isinstance(opened, Response):
            return opened
        return await _download(self._reporting(opened), "report.html")

    async def kept(self, request: Request) -> Response:
        """Put the pages of a case into one file; it is at `kept.html` then."""
        opened = await self._open(request)
        return (
            opened
            if isinstance(opened, Response)
            else await _watched(self._keeping(opened), lambda: {"ready": True})
        )

    async def kept_page(self, request: Request) -> Response:
        """The pages of a case as one file."""
        opened = await self._open(request)
        return (
            opened
            if isinstance(opened, Response)
            else await _download(self._keeping(opened), "workbench.html")
        )

    def _keeping(self, opened: Opened, /) -> Job:
        case, notes = opened.case, self.desk.cases.notes(opened.case)
        said = {"case": case.to_json(), "timetable": notes.timetable, "noise": notes.noise}
        pages = {
            "/start.json": {
                "folder": case.name,
                "custodian": False,
                "cases": [{**case.to_json(), "open": True, "signed": notes.signed_by}],
            },
            f"/r/{case.id}/files.json": {**self._files(opened, {}), **said},
            f"/r/{case.id}/noise.json": {**self._noise(opened, {}), **said},
            f"/r/{case.id}/findings.json": {**self._findings(opened, {}), **said},
        }
        digest = hashlib.sha256(json.dumps(pages, sort_keys=True).encode()).hexdigest()[:16]
        return self.jobs.begin(
            f"keep:{digest}", "Keeping these pages", lambda say: keep(opened, pages, self.assets, say)
        )

    def _reporting(self, opened: Opened, /) -> Job:
        key = f"report:{self.desk.key(opened.case, self.desk.cases.notes(opened.case))}"
        return self.jobs.begin(key, "Writing the report", lambda say: self.desk.report(opened, say))

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
        return await _watched(job, lambda: job.result)

    async def answer(self, request: Request) -> Response:
        """How many, with an interval: `where` and `by` as the command line takes them."""
        case = self._released(request)
        asked = dict(request.query_params)
        by = tuple(one for one in asked.get("by", "").split("|") if one)
        where = _parsed(asked.get("where") or "{}")
        if not isinstance(where, dict):
            raise SpecError.for_value("where", found="something else", allowed="conditions by dimension")
        level = _parsed(asked.get("level") or "0.95")
        if not isinstance(level, float):
            raise SpecError.for_value("level", found="something else", allowed="a number between 0 and 1")

        form, to = asked.get("form", "total"), _parsed(asked.get("to") or "{}")
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
        return await _watched(job := self.jobs.begin(key, "Answering", work), lambda: job.result)

    async def prices(self, _: Request) -> Response:
        """The specs that can be priced."""
        found = await run_in_threadpool(specs, self.desk.cases.root)
        return _json({"specs": [{"id": number, "name": file.stem} for number, file in found.items()]})

    async def price(self, request: Request) -> Response:
        """What the questions of a spec cost."""
        number = request.path_params["spec"]
        file = await run_in_threadpool(find_spec, self.desk.cases.root, number)
        key = f"price:{number}:{file.stat().st_mtime_ns}"
        job = self.jobs.begin(key, f"Pricing {file.stem}", lambda say: price(file, say))
        return await _watched(job, lambda: job.result)

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
        return _json({"case": case.to_json()}, 201)

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
        return _json({"discarded": True})

    def _case(self, request: Request, /) -> Case:
        return self.desk.cases.get(request.path_params["case"])

    def _released(self, request: Request, /) -> Case:
        case = self._case(request)
        if not case.card:
            raise SpecError("Questions need the card of a release; these tables have none beside them.")
        return case

    def _opened(self, case: Case, /) -> Opened | None:
        return self.desk.opened(self.desk.key(case, self.desk.cases.notes(case)))

    async def _open(self, request: Request, /) -> Opened | Response:
        """The assessment of a case; if it is not there yet, the job that makes it."""
        case = self._case(request)
        notes = self.desk.cases.notes(case)
        key = self.desk.key(case, notes)
        found = self.desk.opened(key)
        if found is not None:
            return found
        work: Work = lambda say: self.desk.assess(case, notes, say)  # noqa: E731 - named for its type
        job = self.jobs.begin(f"assess:{key}", f"Taking {case.name} apart", work)
        if job.standing == "done":
            # It was worked out once and has been put away since.
            self.jobs.drop(f"assess:{key}")
            job = self.jobs.begin(f"assess:{key}", f"Taking {case.name} apart", work)
        await run_in_threadpool(job.wait, _PATIENCE)
        found = self.desk.opened(key)
        return found if found is not None else _standing(job)

    async def _of_assessment(
        self, request: Request, view: Callable[[Opened, Mapping[str, str]], dict[str, Any]], /
    ) -> Response:
        opened = await self._open(request)
        if isinstance(opened, Response):
            return opened
        content = await run_in_threadpool(view, opened, dict(request.query_params))
        notes = self.desk.cases.notes(opened.case)
        said = {"timetable": notes.timetable, "noise": notes.noise}
        return _json({**content, "case": opened.case.to_json(), **said})

    def _files(self, opened: Opened, _: Mapping[str, str], /) -> dict[str, Any]:
        content, notes = opened.content, self.desk.cases.notes(opened.case)
        counts: dict[str, int] = {}
        if opened.assessment.inference is not None:
            states = opened.map.microscope.states
            counts = {one.name.lower(): int((states == one).sum()) for one in CellState}
        return {
            "tables": content["tables"],
            "left_out": content["left_out"],
            "privacy": content["privacy"],
            "inference": content["inference"],
            "not_examined": content["not_examined"],
            "findings": _keyed(content["findings"]),
            "checks": len(content["checks"]),
            "states": counts,
            "decided": notes.decisions,
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


def _keyed(findings: list[dict[str, Any]], /) -> list[dict[str, Any]]:
    """The findings with a name each, also where several are of one kind."""
    seen: dict[str, int] = {}
    found = []
    for one in findings:
        seen[one["id"]] = number = seen.get(one["id"], 0) + 1
        found.append({**one, "key": one["id"] if number == 1 else f"{one['id']}-{number}"})
    return found


async def _watched(job: Job, result: Callable[[], dict[str, Any]], /) -> Response:
    """What came of a job, or how far it is if it takes longer."""
    await run_in_threadpool(job.wait, _PATIENCE)
    return _json(result()) if job.standing == "done" else _standing(job)


async def _download(job: Job, name: str, /) -> Response:
    """What a job wrote, as a file; it is for the disk, and runs nothing here."""
    await run_in_threadpool(job.wait, 60.0)
    if job.standing != "done":
        return _standing(job)
    return Response(
        job.result,
        media_type="text/html; charset=utf-8",
        headers={
            "content-disposition": f'attachment; filename="{name}"',
            "content-security-policy": "sandbox; default-src 'none'",
        },
    )


def _standing(job: Job, /) -> Response:
    """How far a job is, or why there is nothing to wait for."""
    if job.fault is not None:
        return _json({**job.fault.to_json(), "job": job.to_json()}, job.fault.status)
    return _json({"job": job.to_json()}, 202)


async def _body(request: Request, /) -> dict[str, Any]:
    most, octets = limits.current().overrides_bytes + 10_000, b""
    async for piece in request.stream():
        octets += piece
        if len(octets) > most:
            raise SpecError(f"This is longer than {most:,} bytes; write less.")
    found = _parsed(octets)
    if not isinstance(found, dict):
        raise SpecError("This request is not JSON; reload the page and try again.")
    return found


def _parsed(text: str | bytes, /) -> Any:
    """JSON that somebody sent; None if it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _text(body: dict[str, Any], name: str, most: int | None = None, /) -> str:
    found = body.get(name, "")
    bound = limits.current().note_characters if most is None else most
    if not isinstance(found, str) or len(found) > bound:
        raise SpecError.for_value(
            name, found="something else", allowed=f"text of at most {bound:,} characters"
        )
    return found


def _now() -> str:
    return datetime.now(tz=UTC).isoformat(timespec="seconds")


def _json(content: Any, status: int = 200, /) -> Response:
    return JSONResponse(content, status)
