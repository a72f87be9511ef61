"""The compiled rejection samplers against FIPS 204's Algorithms 14 and 15, pattern by pattern.

A sampler's course depends on which candidates of a block are accepted. Each run fixes this pattern, the number of
candidates and the number of coefficients that are there before. The candidates are unknowns of the range that the
pattern says, so the run has one path, and its result holds for every block with the pattern.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import elf
import terms as t
from compiled import Code, Statement, code_of
from kernels import ARGUMENTS, ENGINES, NAMED, N, is_candidate, prove_each
from machine import Content, Machine, Pointer, Region
from residues import Q
from terms import NotProved, Term

KINDS = ("accept_triples", "accept_halves")
REGISTERS = {"Portable": (1,), "Avx2": (8,), "Avx512": (16,), "Neon": (4, 16)}
"""Candidates that a backend takes at a time."""
SCOPE = (
    "prove: patterns of the samplers, for an empty polynomial: of at most 8 candidates all; of 16 those with at most 2"
    " accepted or at most 2 rejected, and 500 random ones; of more 20, of whole blocks 6. For a polynomial with"
    " coefficients: of at most 5 candidates all, of more 20, of whole blocks 6. For mutants 4, of whole blocks 1"
)


@dataclass(frozen=True)
class Sampler:
    """A candidate of `bits` bits, of which `tested` are compared with `bound`."""

    name: str
    bits: int
    tested: int
    bound: int

    def range(self, is_accepted: bool) -> tuple[int, int]:
        return (0, self.bound - 1) if is_accepted else (self.bound, (1 << self.tested) - 1)

    def unknown(self, i: int, is_accepted: bool) -> Term:
        low, high = self.range(is_accepted)
        known = t.const(low, self.tested)
        return known if low == high else t.var(f"candidate {i}", self.tested, low, high)

    def drawn(self, is_accepted: bool, source: random.Random) -> Term:
        low, high = self.range(is_accepted)
        return t.const(source.choice((low, high, source.randint(low, high))), self.tested)

    def prove(self, words: list[Term], unknowns: list[Term]) -> None:
        """NotProved unless the words are the coefficients of accepted candidates."""
        if self.bound == Q:
            if words != [t.widened(unknown, 32) for unknown in unknowns]:
                raise NotProved("a coefficient is not its candidate")
            return
        eta = 2 if self.bound == 15 else 4
        lanes = [[word] for word in words]
        prove_each(self.name, lanes, unknowns, lambda z: [2 - z % 5 if eta == 2 else 4 - z])


TRIPLES = Sampler("accept_triples", 24, 23, Q)
SAMPLERS = (
    TRIPLES,
    Sampler("accept_halves, η = 2", 4, 4, 15),
    Sampler("accept_halves, η = 4", 4, 4, 9),
)


def patterns(count: int, is_empty: bool) -> list[int]:
    """The patterns of a block, a bit for each candidate, in a random order. See `SCOPE`."""
    source = random.Random(count)
    whole = (1 << count) - 1
    if count <= 5 or (count <= 8 and is_empty):
        result = list(range(whole + 1))
    else:
        random_ones = 500 if count == 16 and is_empty else 4 if count > 32 else 18
        result = [0, whole, *(source.getrandbits(count) for _ in range(random_ones))]
    if count == 16 and is_empty:
        few = [1 << i | 1 << j for i in range(count) for j in range(i + 1)]
        result += [*few, *(whole ^ pattern for pattern in few)]
    source.shuffle(result)
    return result


class Block(Statement):
    """A block of `count` candidates for a polynomial with some coefficients, for some patterns.

    p[filled + n] is accepted candidate number n as far as p has room. Below `filled`, p is as it was. The result is
    the number of coefficients afterwards.
    """

    def __init__(self, sampler: Sampler, count: int, filled: int, patterns: list[int]) -> None:
        self.sampler, self.count, self.filled, self.patterns = sampler, count, filled, patterns
        self.name = f"{sampler.name}, {count} candidates from {filled}"

    def prove(self, code: Code, stack: int) -> Machine:
        seen: set[int] = set()
        steps = 0
        for pattern in self.patterns:
            unknowns = [self.sampler.unknown(i, bool(pattern >> i & 1)) for i in range(self.count)]
            machine, words = self.execute(code, stack, pattern, unknowns)
            accepted = [unknown for i, unknown in enumerate(unknowns) if pattern >> i & 1]
            self.sampler.prove(words, accepted[: len(words)])
            seen |= machine.seen
            steps = max(steps, machine.steps)
        machine.seen, machine.steps = seen, steps
        return machine

    def holds(self, code: Code, source: random.Random) -> bool:
        for pattern in source.choices(self.patterns, k=min(2, len(self.patterns))):
            numbers = [
                self.sampler.drawn(bool(pattern >> i & 1), source) for i in range(self.count)
            ]
            _, words = self.execute(code, code.stacks()[0], pattern, numbers)
            accepted = [number for i, number in enumerate(numbers) if pattern >> i & 1]
            if not all(word.is_const for word in words):
                return False
            values = [int(number.args[0]) for number in accepted[: len(words)]]
            if [t.signed(word.args[0], 32) for word in words] != [
                self.coefficient(z) for z in values
            ]:
                return False
        return True

    def for_mutants(self) -> Block:
        return Block(
            self.sampler, self.count, self.filled, self.patterns[: 4 if self.count <= 32 else 1]
        )

    def coefficient(self, z: int) -> int:
        return {Q: z, 15: 2 - z % 5, 9: 4 - z}[self.sampler.bound]

    def execute(
        self, code: Code, stack: int, pattern: int, candidates: list[Term]
    ) -> tuple[Machine, list[Term]]:
        """Run on a block; return the new coefficients. NotProved where their number or the others are wrong."""
        machine = code.start(stack)
        above = self.sampler.bits - self.sampler.tested
        bits: list[Term] = []
        for i, candidate in enumerate(candidates):
            bits += [candidate, *([t.var(f"above {i}", above)] if above else [])]
        block = t.lanes(t.join(bits), 8)
        old = [t.var(f"p[{i}]", 32) for i in range(N)]
        operands: list[Content] = [
            machine.operand("block", Region(len(block), 1, read_only=True), block),
            t.const(len(block), 64),
            machine.operand("p", Region(4 * N, 64), old),
            t.const(self.filled, 64),
        ]
        machine.registers[ARGUMENTS[code.machine][0]] = machine.operand(
            "kernel", Region(32, 8), operands
        )
        machine.run()
        machine.check_return()
        count = min(N, self.filled + pattern.bit_count())
        result = machine.registers["rax" if code.machine == "x86_64" else "x0"]
        if result is not t.const(count, 64):
            raise NotProved("another number of coefficients is returned")
        memory = machine.memory["p"]
        if any(memory[at] != (old[at // 4], at % 4) for at in range(4 * self.filled)):
            raise NotProved("a coefficient that was there is written")
        places = (Pointer("p", 4 * i) for i in range(self.filled, count))
        return machine, [machine.word(machine.load(place, 4)) for place in places]


def blocks(sampler: Sampler, engine: str) -> list[Statement]:
    """The blocks for which a backend's sampler is proved."""
    registers = REGISTERS[engine]
    if sampler is TRIPLES:
        rests = {
            "Portable": (2, 3, 4, 56),
            "Avx2": (11, 56),
            "Avx512": (5, 19, 32, 56),
            "Neon": (5, 25, 56),
        }
        counts = registers + rests[engine]
    else:
        # Whole bytes; AVX-512's takes whole registers.
        rests = {
            "Portable": (2, 4, 272),
            "Avx2": (10, 272),
            "Avx512": (32, 272),
            "Neon": (6, 26, 272),
        }
        counts = (*(count for count in registers if count > 1), *rests[engine])
    return [
        Block(sampler, count, filled, patterns(count, filled == 0))
        for count in counts
        for filled in ((0, 100, *range(N - count, N + 1)) if count <= 16 else (0, 150, 244))
    ]


