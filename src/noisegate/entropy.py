"""The noise source for publishing: the operating system's generator, without a seed.

The kernel's generator is a cipher keyed from hardware entropy, rekeyed all the time and safe
after `fork`; it makes some 290 MB a second, and our samplers need about four bytes a draw.
A cipher of our own in between would be faster and one more thing to trust (docs/adr/003).
"""

from __future__ import annotations

import os

from noisegate.core.randomness import NoiseSource


class OsNoise(NoiseSource):
    """Uniform bits from the operating system; cannot be seeded or replayed."""

    simulated = False

    def octets(self, count: int, /) -> bytes:
        """`count` bytes from the operating system's generator."""
        return os.urandom(count)
