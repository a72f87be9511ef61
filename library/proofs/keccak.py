"""The compiled permutations against FIPS 202, for all states."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import arm  # noqa
import elf
import terms as t
import x86
from machine import Instruction, Machine, Pointer, Region
from terms import NotProved, Term
from words import Space, Word, keccak_f

ENTRY = {"x86_64": -8, "aarch64": 0}
"""The stack pointer at the entry, modulo 16, by the calling conventions."""


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


@dataclass(frozen=True)
class Code:
    """A function of the program, decoded, and what it needs of the program."""

    machine: str
    entry: Entry
    instructions: tuple[Instruction, ...]
    image: Callable[[int, int], bytes]
    callee: Callable[[Any], str | None]

    def stacks(self) -> list[int]:
        """The stack pointers to try: five where the function aligns its frame, and so asks for it."""
        entry = ENTRY[self.machine]
        aligns = any(i.name == "and" and i.operands[1][0] == "i" for i in self.instructions)
        return [entry, entry - 16, entry - 32, entry - 48, entry - 4080] if aligns else [entry]

    def start(self, stack: int, kept: tuple[str, ...] = ()) -> Machine:
        """Return a machine at the function's entry."""
        kind, always = {"x86_64": (x86.X86, x86.KEPT), "aarch64": (arm.Arm, arm.KEPT)}[self.machine]
        instructions = {i.address: i for i in self.instructions}
        machine: Machine = kind(instructions, self.image, self.callee, (*always, *kept))
        machine.start(stack)
        machine.at = self.instructions[0].address
        return machine

    def with_one(self, index: int, instruction: Instruction) -> Code:
        changed = (*self.instructions[:index], instruction, *self.instructions[index + 1 :])
        return replace(self, instructions=changed)


def execute(code: Code, states: list[list[Term]], stack: int) -> list[list[Term]]:
    """Return what the operands' states are after the function. NotProved where it does anything else."""
    entry = code.entry
    machine = code.start(stack, ("x18",) if entry.keeps_x18 else ())
    at = 0
    for number, side_by_side in enumerate(entry.states):
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
    for number, side_by_side in enumerate(entry.states):
        for j in range(side_by_side):
            places = (Pointer(f"operand {number}", 8 * (side_by_side * i + j)) for i in range(25))
            result.append([machine.word(machine.load(place, 8)) for place in places])
    return result


def expected(entry: Entry, space: Space, states: list[list[Word]]) -> list[list[Word]]:
    """FIPS 202's permutation of each state; where one took the last place, that holds its result too."""
    after = [keccak_f(space, state) for state in states]
    if entry.put_last:
        after[entry.states[0] - 1] = after[-1]
    return after


def prove(code: Code, stacks: list[int]) -> None:
    """NotProved unless the function permutes all states as FIPS 202 does and touches nothing else."""
    count = sum(code.entry.states)
    for stack in stacks:
        t.forget()
        space = Space(25 * count, 600 * count)
        unknowns: dict[Term, Word] = {t.var(f"word {n}", 64): space.unknown(n) for n in range(25 * count)}
        names = list(unknowns)
        states = [names[25 * i : 25 * i + 25] for i in range(count)]
        correct = expected(code.entry, space, [[unknowns[word] for word in state] for state in states])
        result = [word for state in execute(code, states, stack) for word in state]
        if space.forms(result, unknowns) != [word for state in correct for word in state]:
            raise NotProved("the result is not FIPS 202's")


def refuted(code: Code, seed: int) -> str:
    """Return why one run with random states shows that it is wrong, "result" if by its result; else nothing."""
    source = random.Random(seed)
    t.forget()
    states: list[list[Word]] = [
        [source.getrandbits(64) for _ in range(25)] for _ in range(sum(code.entry.states))
    ]
    correct = expected(code.entry, Space(0, 0), states)
    known = [[t.const(word, 64) for word in state] for state in states]  # type: ignore[arg-type]
    try:
        result = execute(code, known, code.stacks()[0])
    except NotProved as error:
        return str(error)
    is_right = [[t.const(word, 64) for word in state] for state in correct] == result  # type: ignore[arg-type]
    return "" if is_right else "result"