def assigned(
    program: elf.Program, kind: str
) -> tuple[list[tuple[str, Code, list[Statement]]], list[str]]:
    """Return a program's samplers of a kind with their blocks, and what is missing. See kernels.assigned."""
    result: list[tuple[str, Code, list[Statement]]] = []
    wrong = []
    missing = {
        f"{engine} {sampler.name}"
        for engine in ENGINES[program.machine]
        for sampler in SAMPLERS
        if sampler.name.startswith(kind)
    }
    for function in program.functions.values():
        named = NAMED.search(function.name)
        if named is None or named[2] != "run":
            continue
        code = code_of(program, function)
        engine = named[1].removesuffix("Sha3")
        fitting = {sampler: blocks(sampler, engine) for sampler in SAMPLERS}
        fitting = {
            sampler: statements
            for sampler, statements in fitting.items()
            if all(is_candidate(statement, code) for statement in statements)
        }
        if not fitting:
            wrong.append(f"{program.machine} {function.name}: no statement holds")
        for sampler, statements in fitting.items():
            if sampler.name.startswith(kind):
                result.append((f"{named[1]} {sampler.name}", code, statements))
                missing.discard(f"{engine} {sampler.name}")
    wrong += [f"{program.machine} {name} is proved of no function" for name in sorted(missing)]
    return result, wrong
