"""The operands that an instruction of AArch64 reads and writes, from Capstone and by mnemonic."""

from __future__ import annotations

import re

import capstone as cs
from capstone import arm64_const as a
from ops import Access, Op

GENERAL = tuple(f"r{i}" for i in range(9))
KEPT = {*(f"r{i}" for i in range(19, 30)), "sp", *(f"v{i}" for i in range(8, 16))}
STACK = "sp"
RETURNED = ("r0", "r1", "v0", "v1")
ENTRY_STACK = 0


def decoder() -> cs.Cs:
    return cs.Cs(cs.CS_ARCH_ARM64, cs.CS_MODE_ARM)


def family(name: str) -> str:
    if name in ("wzr", "xzr"):
        return "zero"
    if name in ("sp", "wsp"):
        return "sp"
    if m := re.fullmatch(r"[wx](\d+)", name):
        return "r" + m[1]
    if m := re.fullmatch(r"[vzqdshb](\d+)", name):
        return "v" + m[1]
    return {"fp": "r29", "lr": "r30"}.get(name, name)


READS_FLAGS = re.compile(
    r"b\.\w+|csel|csinc|csinv|csneg|cset|csetm|cinc|cinv|cneg|ccmp|ccmn|adcs?|sbcs?|ngcs?|fcsel"
)
FLAGS = re.compile(r"adds|subs|ands|bics|cmp|cmn|tst|ccmp|ccmn|negs|adcs|sbcs|ngcs|fcmpe?|fccmp")
COMPARES = re.compile(
    r"cmp|cmn|tst|ccmp|ccmn|fcmpe?|nop|hint|bti|pac\w+|aut\w+|dmb|dsb|isb|prfm|clrex"
)
READS_FIRST = re.compile(
    r"movk|bfi|bfxil|bfm|ins|ml[as]|[us]ml[as]l2?|sqdml[as]l2?|[us]aba(l2?)?|[us]adalp|sli|sri|bsl|bit|bif|tbx"
    r"|fml[as]|sqrdml[as]h|[us]r?sra|u?sqxtu?n2|xtn2|sq?r?shru?n2|uq?r?shrn2|r?shrn2|r?addhn2|r?subhn2|[us]dot"
    r"|sha\w+|aes[ed]"
)
# Others whose first operand is written and not read.
OVERWRITES = re.compile(
    r"mov|movz|movn|mvn|movi|mvni|dup|umov|smov|fmov|add[sp]?|sub[s]?|and[s]?|or[rn]|eo[rn]|bic[s]?|neg[s]?|"
    r"adcs?|sbcs?|ngcs?|mul|madd|msub|mneg|[us]m(add|sub|neg)l|[us]mull?2?|[us]mulh|pmull?2?|ls[lr]v?|asrv?|rorv?|extr|ubfx|sbfx|ubfiz|"
    r"sbfiz|ubfm|sbfm|uxt[bhw]|sxt[bhw]|adrp?|cset\w?|csel|csinc|csinv|csneg|cinc|cinv|cneg|clz|cls|rbit|rev(16|32|64)?|"
    r"cm(eq|gt|ge|hi|hs|lt|le|tst)|fcsel|abs|[us](min|max)[pv]?|addv|[us]addlv|[us]?addl[p]?2?|[us]subl2?|[us](add|sub)w2?|"
    r"[us]h(add|sub)|[us]rhadd|[us]q(add|sub)|[us]abd(l2?)?|sqr?dmulh|sqdmull2?|sshll?2?|ushll?2?|shll?2?|[us]xtl2?|xtn|"
    r"[us]?q?r?shru?n|[us]r?shr|[us]r?shl|shl|u?sqxtu?n|r?addhn|r?subhn|zip[12]|uzp[12]|trn[12]|ext|tbl|cnt|not|"
    r"eor3|bcax|rax1|xar|[us]div|mrs|rdvl|cnt[bhwd]|sqneg|sqabs|faddp?|fmul|fneg|fabs|scvtf|ucvtf|ror|crc32\w+"
)
# Other names of instructions that insert bits, of which Capstone's table says that they keep others, and
# loads, constants and table look-ups, of which it says that they read what they write.
NOT_READ = re.compile(r"ls[lr]|asr|ror|ushr|[su]xt\w|[su]bfi?[zx]|ld[1-4]r?|mvni|tbl")
DIVIDES = re.compile(r"[us]div|fdiv|fsqrt")
# SVE, as far as tuned builds use it: a vector is that register's first 128 bits and more.
SCALABLE = re.compile(r"[zp]\d+")
SVE_OVERWRITES = re.compile(
    r"mov|movprfx|index|ptrue|pfalse|sel|eor|orr|and|add|sub|abs|cnt|[us](min|max)|eorv|orv|cmp(eq|ne|g[et]|l[et])"
)
SVE_FLAGS = re.compile(r"ptest|cmp(eq|ne|g[et]|l[et])")


