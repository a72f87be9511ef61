"""Vector instructions of x86-64, each as a function of the instruction in execution. See x86.py."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import terms as t
from terms import NotProved, Term

if TYPE_CHECKING:
    from x86 import X86

SIZES = {"b": 8, "w": 16, "d": 32, "q": 64}


@dataclass
class Vector:
    """A vector instruction.

    `name`: without the prefix "v". `bits`: of the destination. `element`: bits for which a mask has one bit.
    `masked`: the mask register, and whether lanes without their bit become zero.
    """

    machine: X86
    name: str
    operands: tuple[Any, ...]
    bits: int
    element: int
    masked: tuple[int, bool] | None
    is_legacy: bool

    @property
    def mask(self) -> Term | None:
        return None if self.masked is None else self.machine.mask(self.masked[0])

    def source(self, index: int, bits: int | None = None) -> Term:
        """An operand; elements of memory that the mask leaves out are not read."""
        operand = self.operands[index]
        mask = self.mask if operand[0] == "m" else None
        return self.machine.vector(operand, bits or self.bits, self.element, mask)

    def parts(self, index: int, width: int | None = None) -> list[Term]:
        return t.lanes(self.source(index), width or self.element)

    def number(self, index: int, width: int | None = None) -> list[int]:
        """The lanes of an operand that must be known."""
        return [self.machine.number(part) for part in self.parts(index, width)]

    def immediate(self) -> int:
        operand = self.operands[-1]
        if operand[0] != "i":
            raise NotProved("a count in a register")
        return int(operand[1]) & 255

    def put(self, words: list[Term] | Term, element: int | None = None) -> None:
        value = words if isinstance(words, Term) else t.join(words)
        width = element or self.element
        self.machine.write(self.operands[0], value, self.is_legacy, width, self.masked)

    def chosen(self) -> list[bool]:
        """The mask's bits, which must be known."""
        mask = self.mask
        if mask is None:
            raise NotProved("a mask is missing")
        return [
            bool(self.machine.number(t.cut(mask, i, 1))) for i in range(self.bits // self.element)
        ]


# --- lanes by themselves


def _multiplied(a: Term, b: Term, widen: Callable[[Term, int], Term]) -> Term:
    """The product of the low halves of two lanes."""
    half = a.width // 2
    return t.mul(widen(t.cut(a, 0, half), a.width), widen(t.cut(b, 0, half), b.width))


LANEWISE: dict[str, Callable[..., Term]] = {
    "padd": t.add,
    "psub": t.sub,
    "pmull": t.mul,
    "pmuld": lambda a, b: _multiplied(a, b, t.extend),
    "pmulud": lambda a, b: _multiplied(a, b, t.widened),
    "pmaxs": lambda a, b: t.mux(t.lt(a, b), b, a),
    "pmins": lambda a, b: t.mux(t.lt(a, b), a, b),
    "pcmpgt": lambda a, b: t.extend(t.lt(b, a), a.width),
    "pcmpeq": lambda a, b: t.extend(t.eq(a, b), a.width),
    "pabs": t.absolute,
}
BITWISE: dict[str, Callable[[Term, Term], Term]] = {
    "pand": t.and_,
    "pandn": lambda a, b: t.and_(t.invert(a), b),
    "por": t.or_,
    "pxor": t.xor,
    "xorp": t.xor,
}
SHIFTS: dict[str, Callable[[Term, int], Term]] = {
    "prol": t.rotated,
    "psll": t.shifted_left,
    "psrl": t.shifted_right,
    "psra": t.shifted_signed,
}
"""By name without the size of the lanes."""


def _lanewise(v: Vector) -> None:
    operation = LANEWISE[v.name[:-1]]
    width = 64 if v.name.startswith("pmul") and v.name[-2:] in ("dq", "ud") else v.element
    operands = (v.parts(i, width) for i in range(1, len(v.operands)))
    v.put([operation(*words) for words in zip(*operands, strict=True)])


def _bitwise(v: Vector) -> None:
    name = v.name if v.name in BITWISE else v.name[:-1]
    if v.operands[1] == v.operands[2] and name in ("pxor", "xorp"):
        v.put(t.const(0, v.bits))
        return
    # Word by word: a word that moves as one stays one.
    pairs = zip(v.parts(1, 64), v.parts(2, 64), strict=True)
    v.put([BITWISE[name](a, b) for a, b in pairs])


def _shift(v: Vector) -> None:
    if v.operands[-1][0] == "i":
        by = v.immediate()
    else:
        by = v.machine.number(t.cut(v.machine.vector(v.operands[-1], 128), 0, 64))
    v.put([SHIFTS[v.name[:-1]](a, min(by, v.element)) for a in v.parts(1)])


def _variable_shift(v: Vector) -> None:
    pairs = zip(v.parts(1), v.number(2), strict=True)
    v.put([SHIFTS[v.name[:-2]](a, by) for a, by in pairs])


def _ternary(v: Vector) -> None:
    operands = (v.parts(i, 64) for i in range(3))
    v.put([_chosen(v.immediate(), *words) for words in zip(*operands, strict=True)])


def _chosen(table: int, a: Term, b: Term, c: Term) -> Term:
    """The function of three words whose value for bits a, b, c is bit 4a + 2b + c of `table`."""
    values = [table >> i & 1 for i in range(8)]
    # Its algebraic normal form: index bits 4, 2, 1 stand for a, b, c.
    for bit in (1, 2, 4):
        values = [v ^ (values[i ^ bit] if i & bit else 0) for i, v in enumerate(values)]
    result = t.const(-values[0], a.width)
    for index in range(1, 8):
        if values[index]:
            product = t.const(-1, a.width)
            for bit, word in ((4, a), (2, b), (1, c)):
                product = t.and_(product, word) if index & bit else product
            result = t.xor(result, product)
    return result


# --- comparisons


COMPARISONS: dict[str, Callable[[Term, Term], Term]] = {
    "gt": lambda a, b: t.lt(b, a),
    "lt": t.lt,
    "ltu": t.below,
    "le": lambda a, b: t.invert(t.lt(b, a)),
    "nle": lambda a, b: t.lt(b, a),
    "nlt": lambda a, b: t.invert(t.lt(a, b)),
    "eq": t.eq,
    "neq": lambda a, b: t.invert(t.eq(a, b)),
}
_COMPARED = re.compile(r"pcmp(gt|ltu|lt|le|eq|nle|nlt|neq)(d|q|b|w)$")


def _compare(v: Vector) -> None:
    """Into a mask register, of which a mask clears bits."""
    named = _COMPARED.match(v.name)
    assert named is not None
    v.bits = next(operand[2] for operand in v.operands if operand[0] == "v")
    v.element = SIZES[named[2]]
    pairs = zip(v.parts(1), v.parts(2), strict=True)
    result = t.join(COMPARISONS[named[1]](a, b) for a, b in pairs)
    if v.mask is not None:
        result = t.and_(result, t.cut(v.mask, 0, result.width))
    v.machine.registers[f"k{v.operands[0][1]}"] = t.widened(result, 64)


def _test(v: Vector) -> None:
    """vptest, and vtestps of the sign bits."""
    a, b = v.source(0), v.source(1)
    both, rest = t.and_(a, b), t.and_(t.invert(a), b)
    if v.name == "testps":
        both, rest = (t.join(t.cut(p, 31, 1) for p in t.lanes(word, 32)) for word in (both, rest))
    v.machine.set_bits(t.eq(both, t.const(0, both.width)), t.eq(rest, t.const(0, rest.width)))


def _signs(v: Vector) -> None:
    """movmskps and others: the sign bits as a number."""
    width = {"s": 32, "d": 64, "b": 8}[v.name[-1]]
    held = v.machine.vector(v.operands[1], v.operands[1][2])
    signs = t.join(t.cut(part, width - 1, 1) for part in t.lanes(held, width))
    v.machine.put(v.operands[0], t.widened(signs, v.operands[0][2]))


# --- moves


_MOVED = re.compile(r"mov(dq[au]|[au]p[sd])(8|16|32|64)?$")


def _move(v: Vector) -> None:
    named = _MOVED.match(v.name)
    assert named is not None
    v.element = int(named[2] or 32)
    for operand in v.operands if named[1][0] == "a" or named[1] == "dqa" else ():
        if operand[0] == "m":
            v.machine.check_alignment(v.machine.address(operand), v.bits // 8)
    v.put(v.source(1))


def _move_one(v: Vector) -> None:
    """vmovd, vmovq, vmovss, vmovsd: the lowest lane; the others become zero, but for movss and movsd of registers."""
    machine, (to, source) = v.machine, v.operands[-2:]
    width = 64 if v.name in ("movq", "movsd") else 32
    if to[0] != "v":
        word = t.cut(machine.vector(source, 128), 0, width)
        machine.put(to, t.widened(word, max(to[2], width)) if to[0] == "r" else word)
        return
    if source[0] == "v":
        word = t.cut(machine.vector(source, 128), 0, width)
        if v.name[3] == "s":
            v.put(t.join([word, t.cut(machine.vector(to, 128), width, 128 - width)]))
            return
    elif source[0] == "r":
        word = t.cut(machine.word(machine.register(source[1])), 0, width)
    else:
        word = machine.word(machine.load(machine.address(source), width // 8))
    v.put(t.widened(word, 128))


def _broadcast(v: Vector) -> None:
    source = v.operands[1]
    width = {"ss": 32, "sd": 64, "28": 128, "x4": 128, "x2": 128}.get(v.name[-2:], v.element)
    if source[0] == "r":
        word = t.cut(v.machine.word(v.machine.register(source[1])), 0, width)
    elif source[0] == "m":
        word = v.machine.word(v.machine.load(v.machine.address(source), width // 8))
    else:
        word = t.cut(v.source(1, 128), 0, width)
    v.put([word] * (v.bits // width))


def _extract(v: Vector) -> None:
    piece = _piece(v.name)
    held = v.machine.vector(v.operands[1], v.operands[1][2])
    word = t.lanes(held, piece)[v.immediate() % (held.width // piece)]
    v.machine.write(v.operands[0], word, False, 64, v.masked)


def _insert(v: Vector) -> None:
    piece = _piece(v.name)
    pieces = t.lanes(v.source(1), piece)
    pieces[v.immediate() % len(pieces)] = v.source(2, piece)
    v.put(pieces)


def _piece(name: str) -> int:
    return 128 if name.endswith(("128", "x2", "32x4")) else 256


def _insert_lane(v: Vector) -> None:
    words = t.lanes(v.source(1, 128), v.element)
    word = v.machine.word(v.machine.get(v.operands[2]))
    words[v.immediate() % len(words)] = t.cut(word, 0, v.element)
    v.put(words)


def _extract_lane(v: Vector) -> None:
    words = t.lanes(v.machine.vector(v.operands[1], 128), v.element)
    v.machine.put(v.operands[0], words[v.immediate() % len(words)])


# --- lanes in another order


def _in_fours(v: Vector, width: int, sources: tuple[int, ...]) -> None:
    """In each group of four lanes, two bits of the immediate say which lane of the source goes to each."""
    order = v.immediate()
    operands = [v.parts(i, width) for i in sources]
    count = v.bits // width
    places = (i // 4 * 4 + (order >> 2 * (i % 4) & 3) for i in range(count))
    v.put([operands[i % 4][at] for i, at in enumerate(places)], width)


def _shuffle_bytes(v: Vector) -> None:
    held = v.parts(1, 8)
    v.put(
        [
            t.const(0, 8) if at & 128 else held[i // 16 * 16 + (at & 15)]
            for i, at in enumerate(v.number(2, 8))
        ],
        8,
    )


def _unpack(v: Vector) -> None:
    kind = v.name.split("pck")[1]
    width = {"bw": 8, "wd": 16, "dq": 32, "qdq": 64, "pd": 64, "ps": 32}[kind[1:]]
    a, b = v.parts(1, width), v.parts(2, width)
    half = 64 // width
    start = half if kind[0] == "h" else 0
    result = []
    for base in range(start, len(a), 2 * half):
        for i in range(base, base + half):
            result += [a[i], b[i]]
    v.put(result)


def _permute(v: Vector) -> None:
    if v.operands[2][0] == "i":
        _in_fours(v, 64, (1, 1, 1, 1))
        return
    words = v.parts(2)
    v.put([words[i % len(words)] for i in v.number(1)])


def _permute_two(v: Vector) -> None:
    table, index = (1, 0) if v.name.startswith("permi2") else (0, 1)
    both = v.parts(table) + v.parts(2)
    v.put([both[i % len(both)] for i in v.number(index)])


def _permute_halves(v: Vector) -> None:
    halves = v.parts(1, 128) + v.parts(2, 128)
    order = v.immediate()
    v.put([t.const(0, 128) if order >> s & 8 else halves[order >> s & 3] for s in (0, 4)])


def _shuffle_pieces(v: Vector) -> None:
    order, a, b = v.immediate(), v.parts(1, 128), v.parts(2, 128)
    count, step = len(a), 2 if len(a) == 4 else 1
    pieces = [(a if i < count // 2 else b)[order >> step * i & (count - 1)] for i in range(count)]
    v.put(pieces, 64 if "64" in v.name else 32)


def _blend(v: Vector) -> None:
    order = v.immediate()
    pairs = zip(v.parts(1, 32), v.parts(2, 32), strict=True)
    v.put([b if order >> i & 1 else a for i, (a, b) in enumerate(pairs)])


def _blend_by_mask(v: Vector) -> None:
    """A mask chooses between two operands, not between the result and what was there."""
    mask = v.mask
    assert mask is not None and v.masked is not None
    zero = t.const(0, v.element)
    pairs = zip(v.parts(1), v.parts(2), strict=True)
    words = [
        t.mux(t.cut(mask, i, 1), b, zero if v.masked[1] else a) for i, (a, b) in enumerate(pairs)
    ]
    v.masked = None
    v.put(words)


def _expand(v: Vector) -> None:
    chosen, machine, source = v.chosen(), v.machine, v.operands[1]
    if source[0] == "m":
        at = machine.address(source)
        size = v.element // 8
        places = (machine.add(at, t.const(i * size, 64)) for i in range(sum(chosen)))
        taken = iter([machine.word(machine.load(place, size)) for place in places])
    else:
        taken = iter(v.parts(1)[: sum(chosen)])
    assert v.masked is not None
    old = [t.const(0, v.element)] * len(chosen) if v.masked[1] else v.parts(0)
    v.put([next(taken) if bit else word for bit, word in zip(chosen, old, strict=True)])


def _compress(v: Vector) -> None:
    """vpcompressd and vpcompressq into a register: the mask chooses words of the source, not places."""
    words = [word for bit, word in zip(v.chosen(), v.parts(1), strict=True) if bit]
    assert v.masked is not None and v.operands[0][0] == "v"
    count = v.bits // v.element
    rest = [t.const(0, v.element)] * count if v.masked[1] else v.parts(0)
    v.masked = None
    v.put(words + rest[len(words) :])


# --- lanes of another width


def _widen(v: Vector) -> None:
    small, large = (SIZES[letter] for letter in v.name[6:8])
    count, source = v.bits // large, v.operands[1]
    if source[0] == "v":
        held = t.cut(v.machine.vector(source, max(128, count * small)), 0, count * small)
    else:
        held = v.machine.word(v.machine.load(v.machine.address(source), count * small // 8))
    v.put([t.widened(part, large) for part in t.lanes(held, small)], large)


def _narrow(v: Vector) -> None:
    """vpmovdb."""
    held = v.machine.vector(v.operands[1], v.operands[1][2])
    narrow = t.join(t.cut(part, 0, 8) for part in t.lanes(held, 32))
    if v.operands[0][0] == "v":
        narrow = t.widened(narrow, max(128, narrow.width))
    v.put(narrow, 8)


def _saturated(a: Term, width: int, low: int, high: int) -> Term:
    """`a`, brought into bounds, in `width` bits."""
    over = t.lt(t.const(high, a.width), a)
    under = t.lt(a, t.const(low, a.width))
    inside = t.mux(under, t.const(low, width), t.cut(a, 0, width))
    return t.mux(over, t.const(high, width), inside)


def _pack(v: Vector) -> None:
    wide = 32 if v.name.endswith("dw") else 16
    half = wide // 2
    low, high = (0, (1 << half) - 1)
    if v.name[4] == "s":
        low, high = -(1 << (half - 1)), (1 << (half - 1)) - 1
    pieces = zip(v.parts(1, 128), v.parts(2, 128), strict=True)
    words = (part for both in pieces for piece in both for part in t.lanes(piece, wide))
    v.put([_saturated(word, half, low, high) for word in words])


def _multiply_add(v: Vector) -> None:
    """Sums of products of neighbours: vpmaddubsw of unsigned and signed bytes, vpmaddwd of signed words."""
    is_bytes = v.name == "pmaddubsw"
    widen = t.widened if is_bytes else t.extend
    pairs = zip(*(v.parts(i, 8 if is_bytes else 16) for i in (1, 2)), strict=True)
    products = [t.mul(widen(a, 32), t.extend(b, 32)) for a, b in pairs]
    sums = [t.add(products[i], products[i + 1]) for i in range(0, len(products), 2)]
    v.put([_saturated(s, 16, -(1 << 15), (1 << 15) - 1) for s in sums] if is_bytes else sums)


FAMILIES: tuple[tuple[re.Pattern[str], Callable[[Vector], None]], ...] = tuple(
    (re.compile(pattern), function)
    for pattern, function in (
        (r"mov(dq[au]|[au]p[sd])(8|16|32|64)?", _move),
        (r"mov(d|q|ss|sd)", _move_one),
        (r"(pand|pandn|por|pxor)[dq]?|xorp[sd]", _bitwise),
        (r"(prol|psll|psrl|psra)[wdq]", _shift),
        (r"(prol|psll|psrl|psra)v[wdq]", _variable_shift),
        (r"pternlog[dq]", _ternary),
        (r"(padd|psub|pmull|pmaxs|pmins|pcmpgt|pcmpeq|pabs)[bwdq]|pmulu?dq", _lanewise),
        (r"ptest|testps", _test),
        (r"movmskp[sd]|pmovmskb", _signs),
        (r"p?broadcast\w+", _broadcast),
        (r"extract\w+", _extract),
        (r"insert\w+", _insert),
        (r"pinsr[dq]", _insert_lane),
        (r"pextr[dq]", _extract_lane),
        (r"movlhps", lambda v: v.put([t.cut(v.source(i, 128), 0, 64) for i in (-2, -1)])),
        (r"pshufd", lambda v: _in_fours(v, 32, (1, 1, 1, 1))),
        (r"shufps", lambda v: _in_fours(v, 32, (1, 1, 2, 2))),
        (r"pshufb", _shuffle_bytes),
        (r"p?unpck[lh]\w+", _unpack),
        (r"perm[dwq]", _permute),
        (r"perm[it]2[dq]", _permute_two),
        (r"perm2i128", _permute_halves),
        (r"shuf[if](64x2|32x4)", _shuffle_pieces),
        (r"pblendd|blendps", _blend),
        (r"pblendm[bdq]", _blend_by_mask),
        (r"pexpand[dq]", _expand),
        (r"pcompress[dq]", _compress),
        (r"pmovzx\w+", _widen),
        (r"pmovdb", _narrow),
        (r"pack[us]s(dw|wb)", _pack),
        (r"pmaddubsw|pmaddwd", _multiply_add),
    )
)


def execute(
    machine: X86, name: str, operands: tuple[Any, ...], masked: tuple[int, bool] | None
) -> None:
    """Execute an instruction with a vector operand."""
    is_legacy, plain = name[0] != "v", name.removeprefix("v")
    if is_legacy and operands[0][0] == "v" and not re.match(r"mov|pshufd", name):
        # The destination is the first source.
        operands = (operands[0], *operands)
    bits = next(operand[2] for operand in operands if operand[0] == "v")
    element = SIZES.get(plain[-1], 32)
    v = Vector(machine, plain, operands, bits, element, masked, is_legacy)
    if operands[0][0] == "k":
        _compare(v)
        return
    for pattern, function in FAMILIES:
        if pattern.fullmatch(plain):
            function(v)
            return
    raise NotProved("an instruction that is not modelled")
