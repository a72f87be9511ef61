"""The reading of one function: what of its registers may depend on a secret, at each instruction.

Memory is secret, so every load is, with three exceptions: constants, arguments on the stack, and
private stack places. Only this function's own direct accesses can reach such a place, where the
compiler keeps registers. Public are a function's arguments in registers, as long as no caller hands
over a secret. Found are conditional branches, indirect jumps, addresses, lengths and divisions that
may depend on a secret, and instructions that no rule knows."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType

import arm
import capstone as cs
import x86
from elf import Function, Program
from ops import Access, Op

# An offset from the stack pointer at entry ("S") or as aligned ("A"), a constant's address ("C"), or an
# address in what a public argument points to ("P").
Place = tuple[str, int]

# What is called from outside the library: never comes back, gives nothing secret back, or compares.
NEVER_BACK = re.compile(
    r"core::panicking|core::(slice|str)::.*fail|(unwrap|expect)_failed|handle_alloc_error|capacity_overflow|"
    r"_Unwind_Resume|panic_|^abort$|copy_from_slice_impl::len_mismatch|__stack_chk_fail|handle_error|::fail(ed)?$"
)
COPIES = re.compile(r"^_*(mem(cpy|move|set)|bzero)(@.*)?$")
COMPARES = re.compile(r"^_*(memcmp|bcmp)(@.*)?$")
PUBLIC_RESULT = re.compile(
    r"__rust_(alloc|dealloc|realloc|no_alloc)|__rdl_|^(malloc|calloc|realloc|free|posix_memalign)"
)


@dataclass(frozen=True)
class Finding:
    function: str
    address: int
    kind: str
    text: str


@dataclass
class State:
    secret: set[str]
    places: dict[str | Place, Place]  # what registers, and slots, hold
    slots: dict[Place, bool]
    # Registers, and slots, that hold 64 bits as they were in memory.
    whole: set[str | Place] = field(default_factory=set)

    def copy(self) -> State:
        return State(set(self.secret), dict(self.places), dict(self.slots), set(self.whole))

    def join(self, other: State) -> bool:
        """Return whether anything changed."""
        before = self.size()
        # What is whole on one way only must be public on the other.
        mine, its = self.whole - other.whole, other.whole - self.whole
        self.whole -= {w for w in mine if other.is_secret(w)}
        self.whole |= {w for w in its if not self.is_secret(w)}
        self.secret |= other.secret
        self.places = {r: p for r, p in self.places.items() if other.places.get(r) == p}
        for place, secret in other.slots.items():
            self.slots[place] = self.slots.get(place, False) or secret
        return before != self.size()

    def is_secret(self, what: str | Place) -> bool:
        return what in self.secret if isinstance(what, str) else self.slots.get(what, False)

    def size(self) -> tuple[int, ...]:
        return (
            len(self.secret),
            len(self.places),
            sum(self.slots.values()),
            len(self.slots),
            len(self.whole),
        )


@dataclass
class Summary:
    """The facts about a function that its callers and callees use."""

    arguments: set[str] = field(
        default_factory=set
    )  # arguments in which some caller hands over a secret
    computed: set[str] = field(
        default_factory=set
    )  # of those, which are not 64 bits as they were in memory
    back: set[str] = field(default_factory=set)  # results that may be secret


class Reader:
    def __init__(
        self,
        program: Program,
        ours: Callable[[str], object],
        public: Callable[[str], set[int]] = lambda _: set(),
    ) -> None:
        """`public` says of a function which arguments point to what is public."""
        self.program = program
        self.machine: ModuleType = x86 if program.machine == "x86_64" else arm
        self.decoder = self.machine.decoder()
        self.decoder.detail = True
        self.public = public
        self.ours = {a for a, f in program.functions.items() if ours(f.name)}
        self.summaries: dict[int, Summary] = defaultdict(Summary)
        self.callers: dict[int, set[int]] = defaultdict(set)
        self.code: dict[int, dict[int, Op]] = {}
        self.findings: dict[int, set[Finding]] = {}
        self.instructions = self.branches = 0

    def run(self) -> list[Finding]:
        for address in self.ours:
            self.code[address] = self.decoded(self.program.functions[address])
            self.instructions += len(self.code[address])
            self.branches += sum(op.kind == "branch" for op in self.code[address].values())
        waiting = sorted(self.ours)
        while waiting:
            repeated: set[int] = set()
            for address in waiting:
                before = {
                    a: (s.arguments | {"*" + r for r in s.computed}, set(s.back))
                    for a, s in list(self.summaries.items())
                }
                self.findings[address] = _Pass(self, address).run()
                for a, s in self.summaries.items():
                    passed, back = before.get(a, (set(), set()))
                    if s.arguments | {"*" + r for r in s.computed} != passed and a in self.ours:
                        repeated.add(a)
                    if s.back != back:
                        repeated |= self.callers[a]
            waiting = sorted(repeated)
        return sorted(
            (f for findings in self.findings.values() for f in findings), key=lambda f: f.address
        )

    def decoded(self, function: Function) -> dict[int, Op]:
        ops = {}
        at = 0
        while at < len(function.code):
            one = next(self.decoder.disasm(function.code[at:], function.address + at, 1), None)
            if one is None:
                if self.machine is arm:
                    op = arm.undecoded(function.code[at : at + 4], function.address + at)
                    ops[op.address] = op
                    at += 4
                    continue
                raise ValueError(
                    f"{function.name}: bytes at {function.address + at:#x} are no instruction"
                )
            op = ops[one.address] = self.machine.decode(one)
            op.unknown |= not op.kind and not op.idiom and bool(self.more_read(one, op))
            at += one.size
        return ops

    def more_read(self, one: cs.CsInsn, op: Op) -> set[str]:
        """The registers that the instruction reads in Capstone's table, and not by the rules."""
        if self.machine.NOT_READ.fullmatch(one.mnemonic):
            return set()
        names = {one.reg_name(number) for number in one.regs_access()[0]}
        flags = {"rflags", "eflags", "nzcv"}
        there = {"flags" if name in flags else self.machine.family(name) for name in names}
        here = (
            op.reads
            | op.addresses
            | op.merges
            | {self.machine.STACK, "rip", "zero", "mxcsr", "fpcr"}
        )
        return there - here - ({op.access.base, op.access.index} if op.access else set())


