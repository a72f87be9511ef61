"""Terms as numbers modulo q: sums of products of unknowns, each with a coefficient.

A term has a residue where it is an exact integer made of such sums: nothing wraps, and each quotient (a Montgomery
reduction's upper half, say) is exact because the half below it is zero for all inputs, which the normal form of
terms.py tells.
"""

from __future__ import annotations

from collections.abc import Iterable

import terms as t
from terms import NotProved, Term

Q = 8380417

Residue = dict[tuple[Term, ...], int]
"""By the unknowns of a product, in order of their numbers: its coefficient modulo q, never 0. () is the number 1."""


def power(base: int, exponent: int) -> int:
    return pow(base, exponent, Q)


def plus(a: Residue, b: Residue, factor: int) -> None:
    """Add `factor` times `b` to `a`."""
    for product, coefficient in b.items():
        total = (a.get(product, 0) + coefficient * factor) % Q
        if total:
            a[product] = total
        else:
            a.pop(product, None)


class Residues:
    """The residues of the terms of one proof."""

    def __init__(self) -> None:
        self.known: dict[Term, Residue] = {}

    def residues(self, terms: Iterable[Term]) -> list[Residue]:
        terms = list(terms)
        for term in t.ordered(
            terms, self.known, lambda term: tuple(p for p, _ in self._needed(term))
        ):
            self.known[term] = self._combined(term, self._needed(term))
        return [self.known[term] for term in terms]

    def _needed(self, term: Term) -> list[tuple[Term, int]]:
        """The terms from whose residues this one's follows, with factors for all but products."""
        op, args = term.op, term.args
        if op in ("const", "var"):
            return []
        if op == "sum":
            if t.exact_bounds((args[0], args[1]), term.width) is None:
                bounds = [(p.low * c, p.high * c) for p, c in args[1]]
                low, high = sum(map(min, bounds)), sum(map(max, bounds))
                raise NotProved(
                    f"a sum of {len(bounds)} in [{low}, {high}] of {term.width} bits may overflow"
                )
            return [(part, c) for part, c in args[1] if c % Q]
        if op == "mul":
            return [(args[0], 1), (args[1], 1)]
        if op == "extend":
            return [(args[0], 1)]
        if op == "join" and args[-1].most == 0 and t.join(args[:-1]).low >= 0:
            return [(t.join(args[:-1]), 1)]
        if op == "mux":
            return [(args[1], 1), (args[2], 1)]
        if op == "cut":
            return self._quotient(term)
        raise NotProved(f"no residue: {op}")

    @staticmethod
    def _quotient(term: Term) -> list[tuple[Term, int]]:
        source, at = term.args
        if at + term.width != source.width or source.op != "sum":
            raise NotProved("a part of a number")
        if t.exact_bounds((source.args[0], source.args[1]), source.width) is None:
            raise NotProved("a sum that may overflow")
        if t.cut(source, 0, at).most == 0:
            return [(source, power(2, -at))]
        # Half the difference of two upper halves, whose sources are equal in all bits that are dropped.
        (first, one), (second, other) = (
            source.args[1] if len(source.args[1]) == 2 else ((term, 0), (term, 0))
        )
        if at == 1 and source.args[0] == 0 and {one, other} == {1, -1}:
            halves = [part.args[0] if part.op == "extend" else part for part in (first, second)]
            if all(
                half.op == "cut" and half.args[1] + half.width == half.args[0].width
                for half in halves
            ):
                # Sources that end at different places are brought to the lower one.
                below = max(half.args[1] for half in halves)
                sources = [half.args[0] for half in halves]
                scales = [1 << (below - half.args[1]) for half in halves]
                wide = [t.scaled(t.extend(s, 64), f) for s, f in zip(sources, scales, strict=True)]
                difference = t.sub(*wide)
                half = t.halved(difference)
                rest = t.cut(half, 0, below) if half else t.cut(difference, 0, below + 1)
                if rest.most == 0:
                    factor = power(2, -(below + 1))
                    signs = (one, other)
                    return [
                        (s, sign * f * factor)
                        for s, f, sign in zip(sources, scales, signs, strict=True)
                    ]
        raise NotProved("a quotient that may not be exact")

    def _combined(self, term: Term, needed: list[tuple[Term, int]]) -> Residue:
        if term.op == "var":
            return {(term,): 1}
        if term.op == "const":
            value = t.signed(term.args[0], term.width) % Q
            return {(): value} if value else {}
        if term.op == "mul":
            a, b = (self.known[part] for part, _ in needed)
            result: Residue = {}
            half = 1 << (term.width - 1)
            ends = [x * y for x in (needed[0][0].low, needed[0][0].high)
                    for y in (needed[1][0].low, needed[1][0].high)]  # fmt: skip
            if max(ends) >= half or min(ends) < -half:
                raise NotProved("a product that may overflow")
            for x, i in a.items():
                for y, j in b.items():
                    product = tuple(sorted((*x, *y), key=lambda unknown: unknown.number))
                    plus(result, {product: i * j % Q}, 1)
            return result
        if term.op == "mux":
            a, b = (self.known[part] for part, _ in needed)
            if a != b:
                raise NotProved("a choice between two residues")
            return a
        result = {}
        if term.op == "sum" and term.args[0] % Q:
            result[()] = term.args[0] % Q
        for part, factor in needed:
            plus(result, self.known[part], factor)
        return result
