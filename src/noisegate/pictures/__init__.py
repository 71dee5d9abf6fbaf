"""Pictures: drawn from plain data as SVG, by ourselves; the same data gives the same bytes."""

from __future__ import annotations

from noisegate.pictures.canvas import WIDTH, Picture, of, save
from noisegate.pictures.cells import exposed_picture, posterior_picture
from noisegate.pictures.colours import BLUE, DARK, GREY, INK, ORANGE, PAPER, QUIET, dark_rules
from noisegate.pictures.data import (
    Band,
    CellCalendar,
    Curve,
    Differences,
    Exposed,
    ExposedCells,
    GroupChances,
    HourShares,
    Panel,
    PictureData,
    QueryErrors,
    Responses,
    WeekPanels,
)
from noisegate.pictures.drawing import draw, drawn_inline
from noisegate.pictures.letters import calm, escaped, shortened, width_of, wrapped
from noisegate.pictures.mechanism import groups_of, groups_picture, mechanism_picture, response_picture
from noisegate.pictures.noise import differences_of, differences_picture
from noisegate.pictures.queries import outlook_picture
from noisegate.pictures.scales import Linear, Log, Rooms, Symlog, number, odds, percent, round_ticks

__all__ = [
    "BLUE",
    "DARK",
    "GREY",
    "INK",
    "ORANGE",
    "PAPER",
    "QUIET",
    "WIDTH",
    "Band",
    "CellCalendar",
    "Curve",
    "Differences",
    "Exposed",
    "ExposedCells",
    "GroupChances",
    "HourShares",
    "Linear",
    "Log",
    "Panel",
    "Picture",
    "PictureData",
    "QueryErrors",
    "Responses",
    "Rooms",
    "Symlog",
    "WeekPanels",
    "calm",
    "dark_rules",
    "differences_of",
    "differences_picture",
    "draw",
    "drawn_inline",
    "escaped",
    "exposed_picture",
    "groups_of",
    "groups_picture",
    "mechanism_picture",
    "number",
    "odds",
    "of",
    "outlook_picture",
    "percent",
    "posterior_picture",
    "response_picture",
    "round_ticks",
    "save",
    "shortened",
    "width_of",
    "wrapped",
]
