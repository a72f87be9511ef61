"""The compiled kernels against FIPS 204, for all inputs of their contracts (backend/engine.rs)."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from itertools import product as combinations
from typing import Any

import compiled
import elf
import numpy as np
import terms as t
from compiled import Code, Statement, code_of
from machine import Machine, Pointer, Region
from residues import Q, Residue, Residues, plus, power
from terms import NotProved, Term

N = 256
CHUNK = 1 << 18
INT_MAX = (1 << 31) - 1
GAMMA2 = ((Q - 1) // 88, (Q - 1) // 32)
ARGUMENTS = {
    "x86_64": ("rdi", "rsi", "rdx", "rcx", "r8", "r9"),
    "aarch64": tuple(f"x{n}" for n in range(8)),
}


# --- operands


@dataclass(frozen=True)
class Operand:
    """An array in memory: `count` unknowns of `bits` bits in [low, high], from which its content is made.

    `length`: a second argument with the number of its elements, as a slice has.
    """

    name: str
    count: int
    low: int
    high: int
    bits: int = 32
    content: Callable[[list[Term]], list[Term]] = list
    size: int = 4 * N
    align: int = 64
    length: int | None = None
    is_read_only: bool = False
    calm: int | None = None
    """Below a bound that is tested: half of the draws have no number further from 0, or one."""

    def unknowns(self) -> list[Term]:
        return [
            t.var(f"{self.name}[{i}]", self.bits, self.low, self.high) for i in range(self.count)
        ]

    def draw(self, source: random.Random) -> list[Term]:
        low, high = self.low, self.high
        is_calm = self.calm is not None and source.random() < 0.75
        if is_calm and self.calm is not None:
            low, high = -self.calm, self.calm
        numbers = []
        for _ in range(self.count):
            kind = source.random()
            near = (max(low, -3), min(high, 3)) if low <= 3 and high >= -3 else (low, high)
            corner = source.choice((low, high, max(low, min(high, 0))))
            number = (
                corner if kind < 0.1 else source.randint(*(near if kind < 0.2 else (low, high)))
            )
            numbers.append(number)
        if is_calm and source.random() < 0.67:
            numbers[source.randrange(self.count)] = source.choice((low - 1, high + 1))
        return [t.const(number, self.bits) for number in numbers]


@dataclass(frozen=True)
class Room:
    """Memory that the kernel fills."""

    name: str
    size: int = 4 * N
    align: int = 64
    length: int | None = None


@dataclass(frozen=True)
class Number:
    """An argument in a register; what is above its bits is not known."""

    value: int
    bits: int = 64


Argument = Operand | Room | Number


@dataclass
class Run:
    """A function's inputs and what it left."""

    inputs: dict[str, list[Term]]
    machine: Machine

    def words(self, region: str, bits: int, count: int) -> list[Term]:
        size = bits // 8
        places = (Pointer(region, size * i) for i in range(count))
        return [self.machine.word(self.machine.load(place, size)) for place in places]

    def bits(self, region: str, size: int) -> Term:
        return t.join(self.words(region, 8, size))

    def returned(self) -> Term:
        """The boolean that was returned."""
        name = {"X86": "rax", "Arm": "x0"}[type(self.machine).__name__]
        byte = t.cut(self.machine.word(self.machine.registers[name]), 0, 8)
        if t.cut(byte, 1, 7).most:
            raise NotProved("a boolean that is neither 0 nor 1")
        return t.cut(byte, 0, 1)

    def answer(self) -> bool:
        """The boolean that a run on numbers returned."""
        return bool(numbers([self.returned()])[0])


