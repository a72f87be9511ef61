"""Functions of a program, statements about them, and mutants of their code."""

from __future__ import annotations

import random
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import arm
import elf
import terms as t
import x86
from machine import LIMIT, Instruction, Machine, Pointer
from program import compiled
from terms import NotProved

INSIDE = "inside"
"""The program of inside.rs."""
SLOW = 1
"""CPU seconds of a proof from which on a function has a sixth of the mutants."""
REFUSALS = (NotProved, ValueError, KeyError, IndexError)
"""Errors by which a mutant is refused: its result may have any form."""
ENTRY = {"x86_64": -8, "aarch64": 0}
"""The stack pointer at the entry, modulo 16, by the calling conventions."""
_MACHINES: dict[
    str, tuple[type[Machine], tuple[str, ...], Callable[[int, bytes], list[Instruction]]]
] = {
    "x86_64": (x86.X86, x86.KEPT, x86.decoded),
    "aarch64": (arm.Arm, arm.KEPT, arm.decoded),
}


@dataclass(frozen=True)
class Code:
    """A function of the program, decoded, and what it needs of the program."""

    machine: str
    instructions: tuple[Instruction, ...]
    image: Callable[[int, int], bytes]
    callee: Callable[[Pointer], str | None]
    limit: int = LIMIT

    def stacks(self) -> list[int]:
        """The stack pointers to try: several where the function aligns its frame, and so asks for it."""
        entry = ENTRY[self.machine]
        aligns = any(
            i.name == "and" and i.operands[0][1] in ("rsp", "sp") for i in self.instructions
        )
        return [entry, entry - 16, entry - 32, entry - 48, entry - 4080] if aligns else [entry]

    def start(self, stack: int, kept: tuple[str, ...] = ()) -> Machine:
        """Return a machine at the function's entry. `kept`: registers besides those that it always keeps."""
        kind, always, _ = _MACHINES[self.machine]
        instructions = {i.address: i for i in self.instructions}
        machine = kind(instructions, self.image, self.callee, (*always, *kept))
        machine.start(stack)
        machine.at = self.instructions[0].address
        machine.limit = self.limit
        return machine

    def with_one(self, index: int, instruction: Instruction) -> Code:
        changed = (*self.instructions[:index], instruction, *self.instructions[index + 1 :])
        return replace(self, instructions=changed)


def code_of(program: elf.Program, function: elf.Function) -> Code:
    """Decode a function. NotProved where it has what is not modelled."""

    def callee(place: Pointer) -> str | None:
        if place.region == "code":
            return program.name(place.offset)
        slot = program.slots.get(place.offset)
        return program.name(slot) if isinstance(slot, int) else slot

    instructions = tuple(_MACHINES[program.machine][2](function.address, function.code))
    return Code(program.machine, instructions, partial(constant, program), callee)


def build_inside(machine: str) -> Path:
    """Compile the samplers, and kernels that the compiler merges into others, as functions."""
    main = (Path(__file__).parent / "inside.rs").read_text(encoding="utf-8")
    options = 'default-features = false, features = ["std", "ml-dsa-44", "ml-dsa-65"], '
    return compiled(INSIDE, "mldsa-inside", options, main, machine, "default", None)


def constant(program: elf.Program, address: int, count: int) -> bytes:
    """Return bytes of the program that nothing writes, the loader neither; none where there are others."""
    if any(slot in program.slots for slot in range(address - 7, address + count)):
        return b""
    for start, content in program.constants:
        if start <= address <= start + len(content) - count:
            return content[address - start : address - start + count]
    return b""


class Statement(ABC):
    """A property of a function."""

    name: str

    @abstractmethod
    def prove(self, code: Code, stack: int) -> Machine:
        """Return the machine after its run. NotProved unless the statement holds for all inputs."""

    @abstractmethod
    def holds(self, code: Code, source: random.Random) -> bool:
        """Return whether the statement holds for one run on numbers; NotProved where there is no result."""

    def for_mutants(self) -> Statement:
        """Return the statement by which mutants are judged: a part of one that takes long."""
        return self


@dataclass
class Verdict:
    """A function with its statements: what was proved, and what became of its mutants."""

    name: str
    instructions: int = 0
    size: int = 0
    run: int = 0
    statements: int = 0
    seconds: float = 0
    wrong: int = 0
    refused: int = 0
    equal: int = 0
    kept: int = 0
    """Mutants for which only parts of the proofs were tried, and did not fail."""
    errors: list[str] = field(default_factory=list)


