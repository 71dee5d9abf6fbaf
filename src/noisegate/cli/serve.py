"""`noisegate serve`: the workbench in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from noisegate.cli.output import LedgerOption, console


def serve(
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DIR]",
            help="Directory with releases or tables; the newest demo, or the current one, if left out.",
        ),
    ] = None,
    *,
    custodian: Annotated[
        bool,
        typer.Option(
            "--custodian", help="Also show the custodian's pages: interview, prices, fixes, the ledger."
        ),
    ] = False,
    port: Annotated[
        int | None, typer.Option(metavar="N", help="Port to listen on; a free one if left out.")
    ] = None,
    ledger: LedgerOption = None,
) -> None:
    """Look at releases and tables in a browser: what was hidden, what gave it away, what an answer is worth.

    Listens on this computer only, needs no network, and sends nothing anywhere. The address that it prints holds a token; whoever has it
    can use the workbench until it is stopped with Ctrl+C. What you decide and sign is kept for the next time.

    Example: noisegate serve noisegate-demo
    """
    from noisegate.workbench import serve as run

    def say(address: str) -> None:
        console.print("The workbench is open; Ctrl+C ends it. Open in a browser:")
        console.print(f"  {address}", soft_wrap=True, highlight=False)

    run(folder, custodian=custodian, port=port, ledger=ledger, say=say)
