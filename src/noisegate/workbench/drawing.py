"""What the truth might be: one question put to many whole releases that could lie behind the published one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from noisegate.query import OpenRelease
from noisegate.tables import Selection
from noisegate.workbench.jobs import Say

#: So many truths are drawn: enough to see a spread, few enough to wait for.
DRAWN = 60


def drawn(
    release: OpenRelease, where: dict[str, Any], to: dict[str, Any] | None, say: Say, /
) -> dict[str, Any]:
    """The sum, or the difference of two sums, in each of the drawn releases."""
    mine = _cells(release, where)
    theirs = None if to is None else _cells(release, {**where, **to})
    found = []
    for k, one in enumerate(release.draws(DRAWN)):
        say(f"truth {k + 1} of {DRAWN}")
        less = 0 if theirs is None else int(one.counts[theirs].sum())
        found.append(int(one.counts[mine].sum()) - less)
    return {"values": found, "cells": len(mine)}


def _cells(release: OpenRelease, where: dict[str, Any], /) -> NDArray[np.int64]:
    cells, _ = Selection.parse(where or None, release.domain).groups(release.domain).numbers()
    return np.asarray(cells, np.int64)
