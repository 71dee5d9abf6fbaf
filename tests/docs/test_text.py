"""What the documents show runs, and what they link to exists."""

import ast
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
BLOCKS = [
    pytest.param(block, id=f"{page.relative_to(ROOT)}:{number}")
    for page in PAGES
    for number, block in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL))
]


@pytest.mark.parametrize("block", BLOCKS)
def test_python_blocks_run_and_give_what_they_say(block, tmp_path, monkeypatch):
    """An expression followed by a comment that starts with a number must have that value."""
    monkeypatch.chdir(tmp_path)
    names, lines = {}, block.splitlines()
    for node in ast.parse(block).body:
        said = re.search(r"#\s*(-?[\d.]+(?:e-?\d+)?)", lines[node.end_lineno - 1])
        if not isinstance(node, ast.Expr) or said is None:
            exec(compile(ast.Module([node], []), "block", "exec"), names)
            continue
        value, printed = (
            float(eval(compile(ast.Expression(node.value), "block", "eval"), names)),
            said.group(1),
        )
        digits = len(re.sub(r"e.*|[.-]|^0\.?0*", "", printed))
        assert value == pytest.approx(float(printed), rel=0.5 * 10 ** (1 - max(1, digits)), abs=1e-15)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_every_command_is_in_the_readme():
    from noisegate.cli.main import app

    text = (ROOT / "README.md").read_text()
    names = [command.callback.__name__ for command in app.registered_commands] + [
        g.name for g in app.registered_groups
    ]
    for name in names:
        assert f"noisegate {name}" in text or f"make {name}" in text


@pytest.mark.slow
def test_what_the_readme_tells_a_newcomer_to_type_works(tmp_path):
    """Every command line below "Start", one after the other in one folder; a gate may say no."""
    program = Path(sys.executable).with_name("noisegate")
    start = (ROOT / "README.md").read_text().partition("\n## Start\n")[2].partition("\n## ")[0]
    lines = re.findall(r"^    (noisegate .*?)(?: +#.*)?$", start, re.MULTILINE)
    assert len(lines) >= 12
    own = os.environ | {
        "NOISEGATE_LEDGER": str(tmp_path / "ledger.sqlite"),
        "NOISEGATE_HEADS": str(tmp_path / "heads"),
    }
    for line in lines:
        words = [
            str(one.relative_to(tmp_path)) if "*" in word else word
            for word in shlex.split(line)[1:]
            for one in (sorted(tmp_path.glob(word)) if "*" in word else [word])
        ]
        done = subprocess.run(
            [program, *words], cwd=tmp_path, env=own, capture_output=True, text=True, check=False
        )
        assert done.returncode in ({0, 3} if "--fail-on" in line else {0}), (line, done.stderr)
