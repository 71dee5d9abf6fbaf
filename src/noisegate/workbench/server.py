"""The server of the workbench: on loopback only, one process, until it is interrupted."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

from noisegate.errors import DataError, OutputError, SpecError
from noisegate.workbench.app import make_app
from noisegate.workbench.guard import new_token

#: The port that is tried first; the next free one is taken if nobody asked for it.
PORT = 8765
_TRIED = 50
_HOST = "127.0.0.1"
#: Seconds between two clicks after which the line is closed.
_PAUSE = 120


def serve(
    folder: Path | None = None,
    /,
    *,
    custodian: bool = False,
    port: int | None = None,
    ledger: str | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve the workbench over a directory until it is interrupted.

    Parameters
    ----------
    folder
        Whose releases and tables are shown; the newest folder of a demo, or else the current one.
    custodian
        Also show the custodian's pages.
    port
        Where to listen; a free one by default.
    ledger
        The file or URL of the custodian's ledger; that of your state folder by default.
    say
        Called with the address, which holds the token.

    Raises
    ------
    InputError
        If there is no such directory, or the port is taken.
    """
    import uvicorn

    root = newest_demo() if folder is None else folder
    if not root.is_dir():
        raise DataError(f"There is no directory {str(root)!r}; give one with releases or tables.")
    listening = _listen(port)
    number, token = int(listening.getsockname()[1]), new_token()
    app = make_app(root.resolve(), port=number, token=token, custodian=custodian, ledger=ledger)
    say(f"http://{_HOST}:{number}/?token={token}")
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        lifespan="off",
        # People look longer at a page than programs do; a line that closes under a click may lose it.
        timeout_keep_alive=_PAUSE,
    )
    try:
        uvicorn.Server(config).run(sockets=[listening])
    finally:
        app.close()
        listening.close()


def newest_demo(here: Path | None = None, /) -> Path:
    """The folder that `noisegate demo` made last in this one; this one if there is none."""
    place = Path.cwd() if here is None else here
    made = [one for one in place.glob("noisegate-demo*") if one.is_dir()]
    return max(made, key=lambda one: one.stat().st_mtime, default=place)


def _listen(port: int | None, /) -> socket.socket:
    if port is not None and not 0 <= port <= 65_535:
        raise SpecError.for_value("--port", found=port, allowed="a number from 0 to 65535")
    for number in range(PORT, PORT + _TRIED) if port is None else (port,):
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((_HOST, number))
        except OSError:
            listening.close()
            continue
        listening.listen(100)
        return listening
    wanted = f"Port {port} is" if port is not None else f"The ports from {PORT} to {PORT + _TRIED - 1} are"
    raise OutputError(f"{wanted} taken or not allowed; choose another with --port.")
