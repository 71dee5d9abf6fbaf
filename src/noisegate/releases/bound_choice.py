"""Choosing `max_cells` privately: the bound that is nearest to leaving a wanted share of the units whole.

With U units and A_k of them in at most k cells, bound k has the score -|q A_k - p U|, where p/q is the share of units that should be left
whole (19/20 unless said otherwise). A unit more or less changes U by 1 and A_k by 0 or 1, so each score by at most
D = max(p, q - p). Every score gets discrete Laplace noise of scale 2 D / ε, and the bound with the largest noisy score is
taken, the smallest of equals. That is report-noisy-max; it costs a unit ε, whatever it chooses (`docs/proofs/release.md`).

All of it is whole numbers. The choice is made after it was charged; the noise of the tables is then planned for the bound that was chosen, with
the epsilon of the spec, so that the loss of a unit does not depend on the choice.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from noisegate.errors import InternalError
from noisegate.laws import Entropy
from noisegate.mechanisms import PublishedNoise
from noisegate.spec import BoundChoice, ReleaseSpec
from noisegate.tables import Ints


def choose_bound(spec: ReleaseSpec, raw_sizes: Ints, /, *, entropy: Entropy) -> ReleaseSpec:
    """The spec with the bound that was chosen by how many cells units are in. Draws noise: it must have been charged."""
    wanted = spec.privacy.choose_bound
    if wanted is None:
        raise InternalError("the spec leaves no bound to choose")
    scores = bound_scores(wanted, raw_sizes)
    noise = PublishedNoise(name="discrete-laplace", scale=2 * score_sensitivity(wanted) / wanted.epsilon)
    noisy = scores + noise.draw(len(scores), entropy=entropy)
    chosen = wanted.among[int(np.argmax(noisy))]  # the first of equals, and the bounds ascend
    return spec.bounded_by(chosen)


def bound_scores(wanted: BoundChoice, raw_sizes: Ints, /) -> Ints:
    """The score of each bound, a whole number."""
    share = wanted.keeps
    within = np.searchsorted(np.sort(raw_sizes), np.asarray(wanted.among), side="right").astype(np.int64)
    return -np.abs(share.denominator * within - share.numerator * raw_sizes.size)


def score_sensitivity(wanted: BoundChoice, /) -> Fraction:
    """The most that one unit changes any score."""
    return Fraction(max(wanted.keeps.numerator, wanted.keeps.denominator - wanted.keeps.numerator))