class Kernel(Statement):
    """A statement about a function of the trait `Kernels`.

    `check`: raises NotProved unless it holds for all inputs of a run on unknowns. `is_right`: whether it holds for
    a run on numbers. `element`: a byte of a read-only operand at a place that an input tells, for unknowns.
    """

    def __init__(
        self,
        function: str,
        variant: str,
        arguments: tuple[Argument, ...],
        check: Callable[[Run], None],
        is_right: Callable[[Run], bool],
        element: Callable[[str, Term, int], Term] | None = None,
    ) -> None:
        self.function, self.variant = function, variant
        self.name = f"{function} {variant}".strip()
        self.arguments, self.check, self.is_right, self.element = (
            arguments,
            check,
            is_right,
            element,
        )

    def after(self, first: Number | None) -> Kernel:
        """Return the same statement about a function with one more argument, before the others."""
        if first is None:
            return self
        arguments = (first, *self.arguments)
        return Kernel(
            self.function, self.variant, arguments, self.check, self.is_right, self.element
        )

    def prove(self, code: Code, stack: int) -> Machine:
        run = self.execute(code, stack, None)
        self.check(run)
        return run.machine

    def holds(self, code: Code, source: random.Random) -> bool:
        return self.is_right(self.execute(code, code.stacks()[0], source))

    def execute(self, code: Code, stack: int, source: random.Random | None) -> Run:
        """Run a function on unknowns, or on numbers drawn from `source`."""
        machine = code.start(stack)
        registers = list(ARGUMENTS[code.machine])
        inputs: dict[str, list[Term]] = {}
        arguments: list[Any] = []
        for argument in self.arguments:
            if isinstance(argument, Number):
                word = t.const(argument.value, argument.bits)
                arguments.append(
                    t.join([word, machine.fresh(64 - argument.bits)])
                    if argument.bits < 64
                    else word
                )
                continue
            content: list[Term] = []
            region = Region(argument.size, argument.align)
            if isinstance(argument, Operand):
                inputs[argument.name] = argument.draw(source) if source else argument.unknowns()
                content = argument.content(inputs[argument.name])
                region = Region(argument.size, argument.align, argument.is_read_only)
            arguments.append(machine.operand(argument.name, region, content))
            if argument.length is not None:
                arguments.append(t.const(argument.length, 64))
        for place, argued in enumerate(arguments):
            if place < len(registers):
                machine.registers[registers[place]] = argued
            else:
                machine.put_argument(
                    machine.above() - machine.stack + 8 * (place - len(registers)), argued
                )
        if self.element is not None and source is None:
            machine.element = self.element
        machine.run()
        machine.check_return()
        return Run(inputs, machine)


# --- means of proof


def numbers(terms: Iterable[Term]) -> Any:
    """The signed values of constants; NotProved where a term is none."""
    terms = list(terms)
    if not all(term.is_const for term in terms):
        raise NotProved("a result of a run on numbers is not known")
    return np.array([t.signed(term.args[0], term.width) for term in terms], dtype=object)


def agree(terms: list[Term], unknown: Term, meaning: Callable[[Any], list[Any]]) -> bool:
    """Return whether the terms have the signed values that `meaning` gives, for each value of one unknown."""
    low, high = unknown.args[1:]
    for start in range(low, high + 1, CHUNK):
        values = np.arange(start, min(start + CHUNK, high + 1), dtype=np.int64)
        mask = np.uint64((1 << unknown.width) - 1)
        results = t.values(terms, {unknown: values.view(np.uint64) & mask})
        right = meaning(values)
        if len(right) != len(results):
            return False
        for term, result, one in zip(terms, results, right, strict=True):
            if not np.array_equal(t.as_signed(result, term.width), one):
                return False
    return True


_AGREED: dict[tuple[Any, ...], bool] = {}
"""Verdicts of whole domains, by the terms' structure: the same term on another lane or backend is decided once."""


def shape(terms: Iterable[Term], unknowns: Iterable[Term]) -> tuple[Any, ...]:
    """The structure of terms in which the unknowns are numbered."""
    numbered: dict[Any, int] = {}

    def number(key: Any) -> int:
        return numbered.setdefault(key, len(numbered))

    terms = list(terms)
    done = {u: number(("unknown", i, u.width, *u.args[1:])) for i, u in enumerate(unknowns)}
    for term in t.ordered(terms, done):
        own = tuple(a for a in term.args if isinstance(a, int | str)) if term.op != "sum" else ()
        factors = (term.args[0], tuple(c for _, c in term.args[1])) if term.op == "sum" else ()
        parts = tuple(done[part] for part in t.children(term))
        done[term] = number((term.op, term.width, own, factors, parts))
    return (*numbered, *(done[term] for term in terms))


