"""Dilithium of the competition's third round by the package dilithium-py: the expected answers of a
core of that round, and the traces of its signatures."""

from __future__ import annotations

from typing import Any

from dilithium_py.dilithium.default_parameters import DEFAULT_PARAMETERS
from dilithium_py.dilithium.dilithium import Dilithium

from mldsa_lab.theory.trace import ACCEPTED, PASSED, Iteration, Trace

_LEVELS = {"ML-DSA-44": "dilithium2", "ML-DSA-65": "dilithium3", "ML-DSA-87": "dilithium5"}


class Round3(Dilithium):  # type: ignore[misc]
    """The scheme that became a parameter set of FIPS 204."""

    def __init__(self, set_name: str) -> None:
        super().__init__(DEFAULT_PARAMETERS[_LEVELS[set_name]])

    def keys(self, seed: bytes) -> tuple[bytes, bytes]:
        """Public and private key from the seed zeta."""
        self.random_bytes = lambda size: seed[:size]
        pk, sk = self.keygen()
        return pk, sk

    def trace(self, sk: bytes, message: bytes) -> Trace:
        """The attempts of the signature (figure 4 of version 3.1), with all that each fails."""
        rho, key, tr, *vectors = self._unpack_sk(sk)
        s1, s2, t0 = (vector.to_ntt() for vector in vectors)
        matrix = self._expand_matrix_from_seed(rho)
        mu = self._h(tr + message, 64)
        masks = self._h(key + mu, 64)
        result: list[Iteration] = []
        while not result or result[-1] != ACCEPTED:
            y = self._expand_mask_vector(masks, self.l * len(result))
            high, low = (matrix @ y.to_ntt()).from_ntt().decompose(2 * self.gamma_2)
            seed = self._h(mu + high.bit_pack_w(self.gamma_2), 32)
            c = self.R.sample_in_ball(seed, self.tau).to_ntt()
            r0 = low - s2.scale(c).from_ntt()
            of_t0 = t0.scale(c).from_ntt()
            first = [PASSED] * 4
            checked = (
                (y + s1.scale(c).from_ntt(), self.gamma_1 - self.beta),
                (r0, self.gamma_2 - self.beta),
                (of_t0, self.gamma_2),
            )
            for check, (vector, bound) in enumerate(checked):
                first[check] = _first(p.check_norm_bound(bound) for p in _polynomials(vector))
            hints = _polynomials((r0 + of_t0).make_hint_optimised(high, 2 * self.gamma_2))
            weights = [sum(p.coeffs) for p in hints]
            first[3] = _first(sum(weights[: n + 1]) > self.omega for n in range(len(weights)))
            result.append(Iteration.from_indexes(first))
        return tuple(result)


def _polynomials(vector: Any) -> list[Any]:
    return [polynomial for row in vector._data for polynomial in row]


def _first(fails: Any) -> int:
    return next((n for n, failing in enumerate(fails) if failing), PASSED)
