"""Where randomness comes from: the operating system for what is published, a generator for simulations."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from noisegate.errors import RandomnessError


class Entropy(ABC):
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


class SeededNoise(Entropy):
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


def as_entropy(entropy: object, /) -> Entropy:
    """`entropy` itself, once it is known to be a source for published noise."""
    if not isinstance(entropy, Entropy):
        raise RandomnessError.for_publication(entropy)
    return entropy


class OsNoise(Entropy):
    """Uniform bits from the operating system; cannot be seeded or replayed."""

    simulated = False

    def octets(self, count: int, /) -> bytes:
        """`count` bytes from the operating system's generator."""
        return os.urandom(count)