def code_of(program: elf.Program, entry: Entry) -> Code:
    """Return the function of a program. NotProved where it has none, or several, of the name."""
    named = [f for f in program.functions.values() if entry.pattern.search(f.name)]
    if len(named) != 1:
        raise NotProved(f"the program has {len(named)} functions of this name")
    return code_at(program, named[0], entry)


def code_at(program: elf.Program, function: elf.Function, entry: Entry | None = None) -> Code:
    """Return a function, decoded."""
    decoded = {"x86_64": x86.decoded, "aarch64": arm.decoded}[program.machine]

    def callee(place: Pointer) -> str | None:
        slot = program.slots.get(place.offset)
        return program.name(slot) if isinstance(slot, int) else slot

    instructions = tuple(decoded(function.address, function.code))
    return Code(program.machine, entry, instructions, partial(constant, program), callee)


def constant(program: elf.Program, address: int, count: int) -> bytes:
    """Return bytes of the program that nothing writes, the loader neither; none where there are others."""
    if any(slot in program.slots for slot in range(address - 7, address + count)):
        return b""
    for start, content in program.constants:
        if start <= address <= start + len(content) - count:
            return content[address - start : address - start + count]
    return b""


PERMUTATIONS = re.compile(r"mldsa_lanes::.*(keccak.*::entry|Permute<.*>::permute\w*$|permute_one)")


def unlisted(program: elf.Program) -> list[str]:
    """Return the permutations of a program that no entry names."""
    plain = (re.sub(r"::h[0-9a-f]{16}$", "", f.name) for f in program.functions.values())
    entries = ENTRIES[program.machine]
    names = (name for name in plain if PERMUTATIONS.search(name))
    return [name for name in names if not any(entry.pattern.search(name) for entry in entries)]


def mutants(code: Code, count: int, seed: int) -> Iterator[Code]:
    """At most `count` different changes of one instruction each: an operand, the operation, or the instruction
    left out."""
    source = random.Random(seed)
    seen: set[Instruction] = set()
    for _ in range(10 * count):
        if len(seen) == count:
            return
        index = source.randrange(len(code.instructions))
        instruction = code.instructions[index]
        changed = _changed(instruction, source)
        if instruction.name in ("nop", "vzeroupper", "ret") or changed in seen:
            continue
        seen.add(changed)
        yield code.with_one(index, changed)


_OTHER = {
    "xor": "and", "and": "xor", "andn": "xor", "vpxor": "vpandn", "vpxorq": "vpor", "vpandn": "vpxor",
    "vpor": "vpandn", "eor": "bic", "bic": "eor", "rol": "ror", "ror": "rol", "xar": "rax1", "shl": "sri",
}  # fmt: skip
_NAMES = {
    "x86_64": ("rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "rbx", "r12", "r15"),
    "aarch64": tuple(f"x{n}" for n in range(28)),
}


def _changed(instruction: Instruction, source: random.Random) -> Instruction:
    operands = list(instruction.operands)
    if instruction.name in _OTHER and source.random() < 0.25:
        return replace(instruction, name=_OTHER[instruction.name])
    if not operands or source.random() < 0.1:
        return replace(instruction, name="nop", operands=())
    at = source.randrange(len(operands))
    kind, *rest = operands[at]
    if kind == "i":
        rest[0] ^= 1 << source.randrange(6)
    elif kind in ("v", "q", "d", "k"):
        rest[0] ^= 1 << source.randrange(3)
    elif kind in ("m", "b"):
        rest[3 if len(rest) == 5 else 1] ^= 8 << source.randrange(4)
    elif kind == x86.MASKED:
        rest[0] ^= 1
    else:
        machine = "aarch64" if rest[0][0] == "x" or rest[0] == "sp" else "x86_64"
        rest[0] = source.choice([name for name in _NAMES[machine] if name != rest[0]])
    operands[at] = (kind, *rest)
    return replace(instruction, operands=tuple(operands))
