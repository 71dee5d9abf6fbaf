"""Who may talk to the workbench: this computer, from its own pages, with the token that was printed at the start.

Other programs and pages can reach any loopback port. So every request must name this host (no rebinding of names), come from this
origin if it says where it comes from, and carry the token: in the address once, then in a cookie that no other site sends and no script reads.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from starlette.datastructures import URL, Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from noisegate import limits

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

#: Nothing comes from elsewhere, nothing goes elsewhere, and no text of a file can become a script.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
}
_SAFE = frozenset({"GET", "HEAD"})
_LOST = "Open the address that 'noisegate serve' printed: it carries the token of this session.\n"


class TooLargeError(Exception):
    """A request is longer than the limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """Lets requests through to `app` if they may, and puts the rules for browsers on every answer; `close` ends what still runs."""

    app: App
    port: int
    token: str = field(repr=False)
    close: Callable[[], None] = lambda: None

    @property
    def cookie(self) -> str:
        """The name of the cookie; servers on other ports have their own."""
        return f"noisegate-{self.port}"

    @property
    def hosts(self) -> frozenset[str]:
        """What this server may be called."""
        return frozenset(f"{name}:{self.port}" for name in ("127.0.0.1", "localhost", "[::1]"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        refused = self._refused(HTTPConnection(scope))
        if refused is not None:
            await refused(scope, receive, _with_headers(send))
            return
        await self.app(
            scope, _bounded(receive, limits.current().upload_bytes + (1 << 20)), _with_headers(send)
        )

    def _refused(self, request: HTTPConnection, /) -> Response | None:
        headers = request.headers
        if headers.get("host", "") not in self.hosts:
            return PlainTextResponse("This is not the name of this server.\n", 421)
        if not self._own_origin(request.scope["method"], headers):
            return PlainTextResponse("Requests from other pages are not answered.\n", 403)
        given = request.query_params.get("token")
        if given is not None and self._right(given):
            return self._welcome(request.url)
        if self._right(request.cookies.get(self.cookie, "")) or self._right(_bearer(headers)):
            return None
        return PlainTextResponse(_LOST, 403)

    def _own_origin(self, method: str, headers: Headers, /) -> bool:
        """Whether the request comes from a page of ours or from no page; what changes something must say so."""
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        if origin is not None:
            return origin in {f"http://{host}" for host in self.hosts}
        if method in _SAFE:
            return site in {"none", "same-origin"} or headers.get("sec-fetch-mode") == "navigate"
        return bool(_bearer(headers)) or site == "same-origin"

    def _right(self, given: str, /) -> bool:
        return hmac.compare_digest(given.encode(), self.token.encode())

    def _welcome(self, url: URL, /) -> Response:
        """The same page without the token in its address, which now travels as a cookie."""
        clean = url.remove_query_params("token")
        answer = RedirectResponse(f"{clean.path}?{clean.query}" if clean.query else clean.path, 303)
        answer.set_cookie(self.cookie, self.token, httponly=True, samesite="strict", path="/")
        return answer


def new_token() -> str:
    """A token that nobody guesses."""
    return secrets.token_urlsafe(24)


def _bearer(headers: Headers, /) -> str:
    kind, _, token = headers.get("authorization", "").partition(" ")
    return token if kind.lower() == "bearer" else ""


def _with_headers(send: Send, /) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                if name not in headers:
                    headers[name] = value
            if "cache-control" not in headers:
                headers["cache-control"] = "no-store"
        await send(message)

    return sent


def _bounded(receive: Receive, most: int, /) -> Receive:
    """What a request sends, up to so many bytes."""
    seen = 0

    async def received() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > most:
            raise TooLargeError
        return message

    return received
