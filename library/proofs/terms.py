"""Bit vectors with a normal form: what compiled code computes, as a function of its unknown inputs.

A term is built once and shared: terms with the same parts are the same object. Building one simplifies it:

- Wiring (shifts, masks, shuffles, packing) becomes a `join` of bits cut from other terms, lowest bits first.
- Sums, differences and products with constants become one sum with a coefficient for each summand, modulo 2^width.
- Every term carries an interval that holds for all inputs in their declared ranges; comparisons that the intervals
  decide become constants.

So code that moves bits, and code that adds what it took away, reaches the same term as its specification. The rest
is proved by evaluation over whole domains (`values`) or by the rules of kernels.py. Constants fold, so a program is
run on known inputs by the same functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import Any

import numpy as np


class NotProved(Exception):
    """A program leaves the models or its memory, or its result is another than it must be."""


class Term:
    """`width` bits. `low`, `high`: bounds of the signed value; `least`, `most`: of the unsigned value."""

    __slots__ = ("args", "high", "least", "low", "most", "number", "op", "width")

    def __init__(self, op: str, width: int, args: tuple[Any, ...]) -> None:
        self.op, self.width, self.args = op, width, args
        self.number = len(_TERMS)
        self.low, self.high = _interval(self)
        self.least, self.most = (self.low, self.high) if self.low >= 0 else (0, (1 << width) - 1)
        if op == "const":
            self.least = self.most = args[0]
        elif op == "var" and args[1] >= 0:
            self.least, self.most = args[1:]
        elif op == "join":
            self.least, self.most = _unsigned_bounds(args)
        elif op == "sum" and self.low < 0:
            self.most = _unsigned_bound(self) or self.most

    def __repr__(self) -> str:
        if self.op == "const":
            return f"{self.args[0]:#x}"
        return f"{self.op}{self.args}" if self.op != "var" else str(self.args[0])

    @property
    def is_const(self) -> bool:
        return self.op == "const"


_TERMS: dict[tuple[Any, ...], Term] = {}


def forget() -> None:
    """Drop all terms: they are kept for ever otherwise."""
    _TERMS.clear()
    for bit in (TRUE, FALSE):
        _TERMS["const", 1, bit.args] = bit


def _term(op: str, width: int, *args: Any) -> Term:
    key = (op, width, args)
    term = _TERMS.get(key)
    if term is None:
        term = _TERMS[key] = Term(op, width, args)
    return term


def _unsigned_bound(term: Term) -> int | None:
    """The greatest value of a sum of unsigned numbers that never carries; None if it may, or is no such sum."""
    if term.op != "sum":
        return None
    constant, summands = term.args
    if constant < 0 or any(coefficient < 0 for _, coefficient in summands):
        return None
    most = constant + sum(part.most * coefficient for part, coefficient in summands)
    return int(most) if most >> term.width == 0 else None


def _unsigned_bounds(parts: tuple[Term, ...]) -> tuple[int, int]:
    at = least = most = 0
    for part in parts:
        least += part.least << at
        most += part.most << at
        at += part.width
    return least, most


def _interval(term: Term) -> tuple[int, int]:
    """Bounds of a term's signed value from its parts'."""
    op, width, args = term.op, term.width, term.args
    if width == 0:
        return 0, 0
    half = 1 << (width - 1)
    whole = bounds = (-half, half - 1)
    if op == "const":
        value = signed(args[0], width)
        return value, value
    if op == "var":
        return (args[1], args[2]) if args[2] < half else whole
    if op == "sum":
        bounds = exact_bounds((args[0], args[1]), width) or whole
    elif op == "mul":
        ends = [x * y for x in (args[0].low, args[0].high) for y in (args[1].low, args[1].high)]
        bounds = (min(ends), max(ends))
    elif op == "mux":
        bounds = (min(args[1].low, args[2].low), max(args[1].high, args[2].high))
    elif op == "extend":
        bounds = (args[0].low, args[0].high)
    elif op == "join":
        top = args[-1]
        at = width - top.width
        if top.op == "const" and top.args[0] == 0:
            bounds = _unsigned_bounds(args)
        else:
            bounds = (top.low << at, (top.high << at) + (1 << at) - 1)
    elif op == "cut":
        source, at = args
        if at + width == source.width:
            bounds = (source.low >> at, source.high >> at)
        elif source.most < half << at:
            bounds = (0, source.most >> at)
        elif at == 0:
            bounds = (source.low, source.high)
    elif op == "and" and min(args[0].most, args[1].most) < half:
        bounds = (0, min(args[0].most, args[1].most))
    return bounds if -half <= bounds[0] and bounds[1] < half else whole


def exact_bounds(
    total: tuple[int, tuple[tuple[Term, int], ...]], width: int
) -> tuple[int, int] | None:
    """Bounds of a sum (its constant and summands) that never leaves the signed numbers of `width` bits; None if it
    may."""
    constant, summands = total
    half = 1 << (width - 1)
    low = high = constant
    for part, coefficient in summands:
        ends = (part.low * coefficient, part.high * coefficient)
        low, high = low + min(ends), high + max(ends)
    if -half <= low and high < half:
        return low, high
    # A quotient's rounding error is small, though the quotient and what it is taken from are not. With scale 2^32:
    low = high = constant << 32
    factors: dict[Term, int] = {}
    for part, coefficient in summands:
        source = part.args[0] if part.op == "cut" and part.width == 32 else None
        if source is None or source.op != "sum" or part.args[1] != 32 or source.width != 64:
            factors[part] = factors.get(part, 0) + (coefficient << 32)
            continue
        if exact_bounds((source.args[0], source.args[1]), 64) is None:
            return None
        # ⌊s / 2^32⌋ = (s − rest) / 2^32, 0 ≤ rest < 2^32.
        ends = (0, -coefficient * ((1 << 32) - 1))
        low, high = low + min(ends), high + max(ends)
        low, high = low + source.args[0] * coefficient, high + source.args[0] * coefficient
        for inner, factor in source.args[1]:
            narrow = inner.args[0] if inner.op == "extend" else inner
            factors[narrow] = factors.get(narrow, 0) + coefficient * factor
    for part, coefficient in factors.items():
        ends = (part.low * coefficient, part.high * coefficient)
        low, high = low + min(ends), high + max(ends)
    low, high = -(-low >> 32), high >> 32
    return (low, high) if -half <= low and high < half else None


def signed(value: int, width: int) -> int:
    return value - (1 << width) if value >> (width - 1) else value


def const(value: int, width: int) -> Term:
    value &= (1 << width) - 1
    return _TERMS.get(("const", width, (value,))) or _term("const", width, value)


def var(name: str, width: int, low: int | None = None, high: int | None = None) -> Term:
    """An unknown, by default of the whole signed range; with bounds from 0 on, `high` may be any unsigned number."""
    half = 1 << (width - 1)
    return _term(
        "var", width, name, -half if low is None else low, half - 1 if high is None else high
    )


TRUE, FALSE = const(1, 1), const(0, 1)


# --- wiring


def join(parts: Iterable[Term]) -> Term:
    """The bits of the parts one after the other, the first part lowest."""
    flat: list[Term] = []
    for part in parts:
        for piece in part.args if part.op == "join" else (part,):
            if piece.width == 0:
                continue
            merged = _merged(flat[-1], piece) if flat else None
            if merged is None:
                flat.append(piece)
            else:
                flat[-1] = merged
                while len(flat) > 1 and (merged := _merged(flat[-2], flat[-1])) is not None:
                    flat[-2:] = [merged]
    if len(flat) == 1:
        return flat[0]
    return _term("join", sum(part.width for part in flat), *flat)


def _merged(a: Term, b: Term) -> Term | None:
    """`b` above `a` as one term that is no join, if there is one."""
    if a.op == "const" and b.op == "const":
        return const(a.args[0] | b.args[0] << a.width, a.width + b.width)
    if b.op == "cut":
        source, at = b.args
        if a is source and at == 0:
            return None
        if a.op == "cut" and a.args[0] is source and a.args[1] + a.width == at:
            return cut(source, a.args[1], a.width + b.width)
    sign = b.args[0] if b.op == "extend" else b
    if sign.width == 1 and sign.op == "cut" and sign is cut(a, a.width - 1, 1):
        return extend(a, a.width + b.width)
    if b.op == "extend" and a.op == "extend" and a.args[0] is sign and sign.width == 1:
        return extend(sign, a.width + b.width)
    if b.op == "extend" and sign.width == 1 and a is sign:
        return extend(sign, 1 + b.width)
    return None


def cut(a: Term, at: int, width: int) -> Term:
    """`width` bits of `a` from bit `at` on."""
    if at == 0 and width == a.width:
        return a
    assert width >= 0 and at >= 0 and at + width <= a.width
    op = a.op
    if op == "const":
        return const(a.args[0] >> at, width)
    if op == "join":
        parts = []
        for part in a.args:
            if at < part.width and width > 0:
                taken = min(part.width - at, width)
                parts.append(cut(part, at, taken))
                at, width = 0, width - taken
            else:
                at -= part.width
            if width == 0:
                break
        return join(parts)
    if op == "cut":
        return cut(a.args[0], a.args[1] + at, width)
    if op == "extend":
        inner = a.args[0]
        if at + width <= inner.width:
            return cut(inner, at, width)
        start = min(at, inner.width - 1)
        return extend(cut(inner, start, inner.width - start), width)
    if op == "mux":
        return mux(a.args[0], cut(a.args[1], at, width), cut(a.args[2], at, width))
    if at == 0 and op == "sum":
        return _sum(width, a.args[0], ((cut(t, 0, width), c) for t, c in a.args[1]))
    if at == 0 and op == "mul":
        return mul(cut(a.args[0], 0, width), cut(a.args[1], 0, width))
    if op == "sum" and not (a.args[0] | math.gcd(*(c for _, c in a.args[1]))) & ((1 << at) - 1):
        # A multiple of 2^at, divided.
        rest = a.width - at
        divided = ((cut(t, 0, rest), c >> at) for t, c in a.args[1])
        return cut(_sum(rest, a.args[0] >> at, divided), 0, width)
    if a.most < 1 << at:
        return const(0, width)
    if at + width == a.width and a.low >> at == a.high >> at:
        return const(a.low >> at, width)
    return _term("cut", width, a, at)


def extend(a: Term, width: int) -> Term:
    """`a` with copies of its sign above."""
    if width == a.width:
        return a
    if a.op == "const":
        return const(signed(a.args[0], a.width), width)
    if a.op == "extend":
        return extend(a.args[0], width)
    if a.low >= 0:
        return join([a, const(0, width - a.width)])
    if a.op == "cut" and a.args[1] == 0 and a.args[0].width == width:
        source: Term = a.args[0]
        if -(1 << (a.width - 1)) <= source.low and source.high < 1 << (a.width - 1):
            return source
    return _term("extend", width, a)


def widened(a: Term, width: int) -> Term:
    """`a` with zeros above."""
    return join([a, const(0, width - a.width)])


def lanes(a: Term, width: int) -> list[Term]:
    """`a` in parts of `width` bits, the lowest first."""
    if a.op == "join" and all(part.width == width for part in a.args):
        return list(a.args)
    if a.op == "join":
        # One pass over the parts.
        result: list[Term] = []
        held: list[Term] = []
        missing = width
        for part in a.args:
            at = 0
            while at < part.width:
                taken = min(missing, part.width - at)
                held.append(cut(part, at, taken))
                at, missing = at + taken, missing - taken
                if missing == 0:
                    result.append(join(held))
                    held, missing = [], width
        return result
    return [cut(a, at, width) for at in range(0, a.width, width)]


def shifted_left(a: Term, by: int) -> Term:
    if by >= a.width:
        return const(0, a.width)
    return scaled(a, 1 << by)


def shifted_right(a: Term, by: int) -> Term:
    if by >= a.width:
        return const(0, a.width)
    return join([cut(a, by, a.width - by), const(0, by)])


def shifted_signed(a: Term, by: int) -> Term:
    by = min(by, a.width - 1)
    return extend(cut(a, by, a.width - by), a.width)


def rotated(a: Term, by: int) -> Term:
    """Rotate left."""
    by %= a.width
    return join([cut(a, a.width - by, by), cut(a, 0, a.width - by)])


# --- bits


def _segments(a: Term, b: Term) -> list[tuple[Term, Term]]:
    """Both in pieces with common ends."""
    ends = set()
    for term in (a, b):
        at = 0
        for part in term.args if term.op == "join" else ():
            at += part.width
            ends.add(at)
    ends.add(a.width)
    result, at = [], 0
    for end in sorted(ends):
        result.append((cut(a, at, end - at), cut(b, at, end - at)))
        at = end
    return result


def _is_split(a: Term, b: Term) -> bool:
    """Return whether an operation on bits goes piece by piece: where one operand has pieces and is no rotation."""
    return any(term.op == "join" and not is_rotation(term) for term in (a, b))


def is_rotation(a: Term) -> bool:
    """Return whether a join is another term, rotated."""
    if len(a.args) != 2:
        return False
    low, high = a.args
    if (
        not low.op == high.op == "cut"
        or low.args[0] is not high.args[0]
        or low.args[0].width != a.width
    ):
        return False
    return bool(high.args[1] == 0 and low.args[1] == a.width - low.width)


def _runs(mask: int, width: int) -> list[tuple[int, int, int]]:
    """(bit, start, length) of each run of equal bits."""
    result, at = [], 0
    while at < width:
        bit = mask >> at & 1
        end = at
        while end < width and mask >> end & 1 == bit:
            end += 1
        result.append((bit, at, end - at))
        at = end
    return result


def _bit_of(a: Term) -> Term | None:
    """The bit of which `a` is copies."""
    if a.op == "extend" and a.args[0].width == 1:
        return a.args[0]  # type: ignore[no-any-return]
    return None


def and_(a: Term, b: Term) -> Term:
    if a.op == "const":
        a, b = b, a
    if b.op == "const":
        mask = b.args[0]
        if a.op == "const":
            return const(a.args[0] & mask, a.width)
        if mask == 0:
            return b
        if mask == (1 << a.width) - 1:
            return a
        runs = _runs(mask, a.width)
        if len(runs) <= 8:
            return join(cut(a, at, n) if bit else const(0, n) for bit, at, n in runs)
    if a is b:
        return a
    if _is_split(a, b):
        return join(and_(x, y) for x, y in _segments(a, b))
    for one, other in ((a, b), (b, a)):
        if (bit := _bit_of(one)) is not None:
            return mux(bit, other, const(0, a.width))
    return _term("and", a.width, *sorted((a, b), key=lambda t: t.number))


def or_(a: Term, b: Term) -> Term:
    if a.op == "const":
        a, b = b, a
    if b.op == "const":
        mask = b.args[0]
        if a.op == "const":
            return const(a.args[0] | mask, a.width)
        if mask == 0:
            return a
        if mask == (1 << a.width) - 1:
            return b
        runs = _runs(mask, a.width)
        if len(runs) <= 8:
            return join(const(-1, n) if bit else cut(a, at, n) for bit, at, n in runs)
    if a is b:
        return a
    if _is_split(a, b):
        return join(or_(x, y) for x, y in _segments(a, b))
    for one, other in ((a, b), (b, a)):
        if (bit := _bit_of(one)) is not None:
            return mux(bit, const(-1, a.width), other)
        are_choices = one.op == other.op == "mux" and one.args[0] is invert(other.args[0])
        if are_choices and one.args[2].most == 0 and other.args[2].most == 0:
            return mux(one.args[0], one.args[1], other.args[1])
    return _term("or", a.width, *sorted((a, b), key=lambda t: t.number))


def xor(a: Term, b: Term) -> Term:
    if a.op == "const":
        a, b = b, a
    if b.op == "const":
        mask = b.args[0]
        if a.op == "const":
            return const(a.args[0] ^ mask, a.width)
        if mask == 0:
            return a
        if a.op == "xor" and a.args[1].op == "const":
            return xor(a.args[0], const(a.args[1].args[0] ^ mask, a.width))
        bit = _bit_of(a)
        if bit is not None and mask == (1 << a.width) - 1:
            return extend(invert(bit), a.width)
        if _is_split(a, b):
            return join(xor(x, y) for x, y in _segments(a, b))
        return _term("xor", a.width, a, b)
    if a is b:
        return const(0, a.width)
    if _is_split(a, b):
        return join(xor(x, y) for x, y in _segments(a, b))
    for one, other in ((a, b), (b, a)):
        if (bit := _bit_of(one)) is not None:
            return mux(bit, invert(other), other)
    return _term("xor", a.width, *sorted((a, b), key=lambda t: t.number))


def invert(a: Term) -> Term:
    return xor(a, const(-1, a.width))


def mux(bit: Term, a: Term, b: Term) -> Term:
    """`a` where the bit is 1, else `b`."""
    if bit.op == "const":
        return a if bit.args[0] else b
    if a is b:
        return a
    ones = (1 << a.width) - 1
    if a.op == "const" and b.op == "const":
        if (a.args[0], b.args[0]) == (ones, 0):
            return extend(bit, a.width)
        if (a.args[0], b.args[0]) == (0, ones):
            return extend(invert(bit), a.width)
        if (a.args[0], b.args[0]) == (1, 0):
            return widened(bit, a.width)
    if bit.op == "xor" and bit.args[1].op == "const":
        return mux(bit.args[0], b, a)
    return _term("mux", a.width, bit, a, b)


# --- arithmetic


def _summands(a: Term) -> tuple[int, tuple[tuple[Term, int], ...]]:
    """`a` as a constant and summands with coefficients."""
    if a.op == "sum":
        return a.args[0], a.args[1]
    if a.op == "const":
        return a.args[0], ()
    if a.op == "xor" and a.args[1].op == "const" and a.args[1].most == (1 << a.width) - 1:
        # All bits inverted: −1 − x.
        inner, parts = _summands(a.args[0])
        return -1 - inner, tuple((part, -c) for part, c in parts)
    if a.op == "join" and a.args[0].op == "const" and a.args[0].args[0] == 0:
        # A shift to the left.
        by = a.args[0].width
        rest = join(a.args[1:])
        if rest.op == "cut" and rest.args[1] == 0 and rest.args[0].width == a.width:
            return 0, ((rest.args[0], 1 << by),)
        return 0, ((widened(rest, a.width), 1 << by),)
    if a.op == "extend" and a.args[0].width == 1:
        return 0, ((widened(a.args[0], a.width), -1),)
    if (
        a.op == "join"
        and len(a.args) == 2
        and a.width == 64
        and a.args[0].width == 32
        and a.args[1].most == 0
    ):
        # Products of unsigned halves, of which code makes signed ones: x mod 2^32 = x + 2^32·[x < 0].
        inner = a.args[0]
        if inner.low < 0 and _unsigned_bound(inner) is None:
            sign = widened(cut(inner, 31, 1), 64)
            return 0, (*_summands(extend(inner, 64))[1], (sign, 1 << 32))
    if a.op == "join" and len(a.args) == 2 and a.args[0].op == "sum" and a.args[1].most == 0:
        # Zeros above a sum that does not carry.
        inner = a.args[0]
        if _unsigned_bound(inner) is not None:
            return inner.args[0], tuple((widened(part, a.width), c) for part, c in inner.args[1])
    return 0, ((a, 1),)


def _sum(width: int, constant: int, summands: Iterable[tuple[Term, int]]) -> Term:
    """The sum modulo 2^width."""
    half = 1 << (width - 1)
    mask = (1 << width) - 1
    factors: dict[Term, int] = {}
    for part, factor in summands:
        inner, parts = _summands(part)
        constant += inner * factor
        for term, coefficient in parts:
            factors[term] = factors.get(term, 0) + coefficient * factor
    terms = []
    for term, coefficient in factors.items():
        coefficient = ((coefficient + half) & mask) - half
        if coefficient:
            terms.append((term, coefficient))
    constant &= mask
    if not terms:
        return const(constant, width)
    has_choice = any(term.op == "mux" for term, _ in terms)
    if has_choice and (chosen := _chosen_sum(width, terms)) is not None:
        return _sum(width, constant, chosen)
    if len(terms) == 1 and terms[0][1] == 1 and constant == 0:
        return terms[0][0]
    if constant == 0 and (whole := _unsplit(width, terms)) is not None:
        return whole
    if constant == 0 and len(terms) <= 32 and (wired := _wired(width, terms)) is not None:
        return wired
    terms.sort(key=lambda pair: pair[0].number)
    return _term("sum", width, signed(constant, width), tuple(terms))


def _flag(a: Term) -> Term | None:
    """The bit of which `a` is the number."""
    if a.op == "join" and len(a.args) == 2 and a.args[0].width == 1 and a.args[1].most == 0:
        return a.args[0]  # type: ignore[no-any-return]
    return None


def _unsplit(width: int, terms: list[tuple[Term, int]]) -> Term | None:
    """A sum that has a simpler form: copies of a bit, or the lower half of a number."""
    if len(terms) == 1 and terms[0][1] == -1 and (bit := _flag(terms[0][0])) is not None:
        return extend(bit, width)
    if len(terms) == 2 and width == 64:
        for (a, one), (b, other) in (terms, terms[::-1]):
            is_half = (one, other) == (1, 1 << 32) and a.op == "extend" and a.args[0].width == 32
            if is_half and _flag(b) is cut(a.args[0], 31, 1):
                return widened(a.args[0], 64)
    return None


def _chosen_sum(width: int, terms: list[tuple[Term, int]]) -> list[tuple[Term, int]] | None:
    """A choice by a bit, and the bit: one choice between sums."""
    for copies, factor in terms:
        bit = _flag(copies)
        if bit is None:
            continue
        for choice, coefficient in terms:
            if choice.op == "mux" and choice.args[0] is bit and coefficient == 1:
                a = _sum(width, factor, ((choice.args[1], 1),))
                rest = [pair for pair in terms if pair[0] not in (copies, choice)]
                return [*rest, (mux(bit, a, choice.args[2]), 1)]
    return None


def _wired(width: int, terms: list[tuple[Term, int]]) -> Term | None:
    """A sum whose summands do not overlap, and shifts, as a join."""
    if len(terms) == 1:
        (term, coefficient), mask = terms[0], (1 << width) - 1
        coefficient &= mask
        if coefficient & (coefficient - 1):
            return None
        by = coefficient.bit_length() - 1
        return join([const(0, by), cut(term, 0, width - by)])
    pieces = []
    for term, coefficient in terms:
        if coefficient <= 0 or coefficient & (coefficient - 1) or term.low < 0:
            return None
        pieces.append((coefficient.bit_length() - 1, term))
    pieces.sort(key=lambda piece: piece[0])
    parts: list[Term] = []
    at = 0
    for start, term in pieces:
        if start < at:
            return None
        length = term.most.bit_length()
        if start + length > width:
            return None
        parts += [const(0, start - at), cut(term, 0, length)]
        at = start + length
    return join([*parts, const(0, width - at)])


def _piecewise(a: Term, b: Term) -> Term | None:
    """The sum of two joins, piece by piece where no piece carries."""
    if not (a.op == "join" and b.op == "join" and a.width <= 64):
        return None
    pairs = _segments(a, b)
    if any(x.most + y.most >> x.width for x, y in pairs):
        return None
    return join(add(x, y) for x, y in pairs)


def add(a: Term, b: Term) -> Term:
    if a.op == "const" and b.op == "const":
        return const(a.args[0] + b.args[0], a.width)
    return _piecewise(a, b) or _sum(a.width, 0, ((a, 1), (b, 1)))


def sub(a: Term, b: Term) -> Term:
    if a.op == "const" and b.op == "const":
        return const(a.args[0] - b.args[0], a.width)
    return _sum(a.width, 0, ((a, 1), (b, -1)))


def total(constant: int, terms: list[Term]) -> Term:
    """The sum of a constant and terms."""
    return _sum(terms[0].width, constant, ((term, 1) for term in terms))


def halved(a: Term) -> Term | None:
    """Half of a sum of even multiples."""
    if a.op != "sum" or a.args[0] & 1 or any(c & 1 for _, c in a.args[1]):
        return None
    return _sum(a.width, a.args[0] >> 1, ((term, c >> 1) for term, c in a.args[1]))


def scaled(a: Term, factor: int) -> Term:
    return _sum(a.width, 0, ((a, factor),))


def mul(a: Term, b: Term) -> Term:
    if b.op == "const":
        a, b = b, a
    if a.op == "const":
        return const(a.args[0] * b.args[0], a.width) if b.op == "const" else scaled(b, a.args[0])
    return _term("mul", a.width, *sorted((a, b), key=lambda t: t.number))


def absolute(a: Term) -> Term:
    return mux(lt(a, const(0, a.width)), scaled(a, -1), a)


def lt(a: Term, b: Term) -> Term:
    """Return whether a < b, signed."""
    if a.high < b.low:
        return TRUE
    if a.low >= b.high:
        return FALSE
    if b.op == "const" and b.args[0] == 0:
        return cut(a, a.width - 1, 1)
    return _term("lt", 1, a, b)


def below(a: Term, b: Term) -> Term:
    """Return whether a < b, unsigned."""
    if a.low >= 0 and b.low >= 0:
        return lt(a, b)
    if a.op == "const" and b.op == "const":
        return const(a.args[0] < b.args[0], 1)
    if b.low >= 0 and a.op == "const":
        return FALSE
    return _term("below", 1, a, b)


def eq(a: Term, b: Term) -> Term:
    if a is b:
        return TRUE
    if a.op == "const" and b.op == "const":
        return FALSE
    if a.width <= 64 and (a.high < b.low or b.high < a.low):
        return FALSE
    if a.op == "const":
        a, b = b, a
    if b.op == "const" and b.args[0] == 0:
        if a.op == "extend":
            return eq(a.args[0], const(0, a.args[0].width))
        if a.op == "join":
            parts = [part for part in a.args if part.most]
            if len(parts) == 1:
                return eq(parts[0], const(0, parts[0].width))
    if a.width == 1 and b.op == "const":
        return a if b.args[0] else invert(a)
    return _term("eq", 1, a, b)


# --- evaluation


def values(terms: list[Term], known: Mapping[Term, Any]) -> list[Any]:
    """The terms' unsigned values, at most 64 bits wide, as arrays; `known`: those of the unknowns."""
    done: dict[Term, Any] = dict(known)
    for term in ordered(terms, done):
        done[term] = _value(term, done)
    return [done[term] for term in terms]


