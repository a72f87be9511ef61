"""The common part of both machines: registers and memory of terms, and the run of a function.

A function is run from its first instruction to its return, on terms of terms.py. Its course (counters, addresses,
tables, branches) must follow from known numbers and from the declared ranges of its inputs, so there is one path and
it is run whole. Memory is regions of bytes: the function's operands, the stack below the return address, and the
program's own constants.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import terms as t
from terms import NotProved, Term

LIMIT = 1 << 17
"""Instructions after which a run is given up, at most."""
ONES = (1 << 64) - 1


@dataclass(frozen=True)
class Pointer:
    """A place in a region: `offset` bytes from its beginning, and `index` bytes more that an input tells."""

    region: str
    offset: int
    index: Term | None = None

    def __add__(self, by: int) -> Pointer:
        return Pointer(self.region, self.offset + t.signed(by & ONES, 64), self.index)


@dataclass(frozen=True)
class Opaque:
    """The content of a register at the entry, which the function may only keep."""

    name: str


Content = Term | Pointer | Opaque


@dataclass(frozen=True)
class Instruction:
    """An instruction as data, which a mutant can change."""

    address: int
    size: int
    name: str
    operands: tuple[Any, ...]

    def __str__(self) -> str:
        return f"{self.address:#x} {self.name} {self.operands}"


@dataclass
class Region:
    """An operand in memory. `align` divides the address of its beginning."""

    size: int
    align: int
    read_only: bool = False


@dataclass
class Machine(ABC):
    """Registers and memory.

    `image(address, count)`: constants of the program, empty where it has none.
    `callee(place)`: the name of the function whose address is at a place, or that is there.
    `kept`: the registers that belong to the caller.
    """

    code: dict[int, Instruction]
    image: Callable[[int, int], bytes]
    callee: Callable[[Pointer], str | None]
    kept: tuple[str, ...]
    registers: dict[str, Content] = field(default_factory=dict)
    vectors: dict[int, Term] = field(default_factory=dict)
    memory: dict[str, dict[int, tuple[Content, int]]] = field(default_factory=dict)
    """By region and offset: the byte's word and the byte's number in it."""
    regions: dict[str, Region] = field(default_factory=dict)
    stack: int = 0
    """The stack pointer at the entry, an offset in the region `stack`."""
    arguments: int = 0
    """Bytes of arguments above the return address."""
    at: int = 0
    limit: int = LIMIT
    steps: int = 0
    seen: set[int] = field(default_factory=set)
    """The addresses of the instructions that were run."""
    unknown: int = 0
    element: Callable[[str, Term, int], Term] | None = None
    """A byte of a read-only region at a place that an input tells: (region, index, offset)."""

    @abstractmethod
    def start(self, stack: int) -> None:
        """Set registers and stack as at an entry; `stack`: the stack pointer's offset."""

    @abstractmethod
    def check_return(self) -> None:
        """NotProved where a register that belongs to the caller is not as it was."""

    @abstractmethod
    def floor(self) -> int:
        """Return the lowest place of the stack that no signal handler may overwrite."""

    # --- memory

    def place(self, content: Content) -> Pointer:
        if not isinstance(content, Pointer):
            raise NotProved(f"an access to {content}")
        return content

    def operand(self, name: str, region: Region, content: Sequence[Content]) -> Pointer:
        """Put an operand into memory, word by word."""
        self.regions[name] = region
        self.memory[name] = {}
        at = 0
        for word in content:
            count = word.width // 8 if isinstance(word, Term) else 8
            self._put(name, at, word, count)
            at += count
        assert at in (0, region.size)
        return Pointer(name, 0)

    def _put(self, region: str, offset: int, content: Content, count: int) -> None:
        memory = self.memory[region]
        for byte in range(count):
            memory[offset + byte] = (content, byte)

    def load(self, at: Content, count: int) -> Content:
        """Return `count` bytes from a place."""
        place = self.place(at)
        if place.region == "image":
            content = self.image(place.offset, count) if place.index is None else b""
            if len(content) != count:
                raise NotProved(f"a load from {place}")
            return t.const(int.from_bytes(content, "little"), 8 * count)
        if place.index is not None:
            return self._load_indexed(place, count)
        memory = self.memory[place.region]
        try:
            cells = [memory[place.offset + byte] for byte in range(count)]
        except KeyError:
            raise NotProved(f"a load from {place}, where nothing is") from None
        if place.region == "stack" and not self.is_readable(place.offset, count):
            raise NotProved(f"a load from {place}, which is not the function's")
        first = cells[0][0]
        if not isinstance(first, Term):
            if count != 8 or cells != [(first, byte) for byte in range(8)]:
                raise NotProved(f"a part of {first}")
            return first
        parts: list[Term] = []
        begin = 0
        for end in range(1, count + 1):
            word, start = cells[begin]
            if end < count and cells[end] == (word, start + end - begin):
                continue
            if not isinstance(word, Term):
                raise NotProved(f"a part of {word}")
            parts.append(t.cut(word, 8 * start, 8 * (end - begin)))
            begin = end
        return t.join(parts)

    def is_readable(self, offset: int, count: int) -> bool:
        """Return whether a place of the stack is the function's, or an argument."""
        end = offset + count
        is_argument = self.above() <= offset and end <= self.above() + self.arguments
        return (self.floor() <= offset and end <= self.stack) or is_argument

    def put_argument(self, at: int, content: Content) -> None:
        """Put an argument on the stack, `at` bytes above the stack pointer of the entry."""
        self._put("stack", self.stack + at, content, 8)
        self.arguments += 8

    def above(self) -> int:
        """Return the lowest place of the arguments on the stack."""
        return self.stack

    def _load_indexed(self, place: Pointer, count: int) -> Term:
        """Bytes of an array that nothing has written to, from a place that an input tells: each is an unknown."""
        region = self.regions[place.region]
        index = place.index
        assert index is not None
        if self.element is None or not region.read_only or index.low + place.offset < 0:
            raise NotProved(f"a load from {place}")
        if index.high + place.offset + count > region.size:
            raise NotProved(f"a load beyond the end of {place.region}")
        return t.join(
            self.element(place.region, index, place.offset + byte) for byte in range(count)
        )

    def is_mine(self, place: Pointer, count: int) -> bool:
        """Return whether the function may write to a place: not to the return address."""
        if place.region == "stack":
            return self.floor() <= place.offset <= self.stack - count
        region = self.regions.get(place.region)
        inside = region is not None and 0 <= place.offset <= region.size - count
        return inside and region is not None and not region.read_only

    def store(self, at: Content, content: Content, count: int) -> None:
        place = self.place(at)
        if place.index is not None or not self.is_mine(place, count):
            raise NotProved(f"a store outside the function's memory: {place}")
        if isinstance(content, Term):
            assert content.width == 8 * count
        elif count != 8:
            raise NotProved(f"a part of {content}")
        self._put(place.region, place.offset, content, count)

    def check_alignment(self, at: Content, count: int) -> None:
        """NotProved where the address may not be a multiple of `count`."""
        place = self.place(at)
        align = 4096 if place.region in ("stack", "image") else self.regions[place.region].align
        if align % count or place.offset % count or place.index is not None:
            raise NotProved(f"an aligned access to {place}")

    @staticmethod
    def check_count(count: int) -> None:
        if count > LIMIT:
            raise NotProved(f"{count} bytes are copied or set")

    def copy(self, to: Content, source: Content, count: int) -> None:
        """memcpy."""
        self.check_count(count)
        moved = [self.load(self.add(source, t.const(i, 64)), 8) for i in range(0, count - 7, 8)]
        rest = [self.load(self.add(source, t.const(i, 64)), 1) for i in range(count & ~7, count)]
        for i, word in enumerate(moved):
            self.store(self.add(to, t.const(8 * i, 64)), word, 8)
        for i, byte in enumerate(rest):
            self.store(self.add(to, t.const((count & ~7) + i, 64)), byte, 1)

    def fill(self, to: Content, value: Content, count: int) -> None:
        """memset."""
        self.check_count(count)
        byte = t.cut(self.word(value), 0, 8)
        for i in range(count):
            self.store(self.add(to, t.const(i, 64)), byte, 1)

    # --- words

    def word(self, content: Content) -> Term:
        if not isinstance(content, Term):
            raise NotProved(f"arithmetic with {content}")
        return content

    def number(self, content: Content) -> int:
        word = self.word(content)
        if not word.is_const:
            raise NotProved("the function's course depends on its operands")
        return int(word.args[0])

    def is_set(self, bit: Term) -> bool:
        """Return whether a branch's condition holds, which the inputs' ranges must decide."""
        return bool(self.number(bit))

    def fresh(self, width: int) -> Term:
        """Return a new unknown, for bits that are not written yet."""
        self.unknown += 1
        return t.var(f"unknown {self.unknown}", width)

    def add(self, a: Content, b: Content) -> Content:
        if isinstance(b, Pointer):
            a, b = b, a
        if isinstance(a, Pointer):
            by = self.word(b)
            if by.is_const:
                return a + int(by.args[0])
            # A constant of the sum is part of the offset.
            fixed, rest = 0, by
            if by.op == "sum" and by.args[0]:
                fixed, rest = by.args[0], t.sub(by, t.const(by.args[0], 64))
            index = rest if a.index is None else t.add(a.index, rest)
            return Pointer(a.region, a.offset + fixed, index)
        return t.add(self.word(a), self.word(b))

    def subtract(self, a: Content, b: Content) -> Content:
        if isinstance(a, Pointer) and isinstance(b, Pointer) and a.region == b.region:
            if a.index is b.index:
                return t.const(a.offset - b.offset, 64)
            raise NotProved("a difference of addresses")
        if isinstance(a, Pointer):
            return self.add(a, t.scaled(self.word(b), -1))
        return t.sub(self.word(a), self.word(b))

    @abstractmethod
    def step(self, instruction: Instruction) -> int | None:
        """Execute an instruction; return the address of the next, None at the return."""

    def run(self) -> None:
        """Run to the return."""
        at: int | None = self.at
        for step in range(self.limit):
            self.steps = step
            instruction = self.code.get(at)  # type: ignore[arg-type]
            if instruction is None:
                raise NotProved(f"a jump out of the function, to {at}")
            self.seen.add(instruction.address)
            try:
                at = self.step(instruction)
            except NotProved as error:
                raise NotProved(f"{instruction}: {error}") from None
            except (
                KeyError, IndexError, TypeError, ValueError, AttributeError, AssertionError,
            ) as error:  # fmt: skip
                raise NotProved(f"{instruction}: not understood ({error!r})") from None
            if at is None:
                return
        raise NotProved(f"no return within {self.limit} instructions")
