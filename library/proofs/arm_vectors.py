"""Vector registers and instructions of AArch64. See arm.py."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable
from functools import reduce
from typing import Any

import terms as t
from machine import Content, Machine, Opaque
from terms import NotProved, Term


def _all(bit: Term, like: Term) -> Term:
    return t.extend(bit, like.width)


def _doubled_high(a: Term, b: Term, rounding: int) -> Term:
    """The high half of 2ab + rounding. Only the product of two minima is out of range: it saturates."""
    width = a.width
    product = t.mul(t.extend(a, 2 * width), t.extend(b, 2 * width))
    total = t.add(t.scaled(product, 2), t.const(rounding, 2 * width))
    least = t.const(1 << (width - 1), width)
    both = t.and_(t.eq(a, least), t.eq(b, least))
    return t.mux(both, t.invert(least), t.cut(total, width, width))


def _halved(
    a: Term, b: Term, widen: Callable[[Term, int], Term], combine: Callable[[Term, Term], Term]
) -> Term:
    return t.cut(combine(widen(a, a.width + 1), widen(b, a.width + 1)), 1, a.width)


def _mask_bit(a: Term) -> Term | None:
    """The bit of which `a` is copies."""
    if a.op == "const" and a.most in (0, (1 << a.width) - 1):
        return t.cut(a, 0, 1)
    if a.op == "extend" and a.args[0].width == 1:
        return t.cut(a, 0, 1)
    if a.op == "mux":
        bits = [_mask_bit(part) for part in a.args[1:]]
        if bits[0] is not None and bits[1] is not None:
            return t.mux(a.args[0], bits[0], bits[1])
    return None


def _greatest_unsigned(a: Term, b: Term) -> Term:
    bits = _mask_bit(a), _mask_bit(b)
    if bits[0] is not None and bits[1] is not None:
        return t.extend(t.or_(bits[0], bits[1]), a.width)
    return t.mux(t.below(a, b), b, a)


def _less(a: Term, b: Term) -> Term:
    if b.most == 0 and a.op == "join" and a.args[-1].width == 1:
        # The sign.
        return _all(a.args[-1], a)
    return _all(t.lt(a, b), a)


def _looked_up(table: list[Term], at: Term) -> Term:
    """The byte of a table at a place, 0 beyond its end: a choice by each bit that may be set."""
    if at.least == at.most:
        return table[at.most] if at.most < len(table) else t.const(0, 8)
    top = at.most.bit_length() - 1
    high = t.cut(at, top, 1)
    if top == 0:
        return t.mux(high, *(_looked_up(table, t.const(place, 1)) for place in (1, 0)))
    low = t.cut(at, 0, top)
    return t.mux(high, _looked_up(table[1 << top :], low), _looked_up(table[: 1 << top], low))


LANEWISE: dict[str, Callable[..., Term]] = {
    "add": t.add,
    "sub": t.sub,
    "abs": t.absolute,
    "neg": lambda a: t.scaled(a, -1),
    "smax": lambda a, b: t.mux(t.lt(a, b), b, a),
    "umax": _greatest_unsigned,
    "smin": lambda a, b: t.mux(t.lt(a, b), a, b),
    "umin": lambda a, b: t.mux(t.below(a, b), a, b),
    "cmeq": lambda a, b: _all(t.eq(a, b), a),
    "cmgt": lambda a, b: _all(t.lt(b, a), a),
    "cmge": lambda a, b: _all(t.invert(t.lt(a, b)), a),
    "cmlt": _less,
    "cmle": lambda a, b: _all(t.invert(t.lt(b, a)), a),
    "cmhi": lambda a, b: _all(t.below(b, a), a),
    "cmhs": lambda a, b: _all(t.invert(t.below(a, b)), a),
    "sqdmulh": lambda a, b: _doubled_high(a, b, 0),
    "sqrdmulh": lambda a, b: _doubled_high(a, b, 1 << (a.width - 1)),
    "shsub": lambda a, b: _halved(a, b, t.extend, t.sub),
    "shadd": lambda a, b: _halved(a, b, t.extend, t.add),
    "uhadd": lambda a, b: _halved(a, b, t.widened, t.add),
    "rax1": lambda a, b: t.xor(a, t.rotated(b, 1)),
}
BITWISE: dict[str, Callable[..., Term]] = {
    "and": t.and_,
    "orr": t.or_,
    "eor": t.xor,
    "bic": lambda a, b: t.and_(a, t.invert(b)),
    "orn": lambda a, b: t.or_(a, t.invert(b)),
    "eon": lambda a, b: t.xor(a, t.invert(b)),
    "mvn": t.invert,
    "mov": lambda a: a,
    "eor3": lambda a, b, c: t.xor(t.xor(a, b), c),
    "bcax": lambda a, b, c: t.xor(a, t.and_(b, t.invert(c))),
}
SELECTED: dict[str, Callable[..., Term]] = {
    "bsl": lambda old, a, b: t.or_(t.and_(a, old), t.and_(b, t.invert(old))),
    "bit": lambda old, a, b: t.or_(t.and_(a, b), t.and_(old, t.invert(b))),
    "bif": lambda old, a, b: t.or_(t.and_(a, t.invert(b)), t.and_(old, b)),
}
"""Bit by bit, with the destination's old content first."""
SHIFTED: dict[str, Callable[[Term, int], Term]] = {
    "lsl": t.shifted_left,
    "lsr": t.shifted_right,
    "asr": t.shifted_signed,
    "ror": lambda a, by: t.rotated(a, -by),
    "shl": t.shifted_left,
    "ushr": t.shifted_right,
    "sshr": t.shifted_signed,
}
INSERTED: dict[str, Callable[[Term, Term, int], Term]] = {
    "sri": lambda old, a, by: t.join([t.cut(a, by, a.width - by), t.cut(old, a.width - by, by)]),
    "sli": lambda old, a, by: t.join([t.cut(old, 0, by), t.cut(a, 0, a.width - by)]),
}
_LONG = re.compile(r"([su])(mull|mlal|mlsl|addl|subl|addw|subw|shll)(2?)$")
_NARROW = re.compile(r"(xtn|shrn|addhn|subhn)(2?)$")


