"""The report in a real browser: drawn, quiet, readable on a phone, dark when the reader's screen is."""

from types import SimpleNamespace

import pytest

from noisegate.pictures import DARK, QUIET
from noisegate.report import print_pdf, write_report

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

#: What a browser says of itself when something is wrong on a page.
NOISES = ("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled")
#: Marks of a picture that hold data: painted, and not the size of nothing.
DRAWN = """
[...document.querySelectorAll('.picture')].map(one => {
  const box = one.querySelector('svg').getBoundingClientRect();
  const marks = [...one.querySelectorAll('.mark-rect path, .mark-line path, .mark-symbol path, .mark-rule line')];
  const painted = marks.filter(mark => {
    const look = getComputedStyle(mark), size = mark.getBoundingClientRect();
    return (look.fill !== 'none' || look.stroke !== 'none') && size.width + size.height > 1;
  });
  return [one.parentElement.id, box.width, box.height, painted.length];
})
"""


@pytest.mark.parametrize("kind", ["plain", "hostile"])
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_the_report_opens_quietly_and_every_picture_is_drawn(browser, reported, kind, width, scheme):
    page = reported[kind] / "report.html"
    browser.open(page, width=width, scheme=scheme)
    assert [event["params"] for event in browser.events if event.get("method") in NOISES] == []
    requests = [
        e["params"]["request"]["url"]
        for e in browser.events
        if e.get("method") == "Network.requestWillBeSent"
    ]
    assert [url for url in requests if not url.startswith("data:")] == [page.resolve().as_uri()]
    drawn = browser.ask(DRAWN)
    assert len(drawn) == 9
    for name, across, down, marks in drawn:
        assert across > 250, name
        assert down > 80, name
        assert marks >= 3, name
    assert browser.ask("document.documentElement.scrollWidth") <= width
    assert browser.ask("document.title").startswith("Privacy assessment: ")


@pytest.mark.parametrize("width", [1280, 390])
def test_utility_by_query_fits_a_desk_and_a_phone(browser, only, tmp_path, width):
    causes = ("aggregation", "noise and bounding", "suppression")
    questions = [
        {
            "name": f"question-{place}",
            "answered": True,
            "absolute": dict(zip(causes, (0.4, 30.0 + place, 4.0), strict=True)),
            "total": {"absolute": 33.0},
            "relative_error": {"median": 0.02, "ninth_decile": 0.3},
            "drop_rate": 0.1,
            "spurious_rate": 0.0,
        }
        for place in range(12)
    ]
    utility = {"measured": True, "how": ["Noise and bounding are shown together."], "questions": questions}
    write_report(only(useful=SimpleNamespace(to_json=lambda: utility)), tmp_path)
    browser.open(tmp_path / "report.html", width=width)
    ((name, across, _, marks),) = [one for one in browser.ask(DRAWN) if one[0] == "figure-workload"]
    # Dots and bars of the queries, and those of the legend.
    assert (name, marks) == ("figure-workload", 4 * 12 + 4)
    assert across > 250
    assert browser.ask("document.documentElement.scrollWidth") <= width
    words = "[...document.querySelectorAll('#figure-workload text')].map(one => one.textContent)"
    assert {"noise and bounding", "question-11", "0.5"} <= set(browser.ask(words))


def test_a_picture_without_marks_would_be_noticed(browser, reported, tmp_path):
    text = (reported["plain"] / "report.html").read_text(encoding="utf-8")
    start = text.index("<svg", text.index('id="figure-calendar"'))
    end = text.index("</svg>", start)
    emptied = tmp_path / "report.html"
    emptied.write_text(text[:start] + '<svg viewBox="0 0 100 100">' + text[end:], encoding="utf-8")
    browser.open(emptied)
    assert [marks for name, *_, marks in browser.ask(DRAWN) if name == "figure-calendar"] == [0]


def test_pictures_turn_dark_with_the_page(browser, reported):
    label = f"getComputedStyle(document.querySelector('.picture text[fill=\"{QUIET}\"]')).fill"
    ground = "getComputedStyle(document.body).backgroundColor"
    browser.open(reported["plain"] / "report.html", scheme="light")
    light = browser.ask(f"[{label}, {ground}]")
    browser.open(reported["plain"] / "report.html", scheme="dark")
    assert [browser.ask(label), browser.ask(ground)] == [rgb(DARK[QUIET]), "rgb(22, 25, 28)"]
    assert light == [rgb(QUIET), "rgb(255, 255, 255)"]


def rgb(colour):
    return f"rgb({', '.join(str(int(colour[i : i + 2], 16)) for i in (1, 3, 5))})"


def test_the_keyboard_reaches_the_report_the_numbers_and_wide_tables(browser, reported):
    browser.open(reported["plain"] / "report.html", width=390)
    focused = "document.activeElement"

    def press():
        for kind in ("keyDown", "keyUp"):
            browser.send("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)

    press()
    assert browser.ask(f"{focused}.className") == "skip"
    assert browser.ask(f"{focused}.getBoundingClientRect().left") >= 0
    seen = set()
    for _ in range(120):
        press()
        seen.add(browser.ask(f"{focused}.tagName + ' ' + {focused}.className"))
    assert {"A ", "SUMMARY ", "DIV scroll"} <= seen


def test_the_report_is_printed_on_paper(browser, reported, tmp_path):
    assert print_pdf(reported["plain"] / "report.html", tmp_path / "report.pdf") == ""
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF-")
    browser.open(reported["plain"] / "report.html")
    browser.send("Emulation.setEmulatedMedia", media="print")
    shown = "getComputedStyle(document.querySelector('{}')).display"
    assert browser.ask(shown.format("nav")) == "none"
    assert browser.ask(shown.format("details")) == "none"
    assert browser.ask("getComputedStyle(document.querySelector('#crosswalk')).breakBefore") == "page"
    browser.send("Emulation.setEmulatedMedia", media="")
