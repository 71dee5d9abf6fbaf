"""The `noisegate` command: its sub-commands, and what each kind of error returns.

Exit codes: 0 fine; 1 a fault of ours; 2 bad input; 3 a gate said no; 130 interrupted; 143 asked to end.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from types import FrameType
from typing import Annotated, NoReturn

import typer
from typer.exceptions import TyperException

from noisegate import stopping
from noisegate.cli.output import console, typed
from noisegate.errors import NoisegateError

#: The commands in the order of the help; each is the function of its name in the module of its name.
_COMMANDS = (
    "demo",
    "reproduce",
    "mechanism",
    "simulate",
    "init",
    "release",
    "query",
    "assess",
    "serve",
)
_LEDGER_HELP = "What each population may spend, has spent, and on what."


def _version(wanted: bool) -> None:  # noqa: FBT001 - the shape Typer calls
    if wanted:
        from importlib import metadata

        typer.echo(f"noisegate {metadata.version('noisegate')}")
        raise typer.Exit


def _main(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    del version


def program(only: str | None = None, /, *, described: bool = False) -> typer.Typer:
    """The command line; with one command only if it is known which one runs, as what others need takes time to load.

    `described` is enough to list the commands: the ledger's own commands are not loaded then.
    """
    app = typer.Typer(
        name="noisegate",
        no_args_is_help=True,
        add_completion=True,
        context_settings={"help_option_names": ["-h", "--help"]},
        help="Make private count releases properly, and take published count tables apart, exactly.",
        epilog="Start with: noisegate demo",
    )
    app.callback()(_main)
    for name in _COMMANDS:
        if only in {None, name}:
            module = import_module(f"noisegate.cli.{name}")
            own = {"cls": module.AssessCommand} if name == "assess" else {}
            app.command(**own)(getattr(module, name))
    if described:
        app.add_typer(typer.Typer(help=_LEDGER_HELP), name="ledger")
    elif only in {None, "ledger"}:
        app.add_typer(import_module("noisegate.cli.ledger").app, name="ledger")
    return app


def _program_for(arguments: Sequence[str], /) -> typer.Typer:
    """As much of the command line as the arguments ask for."""
    first = next(iter(arguments), "")
    completing = any(name.endswith("_COMPLETE") for name in os.environ)
    if not completing and first in {*_COMMANDS, "ledger"}:
        return program(first)
    return program(described=not completing and first in {"", "--help", "-h", "--version"})


def __getattr__(name: str, /) -> typer.Typer:
    """`app`: the whole command line, for those who describe it."""
    if name == "app":
        return program()
    raise AttributeError(name)


def main(arguments: Sequence[str], /) -> int:  # noqa: PLR0911 - one return for each kind of ending
    """Run the command line and return its exit code."""
    console.stderr = False
    typed[:] = arguments
    try:
        result = _program_for(arguments)(list(arguments), prog_name="noisegate", standalone_mode=False)
    except typer.Exit as done:
        return int(done.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        return 128 + signal.SIGTERM if stopping.asked() == signal.SIGTERM else _say("stopped.", 130)
    except TyperException as problem:
        # Asked for nothing, Typer has printed the help already and has no more to say.
        return _say(_one_sentence(problem), 2) if problem.format_message() else 2
    except NoisegateError as problem:
        return (
            128 + signal.SIGTERM
            if stopping.asked() == signal.SIGTERM
            else _say(str(problem), problem.exit_code)
        )
    except BrokenPipeError:
        # The reader (a pager, head) went away: nothing is wrong.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as problem:  # noqa: BLE001 - the last line of defence: no traceback, no data
        return _our_fault(problem)
    return result if isinstance(result, int) else 0


def run() -> None:
    """Entry point of the `noisegate` program; asked to end, it clears away what it has begun."""
    signal.signal(signal.SIGTERM, _end)
    if (
        signal.getsignal(signal.SIGINT) is signal.default_int_handler
    ):  # else whoever started it wants no Ctrl-C
        signal.signal(signal.SIGINT, _interrupt)
    # Our products of vectors are short: a second thread of the linear algebra only spins beside them.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Nobody's plugins look at specs; searching all installed packages for them takes longer than reading one.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    try:
        code = main(sys.argv[1:])
    except SystemExit as asked:
        code = asked.code if isinstance(asked.code, int) else 1
    _leave(code)


def _leave(code: int, /) -> NoReturn:
    """End at once, after whatever asked to be called at the end.

    To take the interpreter apart lasts longer than many a command, and the threads of libraries that are still about to stop then end
    the program with a message of their own and 134 (Arrow's, in one of eighty runs on a busy machine).
    """
    atexit._run_exitfuncs()  # noqa: SLF001 - there is no public name for it
    for stream in (sys.stdout, sys.stderr):
        with suppress(BrokenPipeError):  # the reader went away: nothing is wrong
            stream.flush()
    os._exit(code)


def _end(number: int, _: FrameType | None, /) -> None:
    stopping.remember(number)
    raise SystemExit(128 + number)


def _interrupt(number: int, _: FrameType | None, /) -> None:
    stopping.remember(number)
    raise KeyboardInterrupt


def _say(sentence: str, code: int, /) -> int:
    typer.echo(f"noisegate: {sentence}", err=True)
    return code


def _one_sentence(problem: TyperException, /) -> str:
    text = " ".join(problem.format_message().split()).rstrip(".")
    where = getattr(problem, "ctx", None)
    command = where.command_path if where is not None else "noisegate"
    return f"{text}. See '{command} --help'."


def _our_fault(problem: Exception, /) -> int:
    """Name the place, not the values: the text of an unforeseen error may hold data."""
    if stopping.asked() == signal.SIGTERM:
        return 128 + signal.SIGTERM
    if os.environ.get("NOISEGATE_DEBUG"):
        traceback.print_exception(problem)
        return 1
    frame = traceback.extract_tb(problem.__traceback__)[-1]
    place = f"{os.path.basename(frame.filename)}:{frame.lineno}"  # noqa: PTH119 - a name from a traceback
    return _say(
        f"an unforeseen {type(problem).__name__} at {place}; this is a fault of ours, please report it "
        "(NOISEGATE_DEBUG=1 shows the details).",
        1,
    )