class _Pass:
    def __init__(self, reader: Reader, address: int) -> None:
        self.reader, self.machine = reader, reader.machine
        self.program = reader.program
        self.address = address
        self.function = self.program.functions[address]
        self.ops = reader.code[address]
        self.stack = self.machine.STACK
        self.findings: set[Finding] = set()
        self.back: set[str] = set()
        # Of the stack: places whose address is in a register, registers compared with the stack pointer,
        # direct accesses.
        self.taken: set[tuple[Place, str]] = set()
        self.probes: set[str] = set()
        self.direct: set[tuple[Place, int]] = set()
        self.private: dict[Place, int] = {}

    def run(self) -> set[Finding]:
        self.fixpoint()
        self.private = self.own_slots()
        self.findings, self.back = set(), set()
        self.fixpoint()
        summary = self.reader.summaries[self.address]
        summary.back |= self.back
        return self.findings

    def own_slots(self) -> dict[Place, int]:
        """Places on the stack below every place whose address is taken, always accessed at the same
        offset, with the greatest size."""
        lowest: dict[str, int] = {}
        for (base, offset), register in self.taken:
            if register not in self.probes:
                lowest[base] = min(offset, lowest.get(base, offset))
        sizes: dict[Place, int] = {}
        for place, size in self.direct:
            sizes[place] = max(size, sizes.get(place, 0))
        result = {}
        for place, size in sizes.items():
            base, offset = place
            below = offset + size <= lowest.get(base, 1 << 62)
            lapped = any(
                b == base and o != offset and o < offset + size and offset < o + s
                for (b, o), s in sizes.items()
            )
            if below and not lapped:
                result[place] = size
        return result

    def fixpoint(self) -> None:
        passed = self.reader.summaries[self.address].arguments
        # What a vector register or a mask holds on entry is nobody's argument.
        whole = passed - self.reader.summaries[self.address].computed
        start = State(
            {
                *passed,
                *(
                    x + str(i)
                    for x, count in (("v", 32), ("k", 8), ("p", 16))
                    for i in range(count)
                ),
            },
            {self.stack: ("S", 0)},
            {},
            set(whole),
        )
        for number in self.reader.public(self.function.name):
            start.places[self.machine.GENERAL[number]] = ("P", 0)
        states = {self.address: start}
        targeted = {op.target for op in self.ops.values() if op.target is not None}
        waiting = [self.address]
        tables: list[State] = []
        while waiting:
            at = waiting.pop()
            state = states[at].copy()
            while True:
                op = self.ops[at]
                next_at = at + op.size
                jumps = self.step(op, state)
                if op.kind == "jump" and op.target is None and jumps:
                    tables.append(state.copy())
                to = [op.target] if op.kind in ("branch", "jump") and op.target in self.ops else []
                for target in to:
                    assert target is not None
                    if target not in states:
                        states[target] = state.copy()
                        waiting.append(target)
                    elif states[target].join(state):
                        waiting.append(target)
                if op.kind in ("jump", "return", "end") or next_at not in self.ops:
                    break
                if op.kind == "call" and not jumps:
                    break
                if op.kind == "branch":
                    self.after_probe(op, state)
                if next_at in states:
                    if states[next_at].join(state):
                        waiting.append(next_at)
                    break
                if next_at in targeted or op.kind == "branch":
                    states[next_at] = state.copy()
                at = next_at
            if not waiting and tables:
                # A table of jumps goes to what nothing else reaches.
                whole = tables[0]
                for other in tables[1:]:
                    whole.join(other)
                reached = self.reached(states)
                ends = {"jump", "return", "end"}
                previous = None
                for address, op in self.ops.items():
                    leads = previous is None or previous.kind in ends or (previous.kind == "call")
                    if address not in reached and leads and address not in states:
                        states[address] = whole.copy()
                        waiting.append(address)
                        break
                    previous = op

    def reached(self, states: dict[int, State]) -> set[int]:
        seen: set[int] = set()
        for start in states:
            at = start
            while at in self.ops and at not in seen:
                seen.add(at)
                op = self.ops[at]
                if op.kind in ("jump", "return", "end") or self.ends(op):
                    break
                at += op.size
        return seen

    def ends(self, op: Op) -> bool:
        return op.kind == "call" and NEVER_BACK.search(str(self.callee(op))) is not None

    def report(self, op: Op, kind: str) -> None:
        self.findings.add(Finding(self.function.name, op.address, kind, op.text))

    def after_probe(self, op: Op, state: State) -> None:
        """Where a loop that touches the stack's pages ends, the stack pointer is what it was compared with."""
        if self.stack not in state.places and op.address in self.ops:
            for register in self.probes:
                if register in state.places:
                    state.places[self.stack] = state.places[register]

    def plain(self, op: Op) -> bool:
        return re.match(r"(movabs|mov|ldu?r|ldp|pop) ", op.text) is not None

    # One instruction.

    def step(self, op: Op, state: State) -> bool:
        """Changes the state; false where nothing comes after."""
        if op.unknown:
            self.report(op, "unknown instruction")
        secret = bool(op.reads & state.secret)
        if op.kind == "branch" and secret:
            self.report(op, "branch")
        if op.kind in ("call", "jump") and not (op.kind == "jump" and op.target in self.ops):
            return self.call(op, state)
        if op.kind == "return":
            self.back |= state.secret & set(self.machine.RETURNED)
        if op.kind:
            return True
        if op.text.startswith("cmp") and self.stack in op.reads:
            self.probes |= op.reads - {self.stack}
        loaded = False
        if op.access is not None:
            loaded = self.accessed(op, op.access, state)
        if op.addresses & state.secret:
            self.report(op, "address")
        if op.loads and op.access is None:
            loaded = True
        if op.divides and (secret or (op.loads and loaded)):
            self.report(op, "division")
        secret = secret or (op.loads and loaded)
        place = self.result(op, state)
        # 64 bits from memory or from a register that has such.
        size = op.access.size // max(len(op.pair), 1) if op.access else 0
        whole = (
            op.loads
            and size == 8
            and not (op.reads - {op.access.base, op.access.index} if op.access else op.reads)
            and self.plain(op)
        )
        whole |= op.copy in state.whole
        for register in op.writes:
            (state.whole.add if whole else state.whole.discard)(register)
            state.places.pop(register, None)
            (state.secret.add if secret else state.secret.discard)(register)
        for register in op.merges:
            state.whole.discard(register)
            state.places.pop(register, None)
            if secret:
                state.secret.add(register)
        if op.into and place:
            state.places[op.into] = place
        if op.push or op.pop:
            self.moved(state, -8 if op.push else 8)
        if op.moves_base is not None and op.access and op.access.base in state.places:
            base, offset = state.places[op.access.base]
            state.places[op.access.base] = (base, offset + op.moves_base)
        return True

    def moved(self, state: State, by: int) -> None:
        if self.stack in state.places:
            base, offset = state.places[self.stack]
            state.places[self.stack] = (base, offset + by)

    def result(self, op: Op, state: State) -> Place | None:
        """The place whose address `into` is from here on."""
        if op.aligns:
            return ("A", 0)
        if op.constant is not None:
            return ("C", op.constant)
        place = None
        if op.copy:
            place = state.places.get(op.copy)
        elif op.lea:
            if op.lea.base is None:
                return ("C", op.lea.displacement) if op.lea.index is None else None
            at = state.places.get(op.lea.base)
            for register in (op.lea.base, op.lea.index):
                if state.places.get(register or "", ("",))[0] == "P":
                    return ("P", 0)
            if at and at[0] == "C":
                return None if op.lea.index else ("C", at[1] + op.lea.displacement)
            if at:
                place = (at[0], at[1] + op.lea.displacement)
                if op.lea.index:
                    self.taken.add((place, "index"))
                    return None
            elif (
                op.lea.index
                and op.lea.index in state.places
                and state.places[op.lea.index][0] != "C"
            ):
                self.taken.add((state.places[op.lea.index], "index"))
                return None
        elif op.added is not None and op.into in state.places:
            base, offset = state.places[op.into]
            place = (base, offset + op.added if base != "P" else 0)
        elif (
            op.into
            and op.into in op.reads
            and state.places.get(op.into, ("",))[0] == "P"
            and op.text.startswith(("add ", "sub "))
        ):
            place = ("P", 0)
        elif op.loads and op.access and op.into and self.slot(op, state) in self.private:
            return state.places.get(self.slot(op, state))
        else:
            # Computed with in another way: its address is taken, as it has been since it got there.
            for register in op.reads:
                at = state.places.get(register)
                if at and at[0] not in "CP" and op.into and not op.stores:
                    self.taken.add((at, "computed"))
        if place and place[0] not in "CP" and op.into not in (self.stack, "rbp", "r29"):
            self.taken.add((place, op.into or ""))
        return place

    def accessed(self, op: Op, access: Access, state: State) -> bool:
        """Return whether the value loaded there may be secret; record a stored value."""
        steering = {r for r in (access.base, access.index) if r and r != "zero"}
        if steering & state.secret - ({access.base} & state.whole):
            self.report(op, "address")
        place = state.places.get(access.base) if access.base else ("C", 0)
        if place is None or place[0] in "CP":
            indexed = state.places.get(access.index) if access.index else None
            if indexed and indexed[0] not in "CP":
                self.taken.add((indexed, "index"))
            return place is None and not (indexed and indexed[0] == "P")
        place = self.slot(op, state)
        assert place
        offset = place[1]
        if access.index:
            self.taken.add((place, "index"))
            return True
        parts = op.pair or [op.into or ""]
        size = max(access.size // len(parts), 1)
        secret = False
        for number in range(len(parts)):
            part = (place[0], offset + number * size)
            self.direct.add((part, size))
            if op.loads:
                if part in self.private:
                    secret |= state.slots.get(part, False)
                elif not (part[0] == "S" and part[1] >= self.machine.ENTRY_STACK):
                    secret = True
            if op.stores:
                sources = {parts[number]} if op.pair else op.reads - steering
                stored = bool(sources & state.secret) or (op.loads and secret)
                whole = size >= self.private.get(part, size)
                if part in self.private:
                    kept = op.pair[number] if op.pair else op.kept
                    (state.whole.add if size == 8 and kept in state.whole else state.whole.discard)(
                        part
                    )
                    state.places.pop(part, None)
                    if kept in state.places and size == 8:
                        state.places[part] = state.places[kept]
                    state.slots[part] = stored or (not whole and state.slots.get(part, False))
        return secret

    def slot(self, op: Op, state: State) -> Place | None:
        """The place on the stack that is accessed, or where an index into it begins."""
        at = state.places.get(op.access.base) if op.access and op.access.base else None
        if not at or not op.access:
            return None
        return (
            at[0],
            at[1] + (op.access.displacement if op.moves_base is None or op.moves_before else 0),
        )

    def callee(self, op: Op) -> str | int | None:
        """A function of ours by its address, another by its name; None where it is not known."""
        target: int | str | None = op.target
        if target is None and op.access and op.access.base is None and op.access.index is None:
            target = self.program.slots.get(op.access.displacement)
        if isinstance(target, int):
            if target in self.reader.ours:
                return target
            return self.program.name(target) or self.linked(target)
        return target

    def linked(self, address: int) -> str | None:
        """Return the target of a stub of the linker."""
        constant = 0
        for i in self.reader.decoder.disasm(self.program.bytes_at(address, 16), address):
            op = self.machine.decode(i)
            if op.constant is not None:
                constant = op.constant
            elif op.access is not None:
                slot = self.program.slots.get(
                    op.access.displacement + (constant if op.access.base else 0)
                )
                return self.program.name(slot) if isinstance(slot, int) else slot
        return None

    def call(self, op: Op, state: State) -> bool:
        callee = self.callee(op)
        machine = self.machine
        if op.target_register in state.secret - state.whole:
            self.report(op, "jump")
        if op.access is not None:
            self.accessed(op, op.access, state)
        if op.kind == "jump" and callee is None:
            return True  # a table in this function
        passed = state.secret & set(machine.GENERAL)
        back: set[str]
        if isinstance(callee, int):
            self.reader.callers[callee].add(self.address)
            summary = self.reader.summaries[callee]
            summary.arguments |= passed
            summary.computed |= passed - state.whole
            back = set(summary.back)
        elif callee and NEVER_BACK.search(callee):
            return False
        elif callee and COPIES.search(callee):
            filled = "memset" in callee
            steering = [r for i, r in enumerate(machine.GENERAL[:3]) if not (filled and i == 1)]
            if passed & set(steering):
                self.report(op, "address")
            back = set()
        elif callee and COMPARES.search(callee):
            self.report(op, "comparison that ends early")
            back = {machine.RETURNED[0]}
        elif callee and PUBLIC_RESULT.search(callee):
            back = set()
        else:
            back = set(machine.RETURNED)
        if op.kind == "jump":
            self.back |= back
            return True
        for held in list(state.places):
            if isinstance(held, str) and held not in machine.KEPT:
                del state.places[held]
        general = {r for r in state.secret if r in machine.KEPT}
        state.whole = {w for w in state.whole if w in machine.KEPT or not isinstance(w, str)}
        # What a caller saves is as good as gone.
        vectors = {f"v{i}" for i in range(32)} - machine.KEPT
        if callee is None:
            # What a function gives back whose address is in memory is as good as in memory itself.
            state.whole |= back
        state.secret = general | back | vectors | {f"k{i}" for i in range(8)}
        return True