def prove_each(
    name: str, lanes: list[list[Term]], unknowns: list[Term], meaning: Callable[[Any], list[Any]]
) -> None:
    """Each lane's terms have their meaning for every value of the lane's unknown, by evaluation of them all."""
    for i, (terms, unknown) in enumerate(zip(lanes, unknowns, strict=True)):
        if not t.unknowns(terms) <= {unknown}:
            raise NotProved(f"coefficient {i} depends on others")
        key = (name, shape(terms, [unknown]))
        if key not in _AGREED:
            _AGREED[key] = agree(terms, unknown, meaning)
        if not _AGREED[key]:
            raise NotProved(f"coefficient {i} is wrong for some input")


def any_of(term: Term) -> list[Term]:
    """Bits of which one is set if and only if a term is not zero."""
    tests: dict[Term, None] = {}
    stack = [term]
    while stack:
        top = stack.pop()
        op, args = top.op, top.args
        if op == "const":
            if top.most:
                tests[t.TRUE] = None
        elif op in ("extend", "join") or (op == "or" and top.width):
            stack += args
        elif op == "mux" and args[1].op == "const" and args[1].most:
            stack += [args[0], args[2]]
        elif op == "mux" and args[2].op == "const" and args[2].most:
            stack += [t.invert(args[0]), args[1]]
        elif op == "xor" and top.width == 1 and args[1] is t.TRUE and args[0].op == "eq":
            if args[0].args[1].most:
                raise NotProved("a bit that is no sum of tests")
            stack.append(args[0].args[0])
        elif op == "cut" and args[0].op == "or":
            stack += [t.cut(part, args[1], top.width) for part in args[0].args]
        elif op == "lt" and _is_maximum(args[1]):
            stack += [t.lt(args[0], part) for part in args[1].args[1:]]
        elif top.width == 1:
            tests[top] = None
        else:
            raise NotProved(f"a test of parts: {op}")
    return list(tests)


def _is_maximum(a: Term) -> bool:
    return a.op == "mux" and a.args[0].op == "lt" and a.args[0].args == (a.args[2], a.args[1])


def polynomial(name: str, low: int, high: int, **more: Any) -> Operand:
    return Operand(name, N, low, high, **more)


def below(name: str, bound: int, **more: Any) -> Operand:
    return polynomial(name, 1 - bound, bound - 1, **more)


def pointwise(
    function: str,
    variant: str,
    arguments: tuple[Argument, ...],
    meaning: Callable[[Any], list[Any]],
    outputs: tuple[str, ...] = ("p",),
) -> Kernel:
    """A kernel that takes one polynomial p, coefficient by coefficient; `meaning`: of the outputs."""
    unknown = arguments[0].name  # type: ignore[union-attr]

    def lanes(run: Run) -> list[list[Term]]:
        return [
            list(lane) for lane in zip(*(run.words(name, 32, N) for name in outputs), strict=True)
        ]

    def prove(run: Run) -> None:
        prove_each(f"{function} {variant}", lanes(run), run.inputs[unknown], meaning)

    def holds(run: Run) -> bool:
        right = meaning(numbers(run.inputs[unknown]).astype(np.int64))
        return all(
            np.array_equal(numbers(run.words(name, 32, N)), values)
            for name, values in zip(outputs, right, strict=True)
        )

    return Kernel(function, variant, arguments, prove, holds)


# --- FIPS 204, section 7.4


