"""Letters can be told from the paper: WCAG AA on white, on grey washes, and on dark screens."""

import re
from pathlib import Path

import pytest

import noisegate.report
from noisegate.pictures import BLUE, DARK, GREY, INK, ORANGE, PAPER, QUIET

SHEET = (Path(noisegate.report.__file__).parent / "templates" / "report.css").read_text()
LIGHT, DARKER = (
    dict(re.findall(r"--(\w+): (#\w{6})", rules))
    for rules in re.findall(r":root \{([^}]*--paper[^}]*)\}", SHEET)
)


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    lin = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * lin[0] + 0.7152 * lin[1] + 0.0722 * lin[2]


def contrast(one, two):
    light, dark = sorted((luminance(one), luminance(two)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_contrast_is_that_of_the_standard():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.005)


@pytest.mark.parametrize("colours", [LIGHT, DARKER], ids=["light", "dark"])
def test_every_text_of_the_page_is_readable(colours):
    for letters in ("ink", "quiet", "accent"):
        for ground in ("paper", "wash"):
            assert contrast(colours[letters], colours[ground]) >= 4.5, (letters, ground)


def test_every_letter_and_mark_of_a_picture_is_readable():
    for ground, shown in ((PAPER, lambda colour: colour), (DARK[PAPER], DARK.__getitem__)):
        for letters in (INK, QUIET):
            assert contrast(shown(letters), ground) >= 4.5
        for mark in (BLUE, ORANGE, GREY):
            assert contrast(shown(mark), ground) >= 3


def test_pictures_and_page_share_their_paper():
    assert LIGHT["paper"].upper() == PAPER.upper()
    assert DARKER["paper"].upper() == DARK[PAPER].upper()
