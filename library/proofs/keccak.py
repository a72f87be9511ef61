"""The compiled permutations against FIPS 202, for all states."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

import elf
import terms as t
from compiled import Code, Statement
from machine import Machine, Pointer, Region
from terms import NotProved, Term
from words import Space, Word, keccak_f


@dataclass(frozen=True)
class Entry:
    """A compiled function: its name and its operands, for each how many states stand there side by side, word
    by word."""

    name: str
    pattern: re.Pattern[str]
    states: tuple[int, ...]
    put_last: bool = False
    """True if the second operand's state takes the place of the last of the first's."""
    keeps_x18: bool = False
    """True if x18 is left alone, which belongs to the platform on some systems."""


def _entry(name: str, pattern: str, *states: int, put_last: bool = False) -> Entry:
    return Entry(name, re.compile(pattern), states, put_last, keeps_x18=name.startswith("NEON"))


_AVX2, _AVX512 = "Permute<4_usize> for .*Avx2>", "Permute<8_usize> for .*Avx512>"
ENTRIES: dict[str, tuple[Entry, ...]] = {
    "x86_64": (
        _entry("portable ×1", r"kernels::keccak::permute_one", 1),
        _entry("portable ×1, of the trait", r"Portable as .*Permute<1_usize>>::permute", 1),
        _entry("AVX2 ×1", rf"{_AVX2}::permutation::entry", 1),
        _entry("AVX2 ×2", rf"{_AVX2}::permutation_of_two::entry", 1, 1),
        _entry("AVX2 ×4", rf"{_AVX2}::permute::entry", 4),
        _entry(
            "AVX2 ×4, one in the last place",
            rf"{_AVX2}::permute_with_last::entry",
            4,
            1,
            put_last=True,
        ),
        _entry("AVX2 ×4, one beside", rf"{_AVX2}::permute_beside::entry", 4, 1),
        _entry("AVX-512 ×1, a word a register", r"Avx512>::permutations::entry", 1),
        _entry("AVX-512 ×1, five words a register", r"avx512::keccak_one::entry", 1),
        _entry("AVX-512 ×2", rf"{_AVX512}::permutation_of_two::entry", 1, 1),
        _entry("AVX-512 ×8", rf"{_AVX512}::permute::entry", 8),
        _entry(
            "AVX-512 ×8, one in the last place",
            rf"{_AVX512}::permute_with_last::entry",
            8,
            1,
            put_last=True,
        ),
        _entry("AVX-512 ×8, one beside", rf"{_AVX512}::permute_beside::entry", 8, 1),
    ),
    "aarch64": (
        _entry("portable ×1", r"kernels::keccak::permute_one", 1),
        _entry("portable ×1, of the trait", r"Portable as .*Permute<1_usize>>::permute", 1),
        _entry("NEON ×1", r"neon::keccak::PERMUTE_ONE::entry", 1),
        _entry("NEON ×4", r"Permute<4_usize> for .*Neon>::permute::entry", 4),
        _entry("NEON with SHA3 ×4", r"Permute<4_usize> for .*NeonSha3>::permute::entry", 4),
    ),
}
ARGUMENTS = {"x86_64": ("rdi", "rsi", "rdx", "rcx"), "aarch64": ("x0", "x1", "x2", "x3")}


class Permutation(Statement):
    """The function permutes each of its states as FIPS 202 does."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.name = f"Keccak {entry.name}"

    def execute(
        self, code: Code, states: list[list[Term]], stack: int
    ) -> tuple[list[Term], Machine]:
        """Return the words of the operands' states after the function, and the machine."""
        machine = code.start(stack, ("x18",) if self.entry.keeps_x18 else ())
        at = 0
        for number, side_by_side in enumerate(self.entry.states):
            group = states[at : at + side_by_side]
            # `States` is aligned to a line of the cache, a single state as its words are.
            region = Region(200 * side_by_side, 64 if side_by_side > 1 else 8)
            content = [group[j][i] for i in range(25) for j in range(side_by_side)]
            operand = machine.operand(f"operand {number}", region, content)
            machine.registers[ARGUMENTS[code.machine][number]] = operand
            at += side_by_side
        machine.run()
        machine.check_return()
        result = []
        for number, side_by_side in enumerate(self.entry.states):
            for j in range(side_by_side):
                places = (
                    Pointer(f"operand {number}", 8 * (side_by_side * i + j)) for i in range(25)
                )
                result += [machine.word(machine.load(place, 8)) for place in places]
        return result, machine

    def expected(self, space: Space, states: list[list[Word]]) -> list[Word]:
        """FIPS 202's permutation of each state; where one took the last place, that holds its result too."""
        after = [keccak_f(space, state) for state in states]
        if self.entry.put_last:
            after[self.entry.states[0] - 1] = after[-1]
        return [word for state in after for word in state]

    def prove(self, code: Code, stack: int) -> Machine:
        count = sum(self.entry.states)
        space = Space(25 * count, 600 * count)
        unknowns: dict[Term, Word] = {
            t.var(f"word {n}", 64): space.unknown(n) for n in range(25 * count)
        }
        names = list(unknowns)
        states = [names[25 * i : 25 * i + 25] for i in range(count)]
        correct = self.expected(space, [[unknowns[word] for word in state] for state in states])
        result, machine = self.execute(code, states, stack)
        if space.forms(result, unknowns) != correct:
            raise NotProved("the result is not FIPS 202's")
        return machine

    def holds(self, code: Code, source: random.Random) -> bool:
        states: list[list[Word]] = [
            [source.getrandbits(64) for _ in range(25)] for _ in range(sum(self.entry.states))
        ]
        correct = self.expected(Space(0, 0), states)
        known = [[t.const(word, 64) for word in state] for state in states]  # type: ignore[arg-type]
        result, _ = self.execute(code, known, code.stacks()[0])
        return result == [t.const(word, 64) for word in correct]  # type: ignore[arg-type]


def function_of(program: elf.Program, entry: Entry) -> elf.Function:
    """Return the function of a program. NotProved where it has none, or several, of the name."""
    named = [f for f in program.functions.values() if entry.pattern.search(f.name)]
    if len(named) != 1:
        raise NotProved(f"{entry.name}: the program has {len(named)} functions of this name")
    return named[0]


PERMUTATIONS = re.compile(r"mldsa_lanes::.*(keccak.*::entry|Permute<.*>::permute\w*$|permute_one)")


def unlisted(program: elf.Program) -> list[str]:
    """Return the permutations of a program that no entry names."""
    plain = (re.sub(r"::h[0-9a-f]{16}$", "", f.name) for f in program.functions.values())
    entries = ENTRIES[program.machine]
    names = (name for name in plain if PERMUTATIONS.search(name))
    return [name for name in names if not any(entry.pattern.search(name) for entry in entries)]