def centered(x: Any, modulus: int) -> Any:
    """mod±: in (−modulus/2, modulus/2]."""
    x = x % modulus
    return np.where(x > modulus // 2, x - modulus, x)


def power2round(r: Any) -> list[Any]:
    """Algorithm 35: (r1, r0)."""
    r = r % Q
    r0 = centered(r, 1 << 13)
    return [(r - r0) >> 13, r0]


def decompose(gamma2: int, r: Any) -> list[Any]:
    """Algorithm 36: (r1, r0)."""
    r = r % Q
    r0 = centered(r, 2 * gamma2)
    wraps = r - r0 == Q - 1
    return [np.where(wraps, 0, (r - r0) // (2 * gamma2)), np.where(wraps, r0 - 1, r0)]


def use_hint(gamma2: int, h: int, r: Any) -> Any:
    """Algorithm 40."""
    m = (Q - 1) // (2 * gamma2)
    r1, r0 = decompose(gamma2, r)
    if h == 0:
        return r1
    return np.where(r0 > 0, (r1 + 1) % m, (r1 - 1) % m)


def make_hint(gamma2: int, w1: int, low: Any) -> Any:
    """Algorithm 39, MakeHint(−ct0, w − cs2 + ct0), where w − cs2 = w1·2γ2 + (low − ct0) and w1 = HighBits(w − cs2).

    The hint is then 1 exactly if HighBits(w1·2γ2 + low) is not w1.
    """
    return (decompose(gamma2, w1 * 2 * gamma2 + low)[0] != w1).astype(np.int64)


def rounding() -> Iterable[Kernel]:
    """Kernels of Power2Round, Decompose and the hints."""
    p = below("p", Q)
    yield pointwise(
        "power2round", "", (p, Room("high")), lambda r: power2round(r), outputs=("high", "p")
    )
    for gamma2 in GAMMA2:
        variant = f"γ2 = (q − 1)/{(Q - 1) // gamma2}"
        meaning = partial(decompose, gamma2)
        yield pointwise("split", variant, (p, Room("high")), meaning, outputs=("high", "p"))
        m = (Q - 1) // (2 * gamma2)
        hints = polynomial("h", 0, 1)
        yield two_inputs("use_hint", variant, (p, hints), partial(use_hint, gamma2))
        low = polynomial("p", -2 * gamma2, 2 * gamma2)
        high = polynomial("h", 0, m - 1)
        yield two_inputs("make_hint", variant, (low, high), partial(make_hint, gamma2))


def _one(meaning: Callable[[int, Any], Any], value: int, r: Any) -> list[Any]:
    return [meaning(value, r)]


def two_inputs(
    function: str,
    variant: str,
    arguments: tuple[Operand, Operand],
    meaning: Callable[[int, Any], Any],
) -> Kernel:
    """A kernel of p and h, coefficient by coefficient, that writes to p; `meaning`: of a value of h, and p's."""
    h = arguments[1]

    def prove(run: Run) -> None:
        result = run.words("p", 32, N)
        for value in range(h.low, h.high + 1):
            known = {unknown: t.const(value, 32) for unknown in run.inputs["h"]}
            lanes = [[term] for term in t.substituted(result, known)]
            prove_each(
                f"{function} {variant} {value}",
                lanes,
                run.inputs["p"],
                partial(_one, meaning, value),
            )

    def holds(run: Run) -> bool:
        result = numbers(run.words("p", 32, N))
        pairs = zip(numbers(run.inputs["h"]), numbers(run.inputs["p"]), strict=True)
        return all(
            meaning(int(v), np.int64(r)) == x for (v, r), x in zip(pairs, result, strict=True)
        )

    return Kernel(function, variant, arguments, prove, holds)


# --- norms


def reduced(x: Any) -> Any:
    """`rounding::reduce`: congruent to x, near 0, and mod± q where that is small."""
    return x - ((x + (1 << 22)) >> 23) * Q


def check_reduced() -> None:
    """NotProved unless `reduced` is what it says for all x in [−2q, 2q]."""
    for start in range(-2 * Q, 2 * Q + 1, CHUNK):
        x = np.arange(start, min(start + CHUNK, 2 * Q + 1), dtype=np.int64)
        r, small = reduced(x), centered(x, Q)
        is_small = abs(small) < 1 << 21
        if not (np.all((r - x) % Q == 0) and np.all(abs(r) <= (1 << 22) + (1 << 14))):
            raise NotProved("a reduced number is another or too large")
        if not np.array_equal(r[is_small], small[is_small]):
            raise NotProved("a number that is small modulo q is not centered")


BOUNDS = tuple(
    sorted({gamma1 - beta for gamma1, beta in ((1 << 17, 78), (1 << 19, 196), (1 << 19, 120))}
           | {gamma2 - beta for gamma2, beta in ((GAMMA2[0], 78), (GAMMA2[1], 196), (GAMMA2[1], 120))}
           | set(GAMMA2))
)  # fmt: skip


def prove_norm(bit: Term, tested: list[Term], bound: int, low: int, high: int) -> None:
    """The bit is set if and only if some of the unknowns `tested`, in [low, high], is `bound` or more from 0."""
    rest = set(range(N))
    for test in any_of(bit):
        unknown = _only(t.unknowns([test]), tested)
        i = tested.index(unknown)
        rest.discard(i)
        for first, last, right in (
            (low, -bound, t.TRUE), (1 - bound, bound - 1, t.FALSE), (bound, high, t.TRUE),
        ):  # fmt: skip
            if first <= last:
                part = t.var("part", unknown.width, max(first, low), min(last, high))
                if t.substituted([test], {unknown: part})[0] is not right:
                    raise NotProved(f"the test of coefficient {i} is wrong from {first} to {last}")
    if rest:
        raise NotProved(f"coefficients are not tested: {len(rest)}")


def _only(inputs: set[Term], tested: list[Term]) -> Term:
    """Return the one unknown that a test depends on. NotProved where there are others, or none."""
    one = inputs & set(tested)
    if len(one) != 1:
        raise NotProved(f"a test of {len(one)} coefficients")
    return one.pop()


def norms() -> Iterable[Kernel]:
    """`exceeds` and `center`."""
    for bound in BOUNDS:
        yield Kernel(
            "exceeds", f"bound {bound}", (polynomial("p", -INT_MAX, INT_MAX, calm=bound - 1), Number(bound, 32)),
            partial(_prove_exceeds, bound), partial(_exceeds_holds, bound),
        )  # fmt: skip
        yield Kernel(
            "center", f"bound {bound}", (polynomial("p", -2 * Q, 2 * Q, calm=bound - 1), Number(bound, 32)),
            partial(_prove_center, bound), partial(_center_holds, bound),
        )  # fmt: skip


def _prove_exceeds(bound: int, run: Run) -> None:
    prove_norm(run.returned(), run.inputs["p"], bound, -INT_MAX, INT_MAX)


def _exceeds_holds(bound: int, run: Run) -> bool:
    return run.answer() == any(abs(numbers(run.inputs["p"])) >= bound)


def _prove_center(bound: int, run: Run) -> None:
    unknowns = run.inputs["p"]
    lanes = [[term] for term in run.words("p", 32, N)]
    prove_each("center", lanes, unknowns, lambda x: [reduced(x)])
    tests: dict[Term, list[Term]] = {unknown: [] for unknown in unknowns}
    for test in any_of(run.returned()):
        tests[_only(t.unknowns([test]), unknowns)].append(test)
    prove_each(
        f"center {bound}",
        list(tests.values()),
        unknowns,
        lambda x: [-(abs(reduced(x)) >= bound).astype(np.int64)],
    )


def _center_holds(bound: int, run: Run) -> bool:
    x = reduced(numbers(run.inputs["p"]))
    is_right = np.array_equal(numbers(run.words("p", 32, N)), x)
    return is_right and run.answer() == any(abs(x) >= bound)


def addition() -> Kernel:
    """`add_center`: the sum, reduced."""

    def prove(run: Run) -> None:
        a, b = run.inputs["p"], run.inputs["b"]
        sums = [t.var(f"sum[{i}]", 32, -2 * Q, 2 * Q) for i in range(N)]
        replaced = {x: t.sub(s, y) for x, y, s in zip(a, b, sums, strict=True)}
        lanes = [[term] for term in t.substituted(run.words("p", 32, N), replaced)]
        prove_each("add_center", lanes, sums, lambda x: [reduced(x)])

    def holds(run: Run) -> bool:
        total = numbers(run.inputs["p"]) + numbers(run.inputs["b"])
        return np.array_equal(numbers(run.words("p", 32, N)), reduced(total))

    arguments = (polynomial("p", -Q, Q), polynomial("b", -Q, Q))
    return Kernel("add_center", "", arguments, prove, holds)


# --- FIPS 204, sections 2.5 and 7.5


def zeta(i: int, exponent: int) -> int:
    """ζ^((2·BitRev8(i) + 1)·exponent)."""
    return power(1753, (2 * int(f"{i:08b}"[::-1], 2) + 1) * exponent)


def _check_residues(terms: list[Term], right: Callable[[int], Residue], bound: int) -> None:
    known = Residues()
    for i, term in enumerate(terms):
        if not -bound < term.low <= term.high < bound:
            raise NotProved(f"coefficient {i} is in [{term.low}, {term.high}], beyond {bound}")
        if known.residues([term])[0] != right(i):
            raise NotProved(f"coefficient {i} is another number modulo q")


def _congruent(values: Any, right: Any, bound: int) -> bool:
    return bool(np.all((values - right) % Q == 0) and np.all(abs(values) < bound))


FORWARD = np.array([[zeta(i, j) for j in range(N)] for i in range(N)], dtype=object)
BACK = np.array(
    [[zeta(i, 512 - j) * power(256, -1) * (1 << 32) % Q for i in range(N)] for j in range(N)],
    dtype=object,
)


def transform(function: str, matrix: Any, taken: Operand, bound: int) -> Kernel:
    """The kernel multiplies with a matrix modulo q."""

    def prove(run: Run) -> None:
        unknowns = run.inputs["p"]

        def right(i: int) -> Residue:
            return {
                (unknown,): int(factor) for unknown, factor in zip(unknowns, matrix[i], strict=True)
            }

        _check_residues(run.words("p", 32, N), right, bound)

    def holds(run: Run) -> bool:
        right = matrix.dot(numbers(run.inputs["p"]))
        return _congruent(numbers(run.words("p", 32, N)), right, bound)

    return Kernel(function, "", (taken,), prove, holds)


def products(function: str, length: int) -> Kernel:
    """`dot`, `dot_minus` and `product`: a sum of products times 2^−32."""
    scale = power(2, -32)
    if function == "product":
        pairs = [("a", "b", 1)]
        arguments: tuple[Argument, ...] = (below("a", 10 * Q), below("b", 10 * Q), Room("p"))
    else:
        row = Operand("row", length * N, 0, Q - 1, size=4 * N * length, length=length)
        pairs = [("row", "v", 1)]
        arguments = (row, replace(row, name="v", low=1 - 10 * Q, high=10 * Q - 1))
        if function == "dot_minus":
            arguments += (below("c", 10 * Q), below("t", 10 * Q))
            pairs.append(("c", "t", -1))
        arguments += (Room("p"),)

    def prove(run: Run) -> None:
        def right(i: int) -> Residue:
            result: Residue = {}
            for a, b, factor in pairs:
                for x, y in zip(run.inputs[a][i::N], run.inputs[b][i::N], strict=True):
                    pair = (x, y) if x.number < y.number else (y, x)
                    plus(result, {pair: scale}, factor)
            return result

        _check_residues(run.words("p", 32, N), right, Q)

    def holds(run: Run) -> bool:
        total: Any = 0
        for a, b, factor in pairs:
            terms = numbers(run.inputs[a]) * numbers(run.inputs[b])
            total = total + factor * terms.reshape(-1, N).sum(axis=0) * scale
        return _congruent(numbers(run.words("p", 32, N)), total, Q)

    return Kernel(function, f"{length} products" if length else "", arguments, prove, holds)


# --- FIPS 204, section 7.1

SAME, BELOW, SCALED = 0, 1, 2
PACKED = (
    (3, BELOW, 2), (4, BELOW, 4), (4, SAME, 0), (6, SAME, 0), (10, SAME, 0), (13, BELOW, 1 << 12),
    (18, BELOW, 1 << 17), (20, BELOW, 1 << 19), (1, SAME, 0),
)  # fmt: skip
UNPACKED = (
    (3, BELOW, 2), (4, BELOW, 4), (10, SCALED, 0), (13, BELOW, 1 << 12), (18, BELOW, 1 << 17), (20, BELOW, 1 << 19),
)  # fmt: skip
"""Widths in bits, what a coefficient is, and the number that the string's is subtracted from."""


def _coefficient(kind: int, top: int, number: Term) -> Term:
    """A coefficient from its number in a string (kernels/lanes.rs, `Map`)."""
    wide = t.widened(number, 32)
    if kind == BELOW:
        return t.sub(t.const(top, 32), wide)
    return t.scaled(wide, 1 << 13) if kind == SCALED else wide


def _coefficients(kind: int, top: int, numbers: list[Term]) -> list[Term]:
    return [_coefficient(kind, top, number) for number in numbers]


def packing() -> Iterable[Kernel]:
    """BitPack and SimpleBitPack, and back."""
    for bits, kind, top in PACKED:
        p = Operand(
            "p", N, -(1 << (bits - 1)), (1 << (bits - 1)) - 1, bits,
            partial(_coefficients, kind, top),
        )  # fmt: skip
        arguments = (
            Number(bits), p, Number(kind, 32), Number(top, 32), Room("out", 32 * bits, 1, length=32 * bits),
        )  # fmt: skip
        statement = partial(_is_string, bits)
        yield Kernel(
            "pack",
            f"{bits} bits, {_MAPS[kind]}",
            arguments,
            partial(_require, statement),
            statement,
        )
    for bits, kind, top in UNPACKED:
        source = Operand(
            "string", N, -(1 << (bits - 1)), (1 << (bits - 1)) - 1, bits,
            lambda unknowns: t.lanes(t.join(unknowns), 8), 32 * bits, 1, length=32 * bits,
        )  # fmt: skip
        statement = partial(_is_polynomial, kind, top)
        arguments = (Number(bits), source, Number(kind, 32), Number(top, 32), Room("p"))
        yield Kernel(
            "unpack",
            f"{bits} bits, {_MAPS[kind]}",
            arguments,
            partial(_require, statement),
            statement,
        )


_MAPS = ("as it is", "below a bound", "times 2^d")


def _require(statement: Callable[[Run], bool], run: Run) -> None:
    if not statement(run):
        raise NotProved("the result is another")


def _is_string(bits: int, run: Run) -> bool:
    return run.bits("out", 32 * bits) is t.join(run.inputs["p"])


def _is_polynomial(kind: int, top: int, run: Run) -> bool:
    return run.words("p", 32, N) == [
        _coefficient(kind, top, number) for number in run.inputs["string"]
    ]


# --- products with the challenge


def small() -> Iterable[Kernel]:
    """`small_set`: η minus and plus each coefficient, as bytes."""
    for eta in (2, 4):
        yield Kernel(
            "small_set", f"η = {eta}",
            (polynomial("p", -eta, eta), Number(eta, 32), Room("small", 3 * N)),
            partial(_require, partial(_is_small, eta)), partial(_is_small, eta),
        )  # fmt: skip


def _is_small(eta: int, run: Run) -> bool:
    def byte(x: Term, sign: int) -> Term:
        return t.cut(t.add(t.const(eta, 32), t.scaled(x, sign)), 0, 8)

    p = run.inputs["p"]
    minus = [byte(x, -1) for x in p]
    return run.words("small", 8, 3 * N) == minus + [byte(x, 1) for x in p] + minus


@dataclass(frozen=True)
class Challenge:
    """c has τ terms; s has coefficients in [−η, η]; a is at most `most` from 0."""

    tau: int
    eta: int
    most: int
    bound: int
    is_subtracted: bool


def combinations_of_c() -> Iterable[Kernel]:
    """`combine`: a plus or minus c·s, and its norm's test."""
    for (tau, eta, gamma1, gamma2), is_subtracted in combinations(
        ((39, 2, 1 << 17, GAMMA2[0]), (49, 4, 1 << 19, GAMMA2[1]), (60, 2, 1 << 19, GAMMA2[1])),
        (False, True),
    ):
        most = gamma2 if is_subtracted else gamma1
        c = Challenge(tau, eta, most, most - tau * eta, is_subtracted)
        arguments = (
            Operand("c", tau, 1, 2 * N, 16, size=2 * tau, align=2),
            Operand("s", 3 * N, 0, 2 * eta, 8, size=3 * N, is_read_only=True),
            polynomial("p", -most, most, calm=c.bound - 1 - tau * eta // 8),
            Number(c.bound, 32),
        )
        yield Kernel(
            "combine", f"τ = {tau}, {'subtracting' if is_subtracted else 'adding'}", arguments,
            partial(_prove_combined, c), partial(_combined_holds, c), partial(_element, eta),
        )  # fmt: skip


def _element(eta: int, region: str, index: Term, offset: int) -> Term:
    """Byte number index + offset of s."""
    return t.var(f"{region}[{index.number} + {offset}]", 8, 0, 2 * eta)


def _product(c: Challenge, run: Run, i: int) -> Term:
    """Coefficient i of c·s, with β more for each term's η."""
    places = (t.widened(offset, 64) for offset in run.inputs["c"])
    terms = [t.widened(_element(c.eta, "s", place, i), 32) for place in places]
    return t.total(-c.tau * c.eta, terms)


def _prove_combined(c: Challenge, run: Run) -> None:
    a = run.inputs["p"]
    sign = -1 if c.is_subtracted else 1
    sums = [t.scaled(_product(c, run, i), sign) for i in range(N)]
    if run.words("p", 32, N) != [t.add(x, s) for x, s in zip(a, sums, strict=True)]:
        raise NotProved("the result is not a plus or minus c·s")
    most = c.most + c.tau * c.eta
    results = [t.var(f"result[{i}]", 32, -most, most) for i in range(N)]
    replaced = {x: t.sub(y, s) for x, y, s in zip(a, results, sums, strict=True)}
    (bit,) = t.substituted([run.returned()], replaced)
    prove_norm(bit, results, c.bound, -most, most)


def _combined_holds(c: Challenge, run: Run) -> bool:
    offsets, s = numbers(run.inputs["c"]), numbers(run.inputs["s"])
    total: Any = sum(s[int(offset) : int(offset) + N] for offset in offsets) - c.tau * c.eta
    right = numbers(run.inputs["p"]) + (-total if c.is_subtracted else total)
    is_right = np.array_equal(numbers(run.words("p", 32, N)), right)
    return is_right and run.answer() == any(abs(right) >= c.bound)


def kernels() -> list[Kernel]:
    """All that are proved."""
    return [
        *rounding(), *norms(), addition(), *small(), *packing(), *combinations_of_c(),
        transform("ntt", FORWARD, polynomial("p", -2 * Q, 2 * Q), 10 * Q),
        transform("inverse_ntt", BACK, below("p", Q), Q),
        products("product", 0),
        *(products(function, length) for function in ("dot", "dot_minus") for length in (4, 5, 7)),
    ]  # fmt: skip


NAMED = re.compile(r"<impl .*::Kernels for .*::(\w+)>::(\w+)(::h[0-9a-f]{16})?$")
INSIDE = re.compile(r"mldsa_lanes::internals::(\w+)(::h[0-9a-f]{16})?$")
"""A kernel with its backend as the first argument, in the program of inside.rs."""
NEON = 1
"""The backend's number on AArch64."""
ENGINES = {"x86_64": ("Portable", "Avx2", "Avx512"), "aarch64": ("Portable", "Neon")}
"""NEON with SHA3 has the text of NEON: the compiler may keep one copy."""
KINDS = (
    "combine", "use_hint", "make_hint", "split", "center", "exceeds", "dot", "dot_minus", "ntt", "inverse_ntt",
    "product", "pack", "unpack", "power2round", "add_center", "small_set",
)  # fmt: skip
SAMPLING = ("uniform", "bounded", "mask", "run")
"""Kernels whose course depends on their inputs. See sampling.py."""


def assigned(
    program: elf.Program, kind: str
) -> tuple[list[tuple[str, Code, list[Statement]]], list[str]]:
    """Return a program's kernels of a kind with the statements that a run on numbers does not refute, and functions
    for which there is none.

    Copies for parameter sets have one name. Each is taken for the set whose statement it fulfils.
    """
    result: list[tuple[str, Code, list[Statement]]] = []
    wrong = []
    is_inside = program.path.name == compiled.INSIDE
    for function in program.functions.values():
        named = None if is_inside else NAMED.search(function.name)
        inside = INSIDE.search(function.name)
        if named is not None and named[2] not in (*KINDS, *SAMPLING):
            wrong.append(f"{program.machine} {function.name}: is not listed in proofs/kernels.py")
        if named is not None and named[2] == kind:
            engine, first = named[1], None
        elif inside is not None and inside[1] == kind and program.machine == "aarch64":
            engine, first = "Neon", Number(NEON, 8)
        else:
            continue
        statements = [s.after(first) for s in kernels() if s.function == kind]
        code = code_of(program, function)
        fulfilled: list[Statement] = [s for s in statements if is_candidate(s, code)]
        if not fulfilled:
            wrong.append(f"{program.machine} {function.name}: no statement holds")
        result.append((f"{engine} {kind}", code, fulfilled))
    return result, wrong


def missing(machine: str, kind: str, proved: set[tuple[str, str]]) -> list[str]:
    """Return what no function of a machine's programs was proved of. `proved`: engines and statements."""
    return [
        f"{machine} {engine}: {statement.name} is proved of no function"
        for engine in ENGINES[machine]
        for statement in kernels()
        if statement.function == kind and (engine, statement.name) not in proved
    ]


def is_candidate(statement: Statement, code: Code) -> bool:
    t.forget()
    try:
        return statement.holds(code, random.Random(1))
    except NotProved:
        return False
