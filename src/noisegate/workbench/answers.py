"""How routes answer: JSON, how far work is, or a file; and how they read what a page sent."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from noisegate import limits
from noisegate.errors import SpecError
from noisegate.workbench.jobs import Job

#: A page waits this long for work before it is told to watch it, in seconds.
PATIENCE = 0.4


async def watched(job: Job, result: Callable[[], dict[str, Any]], /) -> Response:
    """What came of a job, or how far it is if it takes longer."""
    await job.wait(PATIENCE)
    return reply(result()) if job.standing == "done" else standing(job)


async def download(job: Job, name: str, /) -> Response:
    """What a job wrote, as a file; it is for the disk, and runs nothing here."""
    await job.wait(60.0)
    if job.standing != "done":
        return standing(job)
    return Response(
        job.result,
        media_type="text/html; charset=utf-8",
        headers={
            "content-disposition": f'attachment; filename="{name}"',
            "content-security-policy": "sandbox; default-src 'none'",
        },
    )


def standing(job: Job, /, **more: str) -> Response:
    """How far a job is, or why there is nothing to wait for."""
    if job.fault is not None:
        return reply({**job.fault.to_json(), "job": job.to_json()}, job.fault.status)
    return reply({"job": job.to_json(), **more}, 202)


async def body_of(request: Request, /, *, most: int | None = None) -> dict[str, Any]:
    """What a page sent, as JSON of a bounded length."""
    most, octets = (limits.current().overrides_bytes if most is None else most) + 10_000, b""
    async for piece in request.stream():
        octets += piece
        if len(octets) > most:
            raise SpecError(f"This is longer than {most:,} bytes; write less.")
    found = parsed(octets)
    if not isinstance(found, dict):
        raise SpecError("This request is not JSON; reload the page and try again.")
    return found


def parsed(text: str | bytes, /) -> Any:
    """JSON that somebody sent; None if it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def text_of(body: dict[str, Any], name: str, most: int | None = None, /) -> str:
    """A text that a page sent, of a bounded length."""
    found = body.get(name, "")
    bound = limits.current().note_characters if most is None else most
    if not isinstance(found, str) or len(found) > bound:
        raise SpecError.for_value(
            name, found="something else", allowed=f"text of at most {bound:,} characters"
        )
    return found


def now() -> str:
    """The time, in UTC."""
    return datetime.now(tz=UTC).isoformat(timespec="seconds")


def reply(content: Any, status: int = 200, /) -> Response:
    """An answer in JSON."""
    return JSONResponse(content, status)
