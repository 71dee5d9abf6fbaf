"""The documentation as a site: built without a warning, without the network, and with every page two clicks from the first."""

import html
import importlib.util
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import typer

import noisegate
from noisegate import __version__
from noisegate.assessment import INQUIRIES
from noisegate.cli.main import app

ROOT = Path(__file__).resolve().parents[2]


def site_maker():
    """`docs/_make/site.py`, under a name that Python does not use itself."""
    spec = importlib.util.spec_from_file_location("site_maker", ROOT / "docs/_make/site.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Links(HTMLParser):
    """What a page leads to, and what it loads."""

    def __init__(self) -> None:
        super().__init__()
        self.leads, self.loads, self.ids, self.places = set(), set(), set(), set()

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if found.get("id"):
            self.ids.add(found["id"])
        if tag == "a" and found.get("href"):
            self.leads.add(found["href"].split("#")[0])
            self.places.add(found["href"])
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
    check_every_feature_is_two_clicks_from_the_first(out)
    check_versions_lie_side_by_side(out)


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
    assert "data:image/svg+xml;base64," in text


def check_the_search_knows_every_command(site):
    index = (site / __version__ / "searchindex.js").read_text("utf-8")
    names = [command.callback.__name__.replace("_", "-") for command in app.registered_commands]
    assert len(names) > 8
    assert [name for name in names if f'"noisegate {name}"' not in index] == []


def features():
    """Every command, public name and kind of finding with the page that has a heading of this name; and pages of their own."""
    commands = typer.main.get_command(app).commands
    named = [
        f"noisegate {name} {below}".rstrip()
        for name, one in commands.items()
        for below in getattr(one, "commands", {"": None})
    ]
    kinds = {kind for one in INQUIRIES for kind, words in one.WORDS.items() if words.method}
    return {
        **dict.fromkeys(named, "reference/commands.html"),
        **dict.fromkeys(noisegate.__all__, "reference/python.html"),
        **dict.fromkeys(kinds, "reference/findings.html"),
        **{f"how-to/{page.stem}.html": "" for page in (ROOT / "docs/how-to").glob("*.md")},
        **{f"gallery/{page.stem}.html": "" for page in (ROOT / "docs/gallery").glob("[a-z]*.md")},
    }


def check_every_feature_is_two_clicks_from_the_first(site):
    """The second click may be one on the list of headings beside a page."""
    home = (site / __version__).resolve()
    twice = set()
    for page in {one for one in led_to(home / "index.html") if one.suffix == ".html"}:
        for place in (one for one in links(page).places if "://" not in one):
            file, _, anchor = place.partition("#")
            target = (page.parent / file).resolve() if file else page
            twice |= {(target, ""), (target, anchor)}
    wanted = features()
    assert len(wanted) > 110
    headings = {page: headings_of(home / page) for page in set(wanted.values()) - {""}}
    lost = [
        name
        for name, page in wanted.items()
        if ((home / page, headings[page].get(name, "no heading")) if page else (home / name, "")) not in twice
    ]
    assert lost == []


def headings_of(page):
    """The anchor of each heading of a page."""
    found = re.findall(
        r'<section id="([^"]+)">\s*(?:<span id="[^"]*"></span>)?<h\d>(.*?)<a', page.read_text("utf-8")
    )
    return {html.unescape(re.sub(r"<[^>]*>", "", text)): anchor for anchor, text in found}


def check_versions_lie_side_by_side(site):
    (site / "0.0.1").mkdir()
    site_maker()._lead(site, __version__)
    first = (site / "index.html").read_text("utf-8")
    assert f'url={__version__}/index.html"' in first
    assert 'href="0.0.1/index.html"' in first
