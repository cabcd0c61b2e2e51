"""Chance: draws that look like chance and come out the same for the same seed."""

import hashlib
from math import cos, log, pi, sin, sqrt

_BYTES, _SIZE = 6, 2**48
_SQUEEZE = 0.0331
_NORMAL = 20.0
"""The value above which both parameters of a Beta distribution make it nearly normal."""


class SeededRandom:
    """A stream of random numbers; equal seeds give equal streams."""

    def __init__(self, seed: str) -> None:
        self._seed, self._page = seed, 0
        self._left: list[float] = []
        self._spare: list[float] = []

    def even(self) -> float:
        """Draw a number from the uniform distribution on (0, 1]."""
        if not self._left:
            self._page += 1
            page = hashlib.sha512(f"{self._page}:{self._seed}".encode()).digest()
            starts = range(0, len(page) - _BYTES + 1, _BYTES)
            self._left = [
                (int.from_bytes(page[start : start + _BYTES], "big") + 1) / _SIZE
                for start in starts
            ]
        return self._left.pop()

    def normal(self) -> float:
        """Draw a standard normal number (Box and Muller 1958)."""
        if self._spare:
            return self._spare.pop()
        size, turn = sqrt(-2 * log(self.even())), 2 * pi * self.even()
        self._spare.append(size * sin(turn))
        return size * cos(turn)

    def beta(self, ones: float, zeros: float) -> float:
        """Draw a number from a Beta distribution; both parameters must be above 0."""
        if min(ones, zeros) < _NORMAL:
            first = self._gamma(ones)
            whole = first + self._gamma(zeros)
            return first / whole if whole else 0.5
        mean = ones / (ones + zeros)
        drawn = mean + self.normal() * sqrt(mean * (1 - mean) / (ones + zeros + 1))
        return min(max(drawn, 0.0), 1.0)

    def _gamma(self, shape: float) -> float:
        """Draw a number from a Gamma distribution (Marsaglia and Tsang 2000)."""
        if shape < 1:
            return self._gamma(shape + 1) * float(self.even() ** (1 / shape))
        middle = shape - 1 / 3
        while True:
            normal = self.normal()
            cube = (1 + normal / sqrt(9 * middle)) ** 3
            even = self.even()
            if even < 1 - _SQUEEZE * normal**4 and cube > 0:
                return middle * cube
            if cube > 0 and log(even) < 0.5 * normal * normal + middle * (1 - cube + log(cube)):
                return middle * cube
