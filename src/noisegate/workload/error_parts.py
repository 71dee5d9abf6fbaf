"""Where the error of an answer comes from: aggregation, bounding, noise, suppression.

An answer passes through stages; each is the same question asked of the data in a different state:

    truth         all events, exactly as asked
    aggregated    all events, from the cells that are published: a cell that is asked for in part counts in part
    bounded       the same, each privacy unit held to its bound
    noised        the same with noise (and, where tables are reconciled, made consistent), nothing left out
    published     the same from the rows that are there: a missing row counts as nothing

The error is published - truth, and the differences between neighbouring stages add up to it: that is the whole
decomposition, and it holds for every single draw of the noise. Over many draws each part has a mean (its bias) and a
mean square. Mean squares do not add up, because parts are correlated; what does is E[part x total], and
these add up to E[total^2] exactly. That is the *share* of the squared error that a part is responsible for; it can be
negative where one part takes back what another did.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import InternalError
from noisegate.margins import Prediction
from noisegate.tables import Asked, Domain, Groups

Floats = NDArray[np.float64]

STAGES = ("aggregation", "bounding", "noise", "suppression")
#: The name of what noise and bounding do together, where they cannot be told apart.
JOINT = "noise and bounding"


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorParts:
    """Mean errors of one question over its groups and over draws of the noise.

    `bias`, `absolute` and `share` hold one number for each of `STAGES`; `total_bias`, `total_absolute` and
    `total_square` are those of the whole error. Sums of `bias` and `share` are `total_bias` and `total_square`.
    """

    bias: dict[str, float]
    absolute: dict[str, float]
    share: dict[str, float]
    total_bias: float
    total_absolute: float
    total_square: float
    total_absolute_error: float


def error_parts(stages: Floats, /) -> ErrorParts:
    """The parts of the error, from an array of draws x stages (five of them, truth first) x groups.

    Examples
    --------
    >>> parts = error_parts(np.array([[[10.0], [10.0], [9.0], [11.0], [8.0]]]))
    >>> parts.bias["suppression"], parts.total_bias
    (-3.0, -2.0)
    """
    if stages.ndim != 3 or stages.shape[1] != len(STAGES) + 1:
        raise InternalError("error parts need draws x five stages x groups")
    steps = np.diff(stages, axis=1)
    total = stages[:, -1] - stages[:, 0]
    by_draw = np.abs(total).mean(axis=1)
    return ErrorParts(
        bias={name: float(steps[:, i].mean()) for i, name in enumerate(STAGES)},
        absolute={name: float(np.abs(steps[:, i]).mean()) for i, name in enumerate(STAGES)},
        share={name: float((steps[:, i] * total).mean()) for i, name in enumerate(STAGES)},
        total_bias=float(total.mean()),
        total_absolute=float(np.abs(total).mean()),
        total_square=float((total**2).mean()),
        total_absolute_error=float(by_draw.std(ddof=1) / np.sqrt(len(by_draw))) if len(by_draw) > 1 else 0.0,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Trio:
    """The usual three figures: quantiles of the relative error, share of real groups lost, share of groups invented.

    Relative errors are over groups with a truth of at least one. A group is dropped if its truth is not zero and nothing
    is published of it, spurious if its truth is zero and something is.
    """

    relative: dict[str, float]
    dropped: float
    spurious: float


def usual_trio(truth: Floats, published: Floats, there: NDArray[np.bool_], /) -> Trio:
    """The trio over groups (and draws); `there` says whether any row of the group is published."""
    real = truth >= 1
    error = np.abs(published - truth)[real] / truth[real]
    at = {"median": 0.5, "ninth_decile": 0.9}
    return Trio(
        relative={name: float(np.quantile(error, q)) if error.size else 0.0 for name, q in at.items()},
        dropped=float((~there[real]).mean()) if real.any() else 0.0,
        spurious=float(there[~real].mean()) if (~real).any() else 0.0,
    )


def largest_kept(truth: Floats, published: Floats, top: int, /) -> float:
    """The share of the `top` truly largest groups that are among the largest published ones.

    Examples
    --------
    >>> largest_kept(np.array([5.0, 9.0, 1.0]), np.array([4.0, 8.0, 6.0]), 2)
    0.5
    """
    real, seen = (set(np.argsort(-values, kind="stable")[:top].tolist()) for values in (truth, published))
    return len(real & seen) / max(1, len(real))


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One question: its error against the raw data, by cause. Raw: never for publishing.

    Attributes
    ----------
    reason
        Why it cannot be answered; then there is nothing else.
    table
        The published table that answers it.
    groups
        How many answers it has.
    parts, trio
        The error by cause, and the usual three figures.
    kept
        For rankings: the share of the truly largest groups that are among the largest published ones.
    joint
        Whether the error of noise holds that of bounding too.
    prediction
        What was predicted of its noise, if it was measured before the release.
    """

    name: str
    reason: str | None = None
    table: str | None = None
    groups: int = 0
    parts: ErrorParts | None = None
    trio: Trio | None = None
    kept: float | None = None
    joint: bool = False
    prediction: Prediction | None = None

    def causes(self, figures: Mapping[str, float], /) -> dict[str, float]:
        """Figures by cause, as far as causes can be told apart."""
        if not self.joint:
            return dict(figures)
        return {
            JOINT if name == "noise" else name: value for name, value in figures.items() if name != "bounding"
        }

    def to_json(self) -> dict[str, Any]:
        """As it stands in `assessment.json`; what was measured before the release comes with its prediction."""
        if self.parts is None or self.trio is None:
            return {"name": self.name, "answered": False, "reason": self.reason}
        before = self.prediction is not None
        total = {
            "bias": self.parts.total_bias,
            "absolute": self.parts.total_absolute,
            "root_mean_square": math.sqrt(self.parts.total_square),
        }
        return {
            "name": self.name,
            "answered": True,
            **(
                {"table": self.table, "answers": self.groups}
                if self.prediction is None
                else {"predicted_noise": self.prediction.as_json()}
            ),
            "bias": self.causes(self.parts.bias),
            "absolute": self.causes(self.parts.absolute),
            "share_of_square": self.causes(self.parts.share),
            "total": total
            | ({"standard_error_of_absolute": self.parts.total_absolute_error} if before else {}),
            "relative_error": dict(self.trio.relative),
            "drop_rate": self.trio.dropped,
            "spurious_rate": self.trio.spurious,
            "ranking_kept": self.kept,
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reader:
    """One question put to one table; cells that are asked for in part count in part."""

    asked: Asked
    table: str
    cells: Groups
    groups: NDArray[np.int64]

    @classmethod
    def of(cls, asked: Asked, table: str, domain: Domain, /) -> Reader:
        """The question put to a table with all that it needs; `domain` are its cells."""
        cells = asked.selection.groups(domain)
        return cls(asked=asked, table=table, cells=cells, groups=np.flatnonzero(cells.counts()))

    def answer(self, values: NDArray[Any], /) -> Floats:
        """The answer by groups."""
        return self.cells.sums(values)[self.groups]


class ShownValues(Protocol):
    """A published table: its values by cell, and which cells have a row."""

    @property
    def values(self) -> NDArray[Any]:
        """The value of each cell; anything where there is no row."""

    @property
    def shown(self) -> NDArray[np.bool_]:
        """Whether each cell has a row."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StagedAnswers:
    """The answers to one question in the five states of the data; the last two for each draw of the noise.

    `shown` says of what groups some row is published.
    """

    before: tuple[Floats, Floats, Floats]
    noised: list[Floats] = field(default_factory=list)
    published: list[Floats] = field(default_factory=list)
    shown: list[NDArray[np.bool_]] = field(default_factory=list)

    def add(self, reader: Reader, noised: Floats, published: ShownValues, /) -> None:
        """Add one draw: the table before anything was left out of it, and as it is published."""
        values = np.where(published.shown, published.values, 0)
        self.noised.append(reader.answer(noised))
        self.published.append(reader.answer(values))
        self.shown.append(reader.cells.sums(published.shown)[reader.groups] > 0)

    def measured(
        self,
        name: str,
        /,
        *,
        table: str,
        top: int | None = None,
        joint: bool = False,
        prediction: Prediction | None = None,
    ) -> Measured:
        """The error of the question of this name, taken apart; `top` if it asks for the largest groups."""
        stages = np.stack(
            [np.stack([*self.before, *last]) for last in zip(self.noised, self.published, strict=True)]
        )
        return Measured(
            name=name,
            table=table,
            groups=stages.shape[-1],
            parts=error_parts(stages),
            trio=usual_trio(stages[:, 0], stages[:, -1], np.stack(self.shown)),
            kept=None if top is None else float(np.mean([largest_kept(s[0], s[-1], top) for s in stages])),
            joint=joint,
            prediction=prediction,
        )
