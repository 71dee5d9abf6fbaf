"""Two kinds of randomness that cannot be mixed up.

* Simulations, attacks and bootstraps take `rng`, a `numpy.random.Generator`: seeded, repeatable.
* Published noise takes `noise`, a `NoiseSource`: uniform bits that nobody can replay. The one
  used for publishing, `noisegate.entropy.OsNoise`, reads the operating system's generator and
  has no seed. `SeededNoise` exists for tests and demonstrations; it says so (`simulated`), and
  whatever is released with it carries that mark.

No function accepts both, and each checks what it was given.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import RandomnessError


class NoiseSource(ABC):
    """Independent uniform bits for noise that is published."""

    simulated: ClassVar[bool]

    @abstractmethod
    def octets(self, count: int, /) -> bytes:
        """`count` independent uniform bytes."""

    def words16(self, count: int, /) -> NDArray[np.uint16]:
        """`count` independent uniform 16-bit words."""
        return np.frombuffer(self.octets(2 * count), dtype="<u2")

    def words64(self, count: int, /) -> NDArray[np.uint64]:
        """`count` independent uniform 64-bit words."""
        return np.frombuffer(self.octets(8 * count), dtype="<u8")


class SeededNoise(NoiseSource):
    """A repeatable noise source for tests and demonstrations; never for a real release."""

    simulated = True

    def __init__(self, *, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def octets(self, count: int, /) -> bytes:
        """`count` bytes that the seed determines."""
        return self._generator.bytes(count)


def as_rng(rng: object, /) -> np.random.Generator:
    """`rng` itself, once it is known to be a generator for simulations."""
    if not isinstance(rng, np.random.Generator):
        raise RandomnessError.for_simulation(rng)
    return rng


def as_noise(noise: object, /) -> NoiseSource:
    """`noise` itself, once it is known to be a source for published noise."""
    if not isinstance(noise, NoiseSource):
        raise RandomnessError.for_publication(noise)
    return noise
