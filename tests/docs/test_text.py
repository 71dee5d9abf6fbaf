"""What the documents show runs, and what they link to exists."""

import ast
import re
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
