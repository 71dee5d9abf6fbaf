"""Run the notebooks of docs/notebooks and keep what they show: `python docs/_make/notebooks.py [NOTEBOOK...]`.

A notebook is run cell by cell in one namespace and in an empty folder, without Jupyter. Outputs are kept as text, HTML and
SVG, so that a forge shows them.
"""  # noqa: INP001 - a script

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"


def run(notebook: dict[str, Any], /) -> Iterator[list[dict[str, Any]]]:
    """Run the code cells in order, in the folder we are in; yields what each shows."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            yield _outputs("".join(cell["source"]), names)


def _outputs(source: str, names: dict[str, Any], /) -> list[dict[str, Any]]:
    """What a cell prints, and the value of its last line."""
    body = ast.parse(source).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), "cell", "exec"), names)  # noqa: S102 - our own notebooks
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)  # noqa: S307
    found: list[dict[str, Any]] = []
    if printed.getvalue():
        found.append({"output_type": "stream", "name": "stdout", "text": _lines(printed.getvalue())})
    if value is not None:
        found.append(
            {
                "output_type": "execute_result",
                "execution_count": None,
                "metadata": {},
                "data": _data(value),
            }
        )
    return found


def _data(value: Any, /) -> dict[str, Any]:
    """A value as text, and as a page or a picture if it has one."""
    data: dict[str, Any] = {"text/plain": _lines(repr(value))}
    if hasattr(value, "_repr_html_"):
        data["text/html"] = _lines(value._repr_html_())
    if hasattr(value, "_repr_svg_"):
        data["image/svg+xml"] = _lines(value._repr_svg_())
    return data


def _lines(text: str, /) -> list[str]:
    return text.splitlines(keepends=True)


def update(path: Path, /) -> None:
    """Run one notebook in an empty folder and write it back with what it shows."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for number, (cell, shown) in enumerate(zip(cells, run(notebook), strict=True), start=1):
                cell["outputs"], cell["execution_count"] = shown, number
                for one in shown:
                    if one["output_type"] == "execute_result":
                        one["execution_count"] = number
        finally:
            os.chdir(before)
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("notebooks", nargs="*", type=Path, default=sorted(NOTEBOOKS.glob("*.ipynb")))
    for one in parser.parse_args().notebooks:
        update(one)
