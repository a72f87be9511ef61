"""Response times of one server whose requests arrive at random (Poisson), by numerical convolution.

Requests are served one by one (M/G/1), or in full batches. For a batch the server waits for
``size`` requests and answers all of them when the last is done. Batches then arrive with Erlang
intervals, so their waiting time is that of a GI/G/1 queue, W = max(0, W + S - A).

Spitzer's identity gives its distribution. Let φ be the transform of S - A, and a_k the coefficients
of -log(1 - φ). The transform of W is exp(Σ (z^k - 1) a_k) over k > 0. Distributions are on a
lattice of `BINS` steps; a service takes `STEPS` of them on average.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc

from mldsa_lab.theory.trace import Array

Transform = NDArray[np.complex128]
BINS = 1 << 14
STEPS = 32
_FINE = 16
"""Steps of the mean operation while those of a batch are added up."""


class ServiceLaw(NamedTuple):
    """Service times (atoms,) and their probabilities (atoms,), which add up to 1."""

    time: Array
    mass: Array

    @property
    def mean(self) -> float:
        """The mean service time."""
        return float(self.time @ self.mass)

    def of_batch(self, size: int) -> ServiceLaw:
        """The law of so many independent services together."""
        step = self.mean / _FINE
        bins = 1 << int(size * self.time.max() / step + 2).bit_length()
        once = np.fft.rfft(_on_lattice(self, step, bins))
        whole: Array = np.maximum(np.fft.irfft(once**size, bins), 0.0)
        return ServiceLaw(np.asarray(step * np.arange(bins)), np.asarray(whole / whole.sum()))


class Responses(NamedTuple):
    """Response times, ascending, and the shares of requests that take at most as long."""

    time: Array
    share: Array

    def percentile(self, percent: float) -> float:
        """The time that so many per cent of requests do not exceed."""
        return float(np.interp(percent / 100, self.share, self.time))

    @property
    def mean(self) -> float:
        """The mean response time."""
        mass = np.diff(self.share, prepend=0.0)
        return float((self.time - self.time[0]) @ mass)


def responses(service: ServiceLaw, rate: float, size: int = 1) -> Responses:
    """Return the response times of requests that arrive ``rate`` times in a unit of time, signed in
    full batches of ``size``; ``service``: of one batch. ValueError if the server cannot keep up."""
    if not 0 < rate * service.mean < size:
        raise ValueError(f"a load of {rate * service.mean / size:g}: must be above 0 and below 1")
    step = service.mean / STEPS
    served = np.fft.rfft(_on_lattice(service, step, BINS))
    done = _waiting(served * np.conj(np.fft.rfft(_arrivals(size, rate, step)))) * served
    # Request number j of its batch waits for the others to come. It also waits for the batch
    # before, which arrived j intervals earlier, to be done. The longer of the two counts.
    edges = step * (np.arange(BINS // 2) + 0.5)
    started = np.zeros(BINS // 2)
    for number in range(1, size + 1):
        left = done * np.conj(np.fft.rfft(_arrivals(number, rate, step)))
        free = np.cumsum(np.roll(np.fft.irfft(left, BINS), BINS // 2))[BINS // 2 :]
        started += free * (gammainc(size - number, rate * edges) if number < size else 1.0) / size
    mass = np.diff(started, prepend=0.0)
    whole = np.fft.irfft(np.fft.rfft(mass, BINS) * served, BINS)[: BINS // 2]
    return Responses(np.asarray(edges), np.minimum(np.maximum.accumulate(np.cumsum(whole)), 1.0))


def _on_lattice(law: ServiceLaw, step: float, bins: int) -> Array:
    """The mass of each point of a lattice: what lies between two is divided, so the mean stays."""
    whole = np.floor(law.time / step).astype(np.int64)
    part = law.time / step - whole
    mass = np.bincount(whole % bins, weights=law.mass * (1 - part), minlength=bins)
    return np.asarray(mass + np.bincount((whole + 1) % bins, law.mass * part, minlength=bins))


def _arrivals(number: int, rate: float, step: float) -> Array:
    """The law on the lattice of the time until so many requests have come."""
    edges = step * (np.arange(BINS) + 0.5)
    return np.diff(np.asarray(gammainc(number, rate * edges)), prepend=0.0)


def _waiting(drift: Transform) -> Transform:
    """The transform of the waiting time of batches; ``drift``: that of S - A."""
    turn = np.exp(2j * np.pi / BINS * np.arange(BINS // 2 + 1))
    # Both are 0 where the transform is taken at 1: there the limit is minus the mean of S - A.
    ratio = np.empty_like(drift)
    ratio[1:] = (1 - drift[1:]) / (1 - turn[1:])
    lattice = np.fft.irfft(drift, BINS)
    ratio[0] = -lattice @ np.fft.fftfreq(BINS, 1 / BINS)
    logarithm = np.log(np.abs(ratio)) + 1j * np.unwrap(np.angle(ratio))
    result = -np.fft.irfft(logarithm, BINS)
    result[0], result[BINS // 2 :] = 0.0, 0.0
    transform = np.fft.rfft(result)
    return np.asarray(np.exp(transform - transform[0]))
