"""Pictures of every kind are drawn from any data: nothing in them is markup, and the same data gives the same bytes."""

import re
import subprocess
import sys
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from noisegate.errors import OutputError
from noisegate.laws import RoundedLaplace
from noisegate.mechanisms import second_algorithm
from noisegate.pictures import (
    Band,
    CellCalendar,
    Exposed,
    ExposedCells,
    GroupChances,
    HourShares,
    Panel,
    QueryErrors,
    Responses,
    WeekPanels,
    differences_of,
    draw,
    drawn_inline,
    escaped,
    mechanism_picture,
    outlook_picture,
    posterior_picture,
    save,
    shortened,
    width_of,
    wrapped,
)
from noisegate.recovery import DifferenceCurve

NAMES = (
    "</text><script>alert(1)</script>",
    "x" * 400,
    "Ströme 中央駅 Москва محطة القطار",
    "a\x00b\x1b\u202ec\ud800",
    "\"'&amp;",
)


def cells(*names, low=1.0, high=5.0):
    return ExposedCells(
        cells=[Exposed(name=name, low=low, high=high, mode=low, chance_empty=0.1) for name in names],
        threshold=18,
    )


def calendar(days, times, share=0.5):
    every = [(day, time) for day in days for time in times]
    bands = [
        Band(
            title=NAMES[0],
            days=[day for day, _ in every],
            times=[time for _, time in every],
            shares=[share] * len(every),
            colour=colour,
        )
        for colour in ("blue", "orange")
    ]
    return CellCalendar(bands=bands)


def weeks(values):
    curve = [(week, value) for week, value in enumerate(values, 1)]
    panels = [
        Panel(title=name, curves={name: curve, "other": curve}, factors=factors, chances=chances)
        for name, factors, chances in zip(NAMES, (True, True, False), (True, False, False), strict=False)
    ]
    return WeekPanels(panels=panels, title=NAMES[0])


def differences(values):
    return differences_of(np.array(values, np.int64), RoundedLaplace(1.4).difference(), title=NAMES[0])


ODD = {
    "names": cells(*NAMES),
    "no cells": cells(),
    "equal ends": cells("a", low=0.0, high=0.0),
    "many people": cells("a", low=3e9, high=4e12),
    "names in a calendar": calendar(NAMES, NAMES),
    "one field": calendar(["a"], ["b"], 0.0),
    "a year": calendar([str(day) for day in range(40)], [str(time) for time in range(96)]),
    "no bands": CellCalendar(bands=[]),
    "hours": HourShares(shares={name: [None, 0.0, 1.0] for name in NAMES}),
    "no hours": HourShares(shares={}),
    "errors": QueryErrors(queries={name: {"noise": 10.0**k} for k, name in enumerate(NAMES)}, title=NAMES[1]),
    "no errors": QueryErrors(queries={"a": {"noise": 0.0, "together": -1.0}}),
    "no queries": QueryErrors(queries={}),
    "weeks": weeks([1e-9, 1e-3, 1.0]),
    "one week": weeks([0.5]),
    "weeks without a chance": weeks([0.0, 0.0, -1.0]),
    "equal weeks": weeks([7.0] * 52),
    "no weeks": WeekPanels(panels=[]),
    "one difference": differences([0]),
    "no difference": differences([]),
    "far differences": differences([-(10**5), 0, 10**5]),
    "one group": GroupChances(sizes=[1], chances=[1.0]),
    "no group": GroupChances(sizes=[], chances=[]),
    "sure groups": GroupChances(sizes=list(range(1, 41)), chances=[1.0] * 40),
    "responses": Responses(mechanism=second_algorithm(), counts=[0, 17, 2000]),
}


@pytest.mark.parametrize("kind", ODD)
def test_any_data_gives_a_picture_and_nothing_in_it_is_markup(kind):
    data = ODD[kind]
    for text in (draw(data).svg, drawn_inline(data)):
        root = ET.fromstring(text)
        names = {element.tag.rpartition("}")[2] for element in root.iter()}
        assert names <= {"svg", "g", "path", "line", "text", "title", "desc", "rect"}
        assert not re.search(
            r"nan|inf\b|None|[\x00-\x08\u202e]", re.sub(r"<text.*?</text>|<title.*?</title>", "", text)
        )
        assert all(name[:2] != "on" for element in root.iter() for name in element.attrib)
    assert draw(data).svg == draw(data).svg


def test_every_field_of_a_large_calendar_is_drawn():
    text = drawn_inline(ODD["a year"])
    assert len(re.findall(r"M[\d.]+,[\d.]+h", text)) == 2 * 40 * 96
    assert len(text) < 400_000