def ordered(
    terms: Iterable[Term],
    done: Container[Term],
    parts: Callable[[Term], tuple[Term, ...]] | None = None,
) -> Iterator[Term]:
    """Yield the terms that `done` lacks, and what they are made of: first the parts of each.

    The caller adds each to `done`. `parts`: of a term, by default all.
    """
    parts = parts or children
    stack = list(terms)
    while stack:
        top = stack[-1]
        missing = [] if top in done else [part for part in parts(top) if part not in done]
        if missing:
            stack += missing
            continue
        stack.pop()
        if top not in done:
            yield top


def children(term: Term) -> tuple[Term, ...]:
    if term.op in ("const", "var"):
        return ()
    if term.op == "sum":
        return tuple(part for part, _ in term.args[1])
    return term.args[:1] if term.op == "cut" else term.args


def _value(term: Term, done: Mapping[Term, Any]) -> Any:
    op, args, width = term.op, term.args, term.width
    mask = np.uint64((1 << width) - 1)
    if op == "const":
        return np.array([args[0]], dtype=np.uint64)
    if op == "var":
        raise NotProved(f"{term} is not known")
    if op == "sum":
        total = np.array([args[0] & (2**64 - 1)], dtype=np.uint64)
        for part, coefficient in args[1]:
            signed_part = as_signed(done[part], part.width).view(np.uint64)
            total = total + signed_part * np.uint64(coefficient & (2**64 - 1))
        return total & mask
    if op == "join":
        at, total = 0, np.zeros(1, dtype=np.uint64)
        for part in args:
            total = total | done[part] << np.uint64(at)
            at += part.width
        return total
    if op == "cut":
        return done[args[0]] >> np.uint64(args[1]) & mask
    if op == "extend":
        return as_signed(done[args[0]], args[0].width).view(np.uint64) & mask
    if op == "mux":
        return np.where(done[args[0]] != 0, done[args[1]], done[args[2]])
    a, b = (done[part] for part in args)
    if op == "mul":
        return a * b & mask
    if op in ("and", "or", "xor"):
        return a & b if op == "and" else a | b if op == "or" else a ^ b
    if op == "lt":
        result = as_signed(a, args[0].width) < as_signed(b, args[1].width)
    else:
        result = a < b if op == "below" else a == b
    return np.asarray(result).astype(np.uint64)


