"""The common part of both machines: registers and memory of words, and the run of a function.

A function is run from its first instruction to its return, on words of words.py. Whatever its course depends on
(counters, addresses, tables) must be known, so there is one path and it is run whole. Memory is regions of 64-bit
words: the function's operands, the stack below the return address, and the program's own constants.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from words import ONES, NotProved, Space, Word

LIMIT = 1 << 17
"""Instructions after which a run is given up."""


@dataclass(frozen=True)
class Pointer:
    """A place in a region."""

    region: str
    offset: int

    def __add__(self, by: int) -> Pointer:
        by &= ONES
        return Pointer(self.region, self.offset + (by - (1 << 64) if by >> 63 else by))


@dataclass(frozen=True)
class Opaque:
    """The content of a register at the entry, which the function may only keep."""

    name: str


@dataclass(frozen=True)
class LowByte:
    """A register of which only the low byte is known: enough for a mask of eight lanes."""

    number: int


Content = Word | Pointer | Opaque | LowByte


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
class Machine(ABC):
    """Registers and memory.

    `image(address, count)`: constants of the program, empty where it has none.
    `callee(place)`: the name of the other library's function whose address is at a place.
    `kept`: the registers that belong to the caller.
    `compared`: the operands of the last comparison, None where the flags are not known.
    """

    space: Space
    code: dict[int, Instruction]
    image: Callable[[int, int], bytes]
    callee: Callable[[Content], str | None]
    kept: tuple[str, ...]
    registers: dict[str, Content] = field(default_factory=dict)
    vectors: dict[int, list[Word]] = field(default_factory=dict)
    memory: dict[str, dict[int, Content]] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    alignments: dict[str, int] = field(default_factory=dict)
    """By region, what divides the address of its beginning."""
    stack: int = 0
    """The stack pointer at the entry, an offset in the region `stack`."""
    at: int = 0
    compared: tuple[int, int] | None = None

    @abstractmethod
    def start(self, stack: int) -> None:
        """Set registers and stack as at an entry; `stack`: the stack pointer's offset."""

    @abstractmethod
    def check_return(self) -> None:
        """NotProved where a register that belongs to the caller is not as it was."""

    def load(self, place: Content) -> Content:
        """Return the aligned word at a place."""
        if not isinstance(place, Pointer):
            raise NotProved(f"a load from {place}")
        if place.region == "image":
            content = self.image(place.offset, 8)
            if len(content) != 8:
                raise NotProved(f"a load from {place}")
            return int.from_bytes(content, "little")
        word = self.memory[place.region].get(place.offset)
        if place.offset % 8 or word is None or not self.is_mine(place):
            raise NotProved(f"a load from {place}, where nothing is")
        return word

    @abstractmethod
    def floor(self) -> int:
        """Return the lowest place of the stack that no signal handler may overwrite."""

    def is_mine(self, place: Pointer) -> bool:
        """Return whether the function may use a place, if that is of the stack: not the return address."""
        return place.region != "stack" or self.floor() <= place.offset < self.stack

    def check_alignment(self, place: Content, count: int) -> None:
        """NotProved where the address may not be a multiple of `count`."""
        if not isinstance(place, Pointer):
            raise NotProved(f"an access to {place}")
        whole = place.region == "image" or self.alignments[place.region] % count == 0
        if not whole or place.offset % count:
            raise NotProved(f"an aligned access to {place}")

    def store(self, place: Content, word: Content) -> None:
        if not isinstance(place, Pointer) or place.offset % 8:
            raise NotProved(f"a store to {place}")
        size = self.sizes.get(place.region)
        inside = size is not None and 0 <= place.offset < size
        if not (self.is_mine(place) if place.region == "stack" else inside):
            raise NotProved(f"a store outside the function's memory: {place}")
        self.memory[place.region][place.offset] = word

    def word(self, content: Content) -> Word:
        if isinstance(content, Pointer | Opaque | LowByte):
            raise NotProved(f"arithmetic with {content}")
        return content

    def number(self, content: Content) -> int:
        if not isinstance(content, int):
            raise NotProved("the function's course depends on its operands")
        return content

    def add(self, a: Content, b: Content) -> Content:
        if isinstance(a, Pointer) and isinstance(b, int):
            return a + b
        if isinstance(b, Pointer) and isinstance(a, int):
            return b + a
        if isinstance(a, int) and isinstance(b, int):
            return (a + b) & ONES
        raise NotProved("a sum of operands")

    def subtract(self, a: Content, b: Content) -> Content:
        if isinstance(a, Pointer) and isinstance(b, Pointer) and a.region == b.region:
            return (a.offset - b.offset) & ONES
        return self.add(a, -self.number(b) & ONES)

    @abstractmethod
    def step(self, instruction: Instruction) -> int | None:
        """Execute an instruction; return the address of the next, None at the return."""

    def run(self) -> None:
        """Run to the return."""
        at: int | None = self.at
        for _ in range(LIMIT):
            instruction = self.code.get(at)  # type: ignore[arg-type]
            if instruction is None:
                raise NotProved(f"a jump out of the function, to {at}")
            try:
                at = self.step(instruction)
            except NotProved as error:
                raise NotProved(f"{instruction}: {error}") from None
            except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
                raise NotProved(f"{instruction}: not understood ({error!r})") from None
            if at is None:
                return
        raise NotProved(f"no return within {LIMIT} instructions")
