"""An instruction as the reading sees it, whatever the machine."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Access:
    """The address base + index * something + displacement; without base it is that of a constant."""

    base: str | None
    index: str | None
    displacement: int
    size: int


@dataclass
class Op:
    address: int
    size: int
    text: str
    kind: str = ""  # call, jump, branch, return, end
    reads: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)  # replaced
    merges: set[str] = field(default_factory=set)  # replaced in part
    access: Access | None = None
    loads: bool = False
    stores: bool = False
    addresses: set[str] = field(default_factory=set)  # registers that are addresses or lengths
    scaled: bool = False  # addresses that no access describes
    divides: bool = False
    unknown: bool = False
    idiom: bool = False  # the result does not depend on the operands
    target: int | None = None
    target_register: str | None = None
    into: str | None = None
    copy: str | None = None  # into = copy
    kept: str | None = None  # what is stored as it is
    added: int | None = None  # into += added
    lea: Access | None = None
    constant: int | None = None  # into = constant
    push: bool = False
    pop: bool = False
    moved_stack: bool = False
    aligns: bool = False
    # A second register of a pair that is stored or loaded, and how far the base moves, before or after.
    pair: list[str] = field(default_factory=list)
    moves_base: int | None = None
    moves_before: bool = False

    def sources(self, operands, register, memory, x) -> None:  # type: ignore[no-untyped-def]
        for o in operands:
            if o.type == x.X86_OP_REG:
                self.reads.add(register(o))
            elif o.type == x.X86_OP_MEM:
                self.access, self.loads = memory(o), True