def judge(name: str, code: Code, statements: list[Statement], mutants: int) -> Verdict:
    """Prove a function's statements, and try at most `mutants` of its mutants."""
    verdict = Verdict(name, len(code.instructions), sum(i.size for i in code.instructions))
    addresses: set[int] = set()
    longest = 0
    start = time.process_time()
    for statement in statements:
        try:
            for stack in code.stacks():
                t.forget()
                machine = statement.prove(code, stack)
                addresses |= machine.seen
                longest = max(longest, machine.steps)
            t.forget()
            if not statement.holds(code, random.Random(1)):
                raise NotProved("a run on numbers contradicts the proof")
            verdict.statements += 1
        except NotProved as error:
            verdict.errors.append(f"{name}, {statement.name}: {error}")
    verdict.run = len(addresses)
    if not verdict.errors:
        if (time.process_time() - start) / verdict.statements > SLOW:
            mutants = max(1, mutants // 6)
        # A mutant that runs much longer does not end.
        code = replace(code, limit=2 * longest + 100)
        parts = [statement.for_mutants() for statement in statements]
        for seed, mutant in enumerate(_mutants(code, addresses, mutants)):
            _judge_mutant(mutant, statements, parts, random.Random(seed), verdict)
    return verdict


def _judge_mutant(
    mutant: Code,
    statements: list[Statement],
    parts: list[Statement],
    source: random.Random,
    verdict: Verdict,
) -> None:
    """Run a mutant on numbers, then try the proofs, or parts of them that are quick."""
    for statement in 3 * parts:
        t.forget()
        try:
            if not statement.holds(mutant, source):
                verdict.wrong += 1
                return
        except REFUSALS:
            verdict.refused += 1
            return
    for part in parts:
        t.forget()
        try:
            part.prove(mutant, mutant.stacks()[0])
        except REFUSALS:
            verdict.refused += 1
            return
    if all(part is statement for part, statement in zip(parts, statements, strict=True)):
        verdict.equal += 1
    else:
        verdict.kept += 1


def _mutants(code: Code, addresses: set[int], count: int) -> Iterator[Code]:
    """At most `count` different changes of one instruction that the proofs run: an operand, the operation, or the
    instruction left out."""
    source = random.Random(1)
    places = [
        i for i, instruction in enumerate(code.instructions) if instruction.address in addresses
    ]
    seen: set[Instruction] = set()
    for _ in range(10 * count):
        if len(seen) == count:
            return
        index = source.choice(places)
        instruction = code.instructions[index]
        changed = _changed(instruction, source)
        if instruction.name in ("nop", "vzeroupper", "ret") or changed in seen:
            continue
        seen.add(changed)
        yield code.with_one(index, changed)


_PAIRS = (
    ("xor", "and"), ("vpxor", "vpandn"), ("vpxorq", "vporq"), ("eor", "bic"), ("rol", "ror"), ("xar", "rax1"),
    ("shl", "sri"), ("add", "sub"), ("paddd", "psubd"), ("vpaddd", "vpsubd"), ("vpaddq", "vpsubq"),
    ("paddq", "psubq"), ("vpmuldq", "vpmuludq"), ("vpsrad", "vpsrld"), ("psrad", "psrld"), ("vpand", "vpor"),
    ("vpandd", "vpord"), ("vpunpcklqdq", "vpunpckhqdq"), ("punpckldq", "punpckhdq"), ("zip1", "zip2"),
    ("uzp1", "uzp2"), ("trn1", "trn2"), ("smull", "umull"), ("mla", "mls"), ("smlal", "smlsl"), ("sshr", "ushr"),
    ("cmgt", "cmge"), ("vpmaxsd", "vpminsd"), ("setne", "sete"), ("cset", "csetm"),
)  # fmt: skip
_OTHER = dict(_PAIRS) | {b: a for a, b in _PAIRS} | {"andn": "xor"}
_NAMES = {
    "x86_64": ("rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "rbx", "r12", "r15"),
    "aarch64": tuple(f"x{n}" for n in range(28)),
}


def _changed(instruction: Instruction, source: random.Random) -> Instruction:
    """Return the instruction with another operation or operand, or with none at all."""
    operands = list(instruction.operands)
    if instruction.name in _OTHER and source.random() < 0.25:
        return replace(instruction, name=_OTHER[instruction.name])
    if not operands or source.random() < 0.1:
        return replace(instruction, name="nop", operands=())
    at = source.randrange(len(operands))
    kind, *rest = operands[at]
    if kind == "i":
        rest[0] ^= 1 << source.randrange(6)
    elif kind in ("v", "e", "k"):
        rest[0] ^= 1 << source.randrange(3)
    elif kind == "c":
        rest[0] = arm.OTHER_CONDITION[rest[0]]
    elif kind in ("m", "b"):
        rest[3 if len(rest) == 5 else 1] ^= 8 << source.randrange(4)
    elif kind == x86.MASKED:
        rest[0] ^= 1
    else:
        machine = "aarch64" if rest[0][0] == "x" or rest[0] == "sp" else "x86_64"
        rest[0] = source.choice([name for name in _NAMES[machine] if name != rest[0]])
    operands[at] = (kind, *rest)
    return replace(instruction, operands=tuple(operands))
