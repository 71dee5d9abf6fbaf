"""Whether raw zeros were perturbed like any count or kept as zeros, tested from the data.

A cell that is known to be empty is published only if zeros are perturbed and the noise alone passes
the cut, with chance q. Among M such cells M q published ones are expected, or none if zeros are kept.
Where M q is small the data cannot tell, and the answer says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from scipy import special

from noisegate.errors import SpecError
from noisegate.laws import Law

Verdict = Literal["perturbed", "kept", "cannot tell"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ZeroTest:
    """What empty cells say about the zero rule.

    Attributes
    ----------
    verdict
        "perturbed", "kept" or "cannot tell".
    chance
        q, with which the noise alone passes the cut.
    expected
        How many of the empty cells would be published if zeros are perturbed.
    p_none
        The chance of seeing none of them if zeros are perturbed.
    p_many
        The chance of seeing as many as were seen, or more, if zeros are perturbed.
    statement
        In words.
    """

    verdict: Verdict
    chance: float
    expected: float
    p_none: float
    p_many: float
    statement: str


def weigh_zeros(published: int, cells: int, /, *, law: Law, threshold: float, size: float = 0.01) -> ZeroTest:
    """Decide from `cells` empty cells, of which `published` appear in the table.

    Parameters
    ----------
    published
        How many of the empty cells are published.
    cells
        How many cells are known to be empty in the raw data.
    law
        The noise, as recovered or as stated.
    threshold
        The least published value.
    size
        The chance of a wrong verdict that is accepted.

    Assumes
    -------
    The cells are empty for a reason that does not depend on what was published (no service there).

    Examples
    --------
    >>> from noisegate.laws import RoundedLaplace
    >>> weigh_zeros(0, 100_000, law=RoundedLaplace(1.4), threshold=18).verdict
    'cannot tell'
    """
    if cells < 0 or not 0 <= published <= cells:
        raise SpecError.for_value("published empty cells", found=published, allowed=f"from 0 to {cells}")
    if not 0 < size < 1:
        raise SpecError.for_value("size", found=size, allowed="between 0 and 1")
    least = threshold - 1 if law.lattice else threshold
    q = float(math.exp(float(law.logsf(least))))
    p_none = math.exp(cells * math.log1p(-q)) if q < 1 else 0.0
    p_many = float(special.bdtrc(published - 1, cells, q)) if published > 0 else 1.0
    verdict, statement = _decide(published, cells, q, p_none=p_none, p_many=p_many, size=size)
    return ZeroTest(
        verdict=verdict, chance=q, expected=cells * q, p_none=p_none, p_many=p_many, statement=statement
    )


def _decide(
    published: int, cells: int, q: float, /, *, p_none: float, p_many: float, size: float
) -> tuple[Verdict, str]:
    expected = f"{cells} empty cells, each published with chance {q:.2g} if zeros are perturbed"
    if published == 0 and p_none < size:
        return "kept", f"Zeros are kept: none of {expected}, was published (p = {p_none:.2g})."
    if published == 0:
        needed = math.ceil(math.log(size) / math.log1p(-q)) if 0 < q < 1 else 0
        return "cannot tell", (
            f"Cannot tell whether zeros are perturbed: none of {expected}, was published, which happens with "
            f"chance {p_none:.2g} anyway; {needed} empty cells would be needed."
        )
    if p_many < size:
        return "cannot tell", (
            f"Cannot tell whether zeros are perturbed: {published} of {expected}, were published, more than noise "
            f"alone makes (p = {p_many:.2g}), so they were not empty."
        )
    return "perturbed", f"Zeros are perturbed: {published} of {expected}, were published."