def test_a_picture_says_what_it_is_and_what_its_marks_are():
    picture = draw(differences([0, 1] * 400))
    root = ET.fromstring(picture.svg)
    assert root.attrib["role"] == "img"
    assert root[0].tag.endswith("title")
    assert root[0].text == NAMES[0]
    assert [one.text for one in root.iter() if (one.text or "").startswith("1: observed 50%")]
    assert repr(picture) == f"Picture({NAMES[0]!r}, 1 plot)"
    assert picture._repr_svg_() == picture.svg


def test_other_pictures_take_odd_data_too():
    mass = np.zeros(30)
    mass[7] = 1.0
    for picture in (
        posterior_picture({NAMES[0]: mass, "other": np.zeros(30)}, printed=(3.2, 4.5), title="t", truth=7),
        posterior_picture({}, title="t"),
        outlook_picture({NAMES[0]: [(1.0, 0.0)], "b": []}, epsilon=1.0, title=NAMES[2]),
        outlook_picture({}, epsilon=1.0, title="t"),
        mechanism_picture(second_algorithm()),
    ):
        assert "<script" not in picture.svg
        ET.fromstring(picture.svg)


@pytest.mark.parametrize("name", NAMES)
def test_text_is_text_and_fits(name):
    assert ET.fromstring(f'<a b="{escaped(name)}">{escaped(name)}</a>').text is not None
    for width in (20, 100, 400):
        assert width_of(shortened(name, width)) <= width
        assert all(width_of(line) <= width for line in wrapped(name, width))
        assert len(wrapped(name, width)) <= 3
    assert shortened("short", 100) == "short"
    assert wrapped("one two three", width_of("one two")) == ["one two", "three"]
    assert wrapped("", 100) == []


def test_dots_are_drawn_with_their_letters(tmp_path):
    picture = draw(cells("Manly Wharf"))
    save(picture, tmp_path / "a.png")
    octets = (tmp_path / "a.png").read_bytes()
    assert octets.startswith(b"\x89PNG")
    width, height = (int.from_bytes(octets[at : at + 4]) for at in (16, 20))
    said = re.search(r'width="([\d.]+)" height="([\d.]+)"', picture.svg)
    assert (width, height) == pytest.approx([2 * float(one) for one in said.groups()], abs=2)
    without = re.sub(r"<text.*?</text>", "", picture.svg)
    import resvg_py

    assert octets != bytes(resvg_py.svg_to_bytes(svg_string=without, zoom=2))


def test_where_there_is_no_font_no_dots_are_written(tmp_path, monkeypatch):
    import resvg_py

    real = resvg_py.svg_to_bytes
    monkeypatch.setattr(resvg_py, "svg_to_bytes", lambda **asked: real(skip_system_fonts=True, **asked))
    with pytest.raises(OutputError, match=r"no font was found .*; install one .*, or write \.svg or \.html"):
        save(draw(cells("a")), tmp_path / "a.png")
    assert list(tmp_path.iterdir()) == []


def test_a_page_of_a_picture_is_dark_on_a_dark_screen(tmp_path):
    draw(cells(NAMES[0])).save(tmp_path / "a.html")
    text = (tmp_path / "a.html").read_text()
    assert "prefers-color-scheme:dark" in text
    assert "<script" not in text
    assert text.count("<svg") == 1


def test_nothing_of_vega_and_no_rasteriser_is_needed_for_a_report(tmp_path):
    (tmp_path / "base.csv").write_text(
        "stop,tap,count\n"
        + "".join(f"s{k},{tap},{40 + 7 * k % 60}\n" for k in range(12) for tap in ("on", "off"))
    )
    code = """
import sys
for name in ("altair", "vl_convert", "resvg_py", "matplotlib", "jsonschema", "narwhals"):
    sys.modules[name] = None  # importing it fails
from noisegate.cli.main import main
assert main(["mechanism", "--scale", "1.4", "--threshold", "18", "--plot", "m.svg"]) == 0
assert main(["mechanism", "--plot", "m.html"]) == 0
assert main(["assess", "base.csv", "--noise", "laplace:1.4", "--weeks", "4", "--out", "assessed"]) == 0
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "m.svg").read_text().startswith("<svg")
    assert "<svg" in (tmp_path / "assessed" / "report.html").read_text()


def test_curves_without_any_identity_are_drawn():
    nothing = np.zeros(3)
    curve = DifferenceCurve(
        difference=np.array([-1.0, 0.0, 1.0]),
        observed=nothing.astype(np.int64),
        expected=nothing,
        simulated=nothing.astype(np.int64),
    )
    from noisegate.pictures import Differences

    assert "observed" in drawn_inline(Differences(curve=curve))
