"""The documentation as a site: built without a warning, without the network, and with every page two clicks from the first."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

from noisegate import __version__
from noisegate.cli.main import app

ROOT = Path(__file__).resolve().parents[2]


class Links(HTMLParser):
    """What a page leads to, and what it loads."""

    def __init__(self) -> None:
        super().__init__()
        self.leads, self.loads = set(), set()

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if tag == "a" and found.get("href"):
            self.leads.add(found["href"].split("#")[0])
        if tag in {"script", "img", "iframe"} and found.get("src"):
            self.loads.add(found["src"])
        if tag == "link" and found.get("rel") in {"stylesheet", "preload", "icon"}:
            self.loads.add(found["href"])


def links(page: Path) -> Links:
    found = Links()
    found.feed(page.read_text("utf-8"))
    return found


def led_to(page: Path) -> set[Path]:
    return {(page.parent / one).resolve() for one in links(page).leads if one and "://" not in one}


def test_the_site(tmp_path):
    out = tmp_path
    made = subprocess.run(
        [sys.executable, ROOT / "docs/_make/site.py", "--out", out],
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    # One test, since every process that runs some would build it.
    check_every_page_is_two_clicks_from_the_first(out)
    check_nothing_is_loaded_from_elsewhere(out)
    check_notebooks_show_what_they_showed(out)
    check_the_search_knows_every_command(out)


def check_every_page_is_two_clicks_from_the_first(site):
    first = site / __version__ / "index.html"
    assert first.resolve() in led_to(site / "index.html")
    once = led_to(first)
    twice = once.union(*(led_to(page) for page in once if page.suffix == ".html"))
    made = {
        (site / __version__ / page.relative_to(ROOT / "docs")).with_suffix(".html").resolve()
        for page in (ROOT / "docs").glob("[a-z]*/*.[im][pd]*")
        if page.name != "README.md" and page.suffix in {".md", ".ipynb"}
    }
    assert len(made) > 50
    assert made <= twice


def check_nothing_is_loaded_from_elsewhere(site):
    pages = list((site / __version__).rglob("*.html"))
    assert {one for page in pages for one in links(page).loads if re.match(r"(https?:)?//", one)} == set()


def check_notebooks_show_what_they_showed(site):
    text = (site / __version__ / "notebooks/assessor.html").read_text("utf-8")
    assert "laplace, scale" in text
    assert "data:image/png;base64," in text


def check_the_search_knows_every_command(site):
    index = (site / __version__ / "searchindex.js").read_text("utf-8")
    names = [command.callback.__name__.replace("_", "-") for command in app.registered_commands]
    assert len(names) > 8
    assert [name for name in names if f'"noisegate {name}"' not in index] == []