def decode(i: cs.CsInsn) -> Op:
    name = i.mnemonic
    op = Op(i.address, i.size, f"{i.mnemonic} {i.op_str}")
    operands = list(i.operands)

    def register(o: object) -> str:
        return family(i.reg_name(o.reg))

    def memory(o: object, size: int) -> Access:
        m = o.mem
        return Access(
            family(i.reg_name(m.base)),
            family(i.reg_name(m.index)) if m.index else None,
            m.disp,
            size,
        )

    if any(o.type == a.ARM64_OP_REG and SCALABLE.fullmatch(i.reg_name(o.reg)) for o in operands):
        return scalable(i, op, operands)
    registers = [register(o) for o in operands if o.type == a.ARM64_OP_REG]
    immediates = [o.imm for o in operands if o.type == a.ARM64_OP_IMM]
    if READS_FLAGS.fullmatch(name):
        op.reads.add("flags")
    if FLAGS.fullmatch(name):
        op.writes.add("flags")
    if name == "b" or name.startswith("b.") or name in ("cbz", "cbnz", "tbz", "tbnz"):
        op.kind = "jump" if name == "b" else "branch"
        op.reads |= set(registers)
        op.target = immediates[-1]
        return op
    if name in ("bl", "blr"):
        op.kind = "call"
    elif name == "br":
        op.kind = "jump"
    elif name in ("ret", "retaa", "retab"):
        op.kind = "return"
        return op
    elif name in ("brk", "udf", "hlt"):
        op.kind = "end"
        return op
    if op.kind:
        op.target = immediates[0] if immediates else None
        op.target_register = registers[0] if registers else None
        return op
    if DIVIDES.fullmatch(name):
        op.divides = True
    if COMPARES.fullmatch(name):
        op.reads |= set(registers)
        return tidy(op)
    memories = [o for o in operands if o.type == a.ARM64_OP_MEM]
    if memories:
        before = operands[: operands.index(memories[0])]
        after = operands[operands.index(memories[0]) + 1 :]
        moved = [register(o) for o in before]
        size = sum(width(i.reg_name(o.reg), o) for o in before)
        op.access = memory(memories[0], size)
        for o in after:
            if o.type == a.ARM64_OP_REG:
                op.reads.add(register(o))
                op.merges.add(op.access.base or "")
            else:
                op.moves_base = o.imm
        if i.writeback and not after:
            op.moves_base, op.moves_before = op.access.displacement, True
        if after:
            op.access = Access(op.access.base, op.access.index, 0, size)
        if name.startswith("st"):
            op.stores = True
            op.reads |= set(moved)
            if name.startswith(("stx", "stlx")):
                op.reads.discard(moved[0])
                op.writes.add(moved[0])
            op.pair = moved
        elif name.startswith("ld"):
            op.loads = True
            lane = any(o.vector_index != -1 for o in before)
            if lane:
                op.reads |= set(moved)
            (op.merges if lane else op.writes).update(moved)
            op.pair = moved
            op.into = moved[0] if len(moved) == 1 else None
            if re.match(
                r"ld(add|clr|set|eor|smax|umax)|ldx|ldax|swp|cas", name
            ) and not name.startswith("ldxr"):
                op.stores = True
        elif re.match(r"cas|swp", name):
            op.loads = op.stores = True
            op.merges |= set(moved)
            op.reads |= set(moved)
        else:
            op.unknown = True
        return tidy(op)
    if not registers:
        op.unknown = not re.match(r"nop|hint|bti|yield|dmb|isb", name)
        return op
    first = registers[0]
    op.into = first
    op.reads |= set(registers[1:])
    inserted = name in ("mov", "fmov", "ins") and operands[0].vector_index != -1
    if READS_FIRST.fullmatch(name) or inserted:
        op.reads.add(first)
    elif not OVERWRITES.fullmatch(name):
        op.unknown = True
        op.reads.add(first)
    op.writes.add(first)
    if (
        name in ("eor", "sub", "bic")
        and len(registers) == 3
        and registers[1] == registers[2]
        and operands[-1].shift.type == 0
    ):
        op.reads -= {registers[1]}
        op.idiom = True
    if name in ("mov",) and len(registers) == 2 and not inserted:
        op.copy = registers[1]
    if name in ("add", "sub") and len(registers) == 2 and immediates:
        amount = immediates[0] << (operands[-1].shift.value if operands[-1].shift.type else 0)
        op.lea = Access(registers[1], None, amount if name == "add" else -amount, 0)
    if name in ("add", "sub") and len(registers) == 3 and first == "sp":
        op.moved_stack = True
    if name == "and" and first == "sp":
        op.aligns = True
    if name in ("adr", "adrp"):
        op.constant = immediates[0]
    return tidy(op)


