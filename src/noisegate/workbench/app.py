"""The workbench as an application: its routes, its built pages, and what becomes of errors."""

from __future__ import annotations

import mimetypes
from importlib import resources
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from noisegate.errors import InternalError, NoisegateError
from noisegate.workbench.cases import Cases, state_folder
from noisegate.workbench.custody import Custody
from noisegate.workbench.desk import Desk
from noisegate.workbench.guard import Guard, TooLargeError
from noisegate.workbench.jobs import Jobs, fault_of
from noisegate.workbench.routes import Bench

_PAGES = ("files", "noise", "microscope", "map", "weeks", "findings", "compare", "ask")


def make_app(
    root: Path,
    /,
    *,
    port: int,
    token: str,
    custodian: bool = False,
    ledger: str | None = None,
    state: Path | None = None,
) -> Guard:
    """The workbench over a directory, behind its guard.

    Parameters
    ----------
    root
        The directory whose releases and tables are shown.
    port, token
        What requests must name and carry.
    custodian
        Whether the custodian's pages are there at all.
    ledger
        The file or URL of the custodian's ledger; that of your state folder by default.
    state
        Where what people say is kept; a private place of this user by default.
    """
    place = state if state is not None else state_folder(root)
    jobs = Jobs(private=str(place))
    bench = Bench(desk=Desk(Cases(root, place)), jobs=jobs, custodian=custodian, assets=_assets())
    custody = Custody(root=root, jobs=jobs, ledger=ledger) if custodian else None
    inner = Starlette(
        routes=_routes(bench, custody),
        exception_handlers={
            NoisegateError: _failed,
            TooLargeError: _too_large,
            HTTPException: _no_such,
            Exception: _failed,
        },
    )
    return Guard(app=inner, port=port, token=token, close=jobs.close)


def _routes(bench: Bench, custody: Custody | None, /) -> list[Route]:
    pages = bench.assets
    index = pages["index.html"]

    async def page(_: Request) -> Response:
        return Response(index, media_type="text/html; charset=utf-8")

    async def asset(request: Request) -> Response:
        name = f"assets/{request.path_params['name']}"
        if name not in pages:
            raise HTTPException(404)
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        return Response(pages[name], media_type=kind)

    def twin(path: str, route: Any) -> list[Route]:
        return [Route(path, page), Route(f"{path}.json", route)]

    # An answer has an address of its own.
    twins = {"ask": bench.dimensions}
    found = [Route("/", page), Route("/start.json", bench.start), Route("/assets/{name}", asset)]
    for name in _PAGES:
        found += twin(f"/r/{{case}}/{name}", twins.get(name) or getattr(bench, name))
    return [
        *found,
        Route("/r/{case}/cell.json", bench.cell),
        Route("/r/{case}/answer.json", bench.answer),
        Route("/r/{case}/rival.json", bench.rival),
        Route("/r/{case}/draws.json", bench.draws),
        Route("/r/{case}/attacker.json", bench.attacker),
        Route("/dial", bench.turn, methods=["POST"]),
        Route("/r/{case}/report.json", bench.report),
        Route("/r/{case}/report.html", bench.report_page),
        Route("/r/{case}/kept.json", bench.kept),
        Route("/r/{case}/kept.html", bench.kept_page),
        Route("/r/{case}/decisions", bench.decide, methods=["POST"]),
        Route("/r/{case}/attack", bench.attack, methods=["POST"]),
        Route("/r/{case}/remarks", bench.remark, methods=["POST"]),
        Route("/r/{case}/sign", bench.sign, methods=["POST"]),
        Route("/r/{case}/discard", bench.discard, methods=["POST"]),
        Route("/uploads", bench.upload, methods=["POST"]),
        *(_of_custodian(bench, custody, page) if custody is not None else ()),
        Route("/jobs/{job}.json", bench.job),
        Route("/jobs/{job}/cancel", bench.cancel, methods=["POST"]),
    ]


def _of_custodian(bench: Bench, custody: Custody, page: Any, /) -> list[Route]:
    """Routes that are there only if the server was started for the custodian."""

    async def fix(request: Request) -> Response:
        return await bench.of_assessment(request, custody.fix)

    return [
        Route("/price", page),
        Route("/price.json", custody.prices),
        Route("/price/{spec}.json", custody.price),
        Route("/price/{spec}/attacks.json", custody.best_attacks),
        Route("/ledger", page),
        Route("/ledger.json", custody.book),
        Route("/interview", page),
        Route("/interview.json", custody.interviews),
        Route("/interview/{events}.json", custody.interview),
        Route("/interview/{events}/judge", custody.judge, methods=["POST"]),
        Route("/interview/{events}/keep", custody.keep, methods=["POST"]),
        Route("/r/{case}/fix", page),
        Route("/r/{case}/fix.json", fix),
        Route("/publish", custody.publish, methods=["POST"]),
    ]


def _assets() -> dict[str, bytes]:
    """The built pages, read once: nothing else on disk can be asked for."""
    top = resources.files("noisegate.workbench") / "static"
    found: dict[str, bytes] = {}
    for folder, prefix in ((top, ""), (top / "assets", "assets/")):
        if folder.is_dir():
            found |= {f"{prefix}{one.name}": one.read_bytes() for one in folder.iterdir() if one.is_file()}
    if "index.html" not in found:
        raise InternalError(
            "the pages of the workbench are not built; run 'npm ci && npm run build' in frontend"
        )
    return found


async def _failed(_: Request, problem: Exception) -> Response:
    fault = fault_of(problem)
    return JSONResponse(fault.to_json(), fault.status)


async def _too_large(_: Request, __: Exception) -> Response:
    return JSONResponse(
        {"error": "This is more than the workbench takes at once; use a path.", "id": "limit"}, 413
    )


async def _no_such(_: Request, problem: Exception) -> Response:
    status = problem.status_code if isinstance(problem, HTTPException) else 500
    return JSONResponse({"error": "There is no such page; go back to the start.", "id": "none"}, status)
