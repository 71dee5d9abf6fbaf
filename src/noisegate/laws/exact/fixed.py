"""Fixed-point arithmetic on Python ints: the only numbers that tables are made from.

A *fixed* is an int that stands for itself divided by 2**320; an *ulp* is 2**-320. Each function
states how far its result may lie from the true real number, and docs/proofs/exact-noise.md adds
those errors up. Nothing here, or downstream of here, is a float.
"""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

FRACTION_BITS = 320
ONE = 1 << FRACTION_BITS
_NOTHING_LEFT = 300  # e**-300 < 2**-432, which is 0 in fixed point

#: Decimal arithmetic in which division and `exp` are correctly rounded to 120 digits.
DECIMALS = Context(prec=120, rounding=ROUND_HALF_EVEN, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])


def to_fixed(value: Fraction, /) -> int:
    """`value` rounded down: less than one ulp below the true one."""
    return (value.numerator << FRACTION_BITS) // value.denominator


def times(left: int, right: int, /) -> int:
    """Product of two fixed numbers, rounded down: less than one ulp below the true one."""
    return (left * right) >> FRACTION_BITS


def exp_minus(exponent: Fraction, /) -> int:
    """e**-exponent for exponent >= 0, within two ulps."""
    return 0 if exponent > _NOTHING_LEFT else to_fixed(Fraction(decimal_exp_minus(exponent)))


def decimal_exp_minus(exponent: Fraction, /) -> Decimal:
    """e**-exponent to a relative error of (exponent + 1) * 1e-119; exponents may be huge."""
    quotient = DECIMALS.divide(Decimal(exponent.numerator), Decimal(exponent.denominator))
    return DECIMALS.exp(quotient.copy_negate())  # "-quotient" would round to the caller's 28 digits


def to_decimal(value: Fraction, /) -> Decimal:
    """`value` rounded to 120 digits."""
    return DECIMALS.divide(Decimal(value.numerator), Decimal(value.denominator))


def power_256(ratio: int, /) -> int:
    """ratio**256 for a fixed ratio in [0, 1]: an error of e ulps becomes at most 256 * (e + 1)."""
    for _ in range(8):
        ratio = times(ratio, ratio)
    return ratio


def geometric_weights(ratio: int, /, *, most: int | None = None, cut_bits: int = 200) -> list[int]:
    """1, ratio, ratio**2 ...: `most` of them, or fewer if they fall below 2**-cut_bits."""
    weights: list[int] = []
    weight, cut = ONE, ONE >> cut_bits
    while weight >= cut and (most is None or len(weights) < most):
        weights.append(weight)
        weight = times(weight, ratio)
    return weights


def gaussian_weights(sigma: Fraction, /, *, start: int, cut_bits: int = 200) -> list[int]:
    """exp(-(k**2 - start**2) / (2 sigma**2)) for k = start, start + 1 ... down to 2**-cut_bits."""
    step = exp_minus(1 / sigma**2)
    ratio = exp_minus(Fraction(2 * start + 1) / (2 * sigma**2))
    weights: list[int] = []
    weight, cut = ONE, ONE >> cut_bits
    while weight >= cut:
        weights.append(weight)
        weight, ratio = times(weight, ratio), times(ratio, step)
    return weights