def scalable(i: cs.CsInsn, op: Op, operands: list[object]) -> Op:
    """An instruction of SVE."""
    name = i.mnemonic
    registers = [family(i.reg_name(o.reg)) for o in operands if o.type == a.ARM64_OP_REG]
    memories = [o.mem for o in operands if o.type == a.ARM64_OP_MEM]
    if memories:
        # Its displacement is in lengths of a vector, which nobody knows: somewhere behind the base.
        base = family(i.reg_name(memories[0].base))
        op.access = Access(base, base, 0, 16)
        op.loads, op.writes = name == "ldr", set(registers)
        op.unknown = name != "ldr"
    elif name == "ptest":
        op.reads = set(registers)
    else:
        op.unknown = not SVE_OVERWRITES.fullmatch(name)
        op.into, op.writes, op.reads = registers[0], {registers[0]}, set(registers[1:])
        # Merged: lanes that the predicate leaves out are as they were.
        if op.unknown or "/m" in i.op_str:
            op.reads.add(registers[0])
    if SVE_FLAGS.fullmatch(name):
        op.writes.add("flags")
    return tidy(op)


def undecoded(code: bytes, address: int) -> Op:
    """The SHA3 instructions, which this Capstone does not know; others are unknown."""
    word = int.from_bytes(code, "little")
    op = Op(address, 4, f"{word:08x}")
    names = {0xCE000000: "eor3", 0xCE200000: "bcax", 0xCE600000: "rax1", 0xCE800000: "xar"}
    name = names.get(word & 0xFFE00000)
    if name is None:
        op.unknown = True
        return op
    op.writes = {f"v{word & 31}"}
    op.reads = {f"v{word >> 5 & 31}", f"v{word >> 16 & 31}"}
    if name in ("eor3", "bcax"):
        op.reads.add(f"v{word >> 10 & 31}")
    return op


def width(name: str, o: object) -> int:
    if name[0] == "v":
        return 16
    return {"w": 4, "x": 8, "q": 16, "d": 8, "s": 4, "h": 2, "b": 1}.get(name[0], 8)


def tidy(op: Op) -> Op:
    for registers in (op.reads, op.writes, op.merges):
        registers.discard("zero")
    return op