class Vectors(Machine):
    """The vector registers, and the instructions that write to them.

    `halves`: by register, a low half that belongs to the caller. `products`: by the low half of a product, the product.
    """

    halves: dict[int, Content]
    products: dict[Term, Term]

    @abstractmethod
    def get(self, operand: Any, bits: int = 64) -> Content:
        """Return a general register or an immediate."""

    @abstractmethod
    def put(self, operand: Any, content: Content) -> None:
        """Write a general register."""

    def vector(self, operand: Any) -> Term:
        """The bits of a vector register, or an element."""
        if operand[1] not in self.vectors:
            raise NotProved("a vector register that was not written")
        _, number, bits, index = operand
        if operand[0] == "v":
            index = 0
        return t.cut(self.vectors[number], bits * index, bits)

    def old(self, number: int) -> Term:
        """A vector register that is partly overwritten."""
        return self.vectors[number] if number in self.vectors else self.fresh(128)

    def write(self, operand: Any, content: Content) -> None:
        """Write a vector register, whose other bits become zero, or an element."""
        number = operand[1]
        if isinstance(content, Opaque) and operand[0] == "v":
            self.vectors.pop(number, None)
            self.halves[number] = content
            return
        value = self.word(content)
        if operand[0] == "e":
            words = t.lanes(self.old(number), operand[2])
            words[operand[3]] = value
            self.vectors[number] = t.join(words)
        else:
            assert value.width == operand[2]
            self.vectors[number] = t.widened(value, 128)
        self.halves.pop(number, None)

    def words(self, operand: Any, lane: int) -> list[Term]:
        """The lanes of an operand; an element and an immediate are repeated, as often as may be needed."""
        if operand[0] == "i":
            return [t.const(operand[1], lane)] * 16
        if operand[0] == "r":
            return [t.cut(self.word(self.get(operand)), 0, lane)] * 16
        if operand[0] == "e":
            return [self.vector(operand)] * 16
        return t.lanes(self.vector(operand), lane)

    def vectors_step(self, name: str, o: tuple[Any, ...]) -> None:
        if o[0][0] == "r":
            # fmov, mov, umov and smov.
            widen = t.extend if name == "smov" else t.widened
            if name not in ("fmov", "mov", "umov", "smov"):
                raise NotProved("an instruction that is not modelled")
            self.put(o[0], widen(self.vector(o[1]), o[0][2]))
            return
        bits, lane = (o[0][2], o[0][3]) if o[0][0] == "v" else (o[0][2], o[0][2])
        count = bits // lane
        if name in ("mov", "fmov", "dup") and not (o[0][0] == o[1][0] == "v"):
            self.write(o[0], t.join(self.words(o[1], lane)[:count]))
        elif name in ("movi", "mvni"):
            value = t.const(o[1][1], lane)
            self.write(o[0], t.join([t.invert(value) if name == "mvni" else value] * count))
        elif name in ("orr", "bic") and o[1][0] == "i":
            mask = t.lanes(t.join([t.const(o[1][1], lane)] * count), 64)
            self.write(o[0], t.join(map(BITWISE[name], t.lanes(self.vector(o[0]), 64), mask)))
        elif name in BITWISE or name in SELECTED:
            # Word by word: a word that moves as one stays one.
            function, sources = (BITWISE[name], o[1:]) if name in BITWISE else (SELECTED[name], o)
            self.write(
                o[0], t.join(map(function, *(self.words(operand, 64) for operand in sources)))
            )
        elif name in LANEWISE:
            pairs = zip(*(self.words(operand, lane) for operand in o[1:]), strict=False)
            self.write(o[0], t.join(LANEWISE[name](*words) for words in pairs))
        elif name == "mul":
            pairs = zip(self.words(o[1], lane), self.words(o[2], lane), strict=False)
            self.write(o[0], t.join(self.multiplied(a, b) for a, b in pairs))
        elif name in ("mla", "mls"):
            sign = 1 if name == "mla" else -1
            pairs = zip(*(self.words(operand, lane) for operand in o), strict=False)
            self.write(o[0], t.join(self.accumulated(sign, *words) for words in pairs))
        elif name in SHIFTED:
            self.write(
                o[0], t.join(SHIFTED[name](word, o[2][1]) for word in self.words(o[1], lane))
            )
        elif name in INSERTED:
            pairs = zip(self.words(o[0], lane), self.words(o[1], lane), strict=True)
            self.write(o[0], t.join(INSERTED[name](old, word, o[2][1]) for old, word in pairs))
        elif name in ("ushl", "sshl"):
            pairs = zip(self.words(o[1], lane), self.words(o[2], lane), strict=True)
            right = t.shifted_right if name == "ushl" else t.shifted_signed
            result = []
            for word, counts in pairs:
                by = t.signed(self.number(t.cut(counts, 0, 8)), 8)
                result.append(t.shifted_left(word, by) if by >= 0 else right(word, -by))
            self.write(o[0], t.join(result))
        elif (long := _LONG.match(name)) is not None:
            self.write(o[0], t.join(self.long(long, o, lane, count)))
        elif (narrow := _NARROW.match(name)) is not None:
            self.narrow(narrow, o)
        else:
            self.moved(name, o, lane)

    def multiplied(self, a: Term, b: Term) -> Term:
        """The low half of a product, which is remembered."""
        low = t.mul(a, b)
        if a.width == 32 and not low.is_const:
            self.products[low] = t.mul(t.extend(a, 64), t.extend(b, 64))
        return low

    def accumulated(self, sign: int, old: Term, a: Term, b: Term) -> Term:
        """Add a product to `old`, or subtract it.

        A Barrett reduction takes q·h from the low half of a product p, where h is the high half of s. Its result is
        written as the high half of 2^32·p − q·2^32·h. Here 2^32·h = s − 2^31 − r, and r is the low half of
        s − 2^31, signed. This is equal modulo 2^64 for all p, q and s, and its bounds are narrow.
        """
        if old not in self.products or not b.is_const or a.op != "cut" or a.args[1:] != (32,):
            return t.add(old, t.scaled(t.mul(a, b), sign))
        source = a.args[0]
        if source.width != 64:
            return t.add(old, t.scaled(t.mul(a, b), sign))
        whole = t.sub(source, t.const(1 << 31, 64))
        rest = t.extend(t.cut(whole, 0, 32), 64)
        high = t.scaled(t.sub(whole, rest), sign * t.signed(b.args[0], 32))
        return t.cut(t.add(t.scaled(self.products[old], 1 << 32), high), 32, 32)

    def long(self, name: re.Match[str], o: tuple[Any, ...], lane: int, count: int) -> list[Term]:
        """Lanes of twice the width: of products, sums and shifts of the low halves, or of the high halves."""
        widen = t.extend if name[1] == "s" else t.widened
        first = count if name[3] else 0

        def source(operand: Any) -> list[Term]:
            if operand[0] == "v" and operand[3] == lane:
                return self.words(operand, lane)
            words = self.words(operand, lane // 2)
            return [
                widen(word, lane)
                for word in (words if operand[0] == "e" else words[first:])[:count]
            ]

        kind, a = name[2], source(o[1])
        if kind == "shll":
            return [t.shifted_left(word, o[2][1]) for word in a]
        pairs = list(zip(a, source(o[2]), strict=True))
        if kind[:3] in ("add", "sub"):
            return [(t.add if kind[:3] == "add" else t.sub)(x, y) for x, y in pairs]
        products = [t.mul(x, y) for x, y in pairs]
        if kind == "mull":
            return products
        combine = t.add if kind == "mlal" else t.sub
        return [combine(x, y) for x, y in zip(self.words(o[0], lane), products, strict=True)]

    def narrow(self, name: re.Match[str], o: tuple[Any, ...]) -> None:
        """Lanes of half the width, in the low half of the register, or in the high half."""
        lane = o[1][3]
        a = self.words(o[1], lane)
        at = {"xtn": 0, "shrn": o[-1][1]}.get(name[1], lane // 2)
        if name[1] in ("addhn", "subhn"):
            a = [
                (t.add if name[1] == "addhn" else t.sub)(x, y)
                for x, y in zip(a, self.words(o[2], lane), strict=True)
            ]
        half = t.join(t.cut(word, at, lane // 2) for word in a)
        self.write(o[0], t.join([t.cut(self.old(o[0][1]), 0, 64), half]) if name[2] else half)

    def moved(self, name: str, o: tuple[Any, ...], lane: int) -> None:
        """Instructions that move lanes, or are alone in their kind."""
        if name in ("uzp1", "uzp2", "zip1", "zip2", "trn1", "trn2"):
            a, b = self.words(o[1], lane), self.words(o[2], lane)
            second, half = name[3] == "2", len(a) // 2
            if name[:3] == "uzp":
                result = (a + b)[second::2]
            elif name[:3] == "zip":
                first = half if second else 0
                result = [word for pair in zip(a[first:], b[first:], strict=True) for word in pair][
                    : 2 * half
                ]
            else:
                result = [
                    word for pair in zip(a[second::2], b[second::2], strict=True) for word in pair
                ]
        elif name == "ext":
            both = t.join([self.vector(o[1]), self.vector(o[2])])
            result = [t.cut(both, 8 * o[3][1], o[0][2])]
        elif name == "tbl":
            table = [word for operand in o[1:-1] for word in self.words(operand, 8)]
            result = [_looked_up(table, at) for at in self.words(o[-1], 8)]
        elif name == "addp":
            each = [word for operand in o[1:] for word in self.words(operand, lane)]
            result = [t.add(each[i], each[i + 1]) for i in range(0, len(each), 2)]
        elif name in ("rev64", "rev32", "rev16"):
            groups = (t.lanes(group, lane) for group in t.lanes(self.vector(o[1]), int(name[3:])))
            result = [word for group in groups for word in reversed(group)]
        elif name in ("umaxv", "uminv", "smaxv", "sminv", "addv"):
            result = [reduce(LANEWISE[name[:-1]], self.words(o[1], o[1][3]))]
        elif name == "xar":
            pairs = zip(self.words(o[1], 64), self.words(o[2], 64), strict=True)
            result = [t.rotated(t.xor(x, y), -o[3][1]) for x, y in pairs]
        else:
            raise NotProved("an instruction that is not modelled")
        self.write(o[0], t.join(result))
