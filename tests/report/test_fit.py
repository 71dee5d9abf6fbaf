"""Letters of pictures in a real browser: inside their picture, and clear of each other, whatever they say."""

import pytest

from noisegate.pictures import Exposed, ExposedCells, HourShares, Panel, QueryErrors, WeekPanels, draw

NAMES = (
    "total",
    "W" * 60,
    "Ströme 中央駅 Москва",
    "i" * 400,
    "every station of the northern line in the evening",
)
DATA = {
    "errors": QueryErrors(
        queries={name: {"noise": 1e-3 * 700.0**k, "together": 2e6} for k, name in enumerate(NAMES)},
        title=NAMES[4],
    ),
    "exposed": ExposedCells(
        cells=[
            Exposed(name=name, low=10.0**k, high=2e7, mode=1e7, chance_empty=0)
            for k, name in enumerate(NAMES)
        ]
    ),
    "hours": HourShares(shares={name: [0.4] * 26 for name in NAMES}),
    "weeks": WeekPanels(
        panels=[
            Panel(
                title=name,
                curves={
                    f"{k} {name}": [(week, 10.0 ** (-week - k)) for week in range(1, 9)] for k in range(3)
                },
                factors=True,
                chances=True,
            )
            for name in NAMES
        ]
    ),
}
#: Boxes of all letters, and of the picture itself; half a unit is left to the fonts.
BOXES = """
[document.querySelector('svg').getBoundingClientRect(), ...[...document.querySelectorAll('text')].map(one => one.getBoundingClientRect())]
  .map(box => [box.left, box.right, box.top, box.bottom])
"""


@pytest.mark.usefixtures("letters")
@pytest.mark.parametrize("kind", DATA)
def test_no_letter_leaves_its_picture_or_covers_another(browser, tmp_path, kind):
    draw(DATA[kind]).save(tmp_path / "a.html")
    browser.open(tmp_path / "a.html")
    whole, *letters = browser.ask(BOXES)
    assert len(letters) > 8
    for left, right, top, bottom in letters:
        assert left >= whole[0] - 0.5
        assert right <= whole[1] + 0.5
        assert top >= whole[2] - 0.5
        assert bottom <= whole[3] + 0.5
    shrunk = [(a + 1, b - 1, c + 2, d - 2) for a, b, c, d in letters]
    for place, (left, right, top, bottom) in enumerate(shrunk):
        for other_left, other_right, other_top, other_bottom in shrunk[place + 1 :]:
            assert right <= other_left or other_right <= left or bottom <= other_top or other_bottom <= top