def as_signed(value: Any, width: int) -> Any:
    """An unsigned value of `width` bits as a signed number of 64."""
    sign = np.uint64(1 << (width - 1))
    return ((np.asarray(value, dtype=np.uint64) ^ sign) - sign).view(np.int64)


def unknowns(terms: Iterable[Term]) -> set[Term]:
    """The variables of the terms."""
    seen: set[Term] = set()
    stack = list(terms)
    while stack:
        term = stack.pop()
        if term not in seen:
            seen.add(term)
            stack += children(term)
    return {term for term in seen if term.op == "var"}


def substituted(terms: list[Term], replaced: Mapping[Term, Term]) -> list[Term]:
    """The terms with other terms in place of unknowns, simplified anew."""
    done: dict[Term, Term] = dict(replaced)
    for term in ordered(terms, done):
        done[term] = _rebuilt(term, done)
    return [done[term] for term in terms]


_BUILT: dict[str, Callable[..., Term]] = {
    "mul": mul,
    "and": and_,
    "or": or_,
    "xor": xor,
    "mux": mux,
    "lt": lt,
    "below": below,
    "eq": eq,
}


def _rebuilt(term: Term, done: Mapping[Term, Term]) -> Term:
    op, args = term.op, term.args
    if op in ("const", "var"):
        return term
    if op == "sum":
        return _sum(term.width, args[0], ((done[part], c) for part, c in args[1]))
    if op == "join":
        return join(done[part] for part in args)
    if op == "cut":
        return cut(done[args[0]], args[1], term.width)
    if op == "extend":
        return extend(done[args[0]], term.width)
    return _BUILT[op](*(done[part] for part in args))
