"""What a missing row, or one just above the threshold, says of its cell, by the cell's intensity.

The count is negative binomial around the intensity; its row is missing because the noisy count was below the threshold.
A value just above it is often noise on next to nothing, and says so only if the law of the noise is taken as it is:
a normal one would find it too far out, and make something of it.
All of it depends on the log-intensity and the dispersion alone, so it is tabulated once and interpolated.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from noisegate.mechanisms import Mechanism

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Log-intensities are kept between these.
LEAST_LOG, MOST_LOG = math.log(1e-4), math.log(1e6)
_STEP = 0.1
_MOST_NEAR = 400


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Missing:
    """What is known of a missing cell, by its log-intensity: log-likelihood, expected count, variance.

    `near` holds slope, bend and value of the log-likelihood of each of the values from `least` on, by log-intensity.
    """

    grid: Floats
    logs: Floats
    slope: Floats
    bend: Floats
    mean: Floats
    variance: Floats
    gain: Floats
    least: int
    near: Floats

    @classmethod
    def of(cls, mechanism: Mechanism, dispersion: float, /) -> Missing:
        """The tables for one mechanism and one dispersion of single cells."""
        grid = np.arange(LEAST_LOG, MOST_LOG + _STEP, _STEP)
        least = mechanism.whole_threshold or 0
        deviation = math.sqrt(mechanism.published_law.variance)
        counts = np.arange(least + math.ceil(14 * deviation) + 8)
        seen = mechanism.log_likelihood(np.full(len(counts), np.nan), counts)
        prior = log_mass(counts, np.exp(grid)[:, None], 1 / dispersion)
        joint = prior + np.maximum(seen, -700.0)
        logs = np.asarray(special.logsumexp(joint, axis=1))
        share = np.exp(joint - logs[:, None])
        mean = share @ counts
        slope = np.gradient(logs, _STEP)
        return cls(
            grid=grid,
            logs=logs,
            slope=slope,
            bend=np.maximum(-np.gradient(slope, _STEP), 0.0),
            mean=mean,
            variance=share @ counts.astype(float) ** 2 - mean**2,
            gain=np.maximum(np.gradient(mean, _STEP), 1e-12),
            least=least,
            near=_near(mechanism, prior, np.arange(least, least + min(math.ceil(6 * deviation), _MOST_NEAR))),
        )

    @property
    def scale(self) -> tuple[float, float]:
        """Where the grid starts, and its step."""
        return float(self.grid[0]), _STEP

    @property
    def table(self) -> Floats:
        """Slope, bend, mean, variance and gain, one row for each point of the grid."""
        return np.stack([self.slope, self.bend, self.mean, self.variance, self.gain], axis=1)

    def at(self, eta: Floats, *tables: Floats) -> list[Floats]:
        """Tables interpolated at log-intensities."""
        where = np.clip((eta - self.grid[0]) / _STEP, 0, len(self.grid) - 1.001)
        left = where.astype(np.int64)
        rest = where - left
        return [table[left] * (1 - rest) + table[left + 1] * rest for table in tables]


def _near(mechanism: Mechanism, prior: Floats, values: Ints, /) -> Floats:
    """Slope, bend and value of the log-likelihood of values: an array of log-intensities x values x 3."""
    counts = np.arange(prior.shape[1])
    logs = mechanism.log_likelihood(values[None, :].astype(float), counts[:, None])
    top = prior.max(axis=1, keepdims=True)
    likely = np.exp(prior - top) @ np.exp(np.maximum(logs, -700.0))
    logs = np.log(np.maximum(likely, 1e-300)) + top
    slope = np.gradient(logs, _STEP, axis=0)
    bend = np.maximum(-np.gradient(slope, _STEP, axis=0), 0.0)
    return np.ascontiguousarray(np.stack([slope, bend, logs], axis=-1))


@functools.lru_cache(maxsize=8)
def missing_tables(mechanism: Mechanism, dispersions: tuple[float, ...], /) -> tuple[Missing, ...]:
    """What a missing row says under each of several dispersions."""
    return tuple(Missing.of(mechanism, one) for one in dispersions)


def log_mass(counts: Floats | Ints, mean: Floats, shape: float | Floats, /) -> Floats:
    """The negative binomial log-probability of counts."""
    return np.asarray(
        special.gammaln(counts + shape)
        - special.gammaln(shape)
        - special.gammaln(counts + 1.0)
        + special.xlogy(counts, mean / (mean + shape))
        - shape * np.log1p(mean / shape)
    )
