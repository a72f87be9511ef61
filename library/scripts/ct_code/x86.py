"""The operands that an instruction of x86-64 reads and writes, from Capstone.

Which operands are written is decided by mnemonic. An instruction that no rule knows is a finding, and so
is one of which Capstone's own table says that it reads more."""

from __future__ import annotations

import re

import capstone as cs
from capstone import x86_const as x
from ops import Access, Op

GENERAL = ("rdi", "rsi", "rdx", "rcx", "r8", "r9")
KEPT = {"rbx", "rbp", "rsp", "r12", "r13", "r14", "r15"}
STACK = "rsp"
RETURNED = ("rax", "rdx", "v0", "v1")
ENTRY_STACK = 8  # below it the caller's return address, above the arguments


def decoder() -> cs.Cs:
    return cs.Cs(cs.CS_ARCH_X86, cs.CS_MODE_64)


_OLD = {"a": "rax", "b": "rbx", "c": "rcx", "d": "rdx"}


def family(name: str) -> str:
    """The register of which this is a part."""
    if m := re.fullmatch(r"[xyz]mm(\d+)", name):
        return "v" + m[1]
    if m := re.fullmatch(r"(r\d+)[dwb]?", name):
        return m[1]
    if m := re.fullmatch(r"[re]?([abcd])x|([abcd])[lh]", name):
        return _OLD[m[1] or m[2]]
    if m := re.fullmatch(r"[re]?(si|di|bp|sp|ip)|(si|di|bp|sp)l", name):
        return "r" + (m[1] or m[2])
    return name


CONDITION = r"(a|ae|b|be|c|e|g|ge|l|le|na|nae|nb|nbe|nc|ne|ng|nge|nl|nle|no|np|ns|nz|o|p|pe|po|s|z)"
JUMP = re.compile(rf"j{CONDITION}|j[re]?cxz|loop\w*")
READS_FLAGS = re.compile(rf"(cmov|set|j){CONDITION}|adc|sbb|rcl|rcr|adcx|adox|cmc")
# Only flags, or nothing, is written.
COMPARES = re.compile(
    r"cmp|test|bt|v?u?comis[sd]|v?ptest|vtestp[sd]|kortest[bwdq]|ktest[bwdq]|push|nop|endbr64"
    r"|prefetch\w+|vzeroupper|vzeroall|[lms]fence|ud2|int3|pause|clc|stc|cmc|cld|hlt"
)
FLAGS = re.compile(
    r"cmp|test|bt[src]?|v?u?comis[sd]|v?ptest|vtestp[sd]|kortest[bwdq]|ktest[bwdq]|add|sub|and|x?or|"
    r"neg|sh[lr]|sa[lr]|sh[lr]d|imul|mul|adc|sbb|tzcnt|lzcnt|popcnt|bls[ir]|blsmsk|andn|bextr|bzhi|"
    r"xadd|cmpxchg\w*|clc|stc|idiv|div"
)
# Some of the flags stay.
SOME_FLAGS = re.compile(r"inc|dec|ro[lr]|rc[lr]|adcx|adox|bs[fr]|cmc")
# The first operand is written and not read.
OVERWRITES = re.compile(
    rf"mov\w*|lea|set{CONDITION}|pop|tzcnt|lzcnt|popcnt|pshuf\w+|rorx|bextr|andn|pext|pdep|sarx|shlx|shrx|"
    r"bls[ir]|blsmsk|bzhi|pmov\w+|pabs[bwd]|cvt\w+|pextr[bwdq]|lddqu|v\w+|k\w+|mulx|sqrt\w+"
)
# Of those above, which read it all the same.
READS_TOO = re.compile(
    r"vpternlog[dq]|vperm[it]2\w+|vfn?m\w+|vpdp\w+|vpmadd52\w+|vpsh[lr]dv\w+|mov[hl]p[sd]|movs[sd]|vgather\w+|vpgather\w+"
)
MODIFIES = re.compile(
    r"add|sub|and|x?or|neg|not|sh[lr]|sa[lr]|sh[lr]d|imul|adc|sbb|inc|dec|ro[lr]|rc[lr]|adcx|adox|bs[fr]|bt[src]|"
    rf"bswap|cmov{CONDITION}|p(add|sub|and|andn|or|xor|sll|srl|sra|cmp|max|min|mul|unpck|ack|madd|insr|avg|align|sign|hadd|sad|blend)\w*|"
    r"(add|sub|mul|and|andn|or|xor|unpck[lh]|shuf|min|max|div)p[sd]|(add|sub|mul|div|min|max)s[sd]|crc32|shufps|palignr|blend\w+"
)
SAME_IS_ZERO = re.compile(
    r"xor|sub|v?pxor[dq]?|v?xorp[sd]|v?psub[bwdq]|kxor[bwdq]|v?pcmpeq[bwdq]|v?pandn[dq]?|kxnor[bwdq]|v?pcmpgt[bwdq]"
)
# Where Capstone's table names a register that is not read.
NOT_READ = re.compile(r"nop|vpmov[bwdq]2m")
DIVIDES = re.compile(r"i?div|v?div[sp][sd]|v?sqrt[sp][sd]")


def decode(i: cs.CsInsn) -> Op:
    name = i.mnemonic.split()[-1]
    op = Op(i.address, i.size, f"{i.mnemonic} {i.op_str}")
    # A prefix: the strings' instructions, whose length is rcx and whose addresses rsi and rdi.
    if i.mnemonic.startswith("rep") or (
        re.fullmatch(r"(movs|stos|lods|scas|cmps)[bwdq]", name) and "xmm" not in i.op_str
    ):
        op.addresses |= {"rcx", "rsi", "rdi"}
        op.scaled = True
        if "stos" not in name:
            op.loads = True
        op.merges |= {"rcx", "rsi", "rdi"}
        return op
    operands = list(i.operands)
    kinds = [o.type for o in operands]

    def register(o: object) -> str:
        return family(i.reg_name(o.reg))

    def memory(o: object) -> Access | None:
        m = o.mem
        base = family(i.reg_name(m.base)) if m.base else None
        index = family(i.reg_name(m.index)) if m.index else None
        displacement = m.disp
        if base == "rip":
            return Access(None, index, i.address + i.size + displacement, o.size)
        return Access(base, index, displacement, o.size)

    if name == "call":
        op.kind = "call"
    elif name == "jmp":
        op.kind = "jump"
    elif JUMP.fullmatch(name):
        op.kind = "branch"
        if "cx" in name or name.startswith("loop"):
            op.reads.add("rcx")
    elif name in ("ret",):
        op.kind = "return"
    elif name in ("ud2", "hlt", "int3"):
        op.kind = "end"
    if READS_FLAGS.fullmatch(name):
        op.reads.add("flags")
    if op.kind in ("call", "jump", "branch"):
        target = operands[0]
        if target.type == x.X86_OP_IMM:
            op.target = target.imm
        elif target.type == x.X86_OP_REG:
            op.target_register = register(target)
        else:
            op.access, op.loads = memory(target), True
        return op
    if op.kind:
        return op
    if FLAGS.fullmatch(name):
        op.writes.add("flags")
    elif SOME_FLAGS.fullmatch(name):
        op.merges.add("flags")
    if DIVIDES.fullmatch(name):
        op.divides = True
    if name in ("mul", "imul", "div", "idiv") and len(operands) == 1:
        op.reads |= {"rax"} | ({"rdx"} if "div" in name else set())
        op.writes |= {"rax", "rdx", "flags"}
        op.sources(operands, register, memory, x)
        return op
    if name in ("cdq", "cqo", "cwd", "cdqe", "cwde", "cbw"):
        op.reads.add("rax")
        op.writes.add("rdx" if name in ("cdq", "cqo", "cwd") else "rax")
        return op
    if name in ("cpuid", "xgetbv", "rdtsc", "rdtscp", "syscall"):
        op.writes |= {"rax", "rbx", "rcx", "rdx"}
        return op
    if name.startswith("lock"):
        name = name.split()[-1]
    if name in ("xchg", "xadd", "cmpxchg", "cmpxchg8b", "cmpxchg16b"):
        op.loads = op.stores = x.X86_OP_MEM in kinds
        for o in operands:
            if o.type == x.X86_OP_REG:
                op.reads.add(register(o))
                op.merges.add(register(o))
            elif o.type == x.X86_OP_MEM:
                op.access = memory(o)
        if name != "xchg":
            op.merges.add("rax")
        return op
    if name.startswith("lea"):
        op.writes.add(register(operands[0]))
        access = memory(operands[1])
        assert access
        op.lea = access
        op.reads |= {r for r in (access.base, access.index) if r}
        op.into = register(operands[0])
        return op
    if name == "nop":
        return op
    if COMPARES.fullmatch(name):
        op.sources(operands, register, memory, x)
        if name == "push":
            op.push = True
        return op
    if not operands:
        op.unknown = True
        return op
    first, rest = operands[0], operands[1:]
    overwrites, modifies = OVERWRITES.fullmatch(name), MODIFIES.fullmatch(name)
    if not overwrites and not modifies:
        op.unknown = True
    if name == "imul" and len(operands) == 3:
        overwrites, modifies = True, None
    masked = False
    if name.startswith("v") and rest and rest[0].type == x.X86_OP_REG:
        mask = i.reg_name(rest[0].reg)
        masked = bool(re.fullmatch(r"k\d", mask)) and not re.match(r"vpmovm2|vpbroadcastm", name)
    zeroing = "{z}" in i.op_str
    reads_first = (
        bool(modifies and not overwrites)
        or bool(READS_TOO.fullmatch(name))
        or (masked and not zeroing)
    )
    if name in ("movsd", "movss") and any(k == x.X86_OP_MEM for k in kinds):
        reads_first = False
    if name == "pop":
        op.pop = True
    same = [register(o) for o in operands if o.type == x.X86_OP_REG]
    if (
        SAME_IS_ZERO.fullmatch(name)
        and len(same) == len(operands)
        and len(set(same[-2:])) == 1
        and not masked
    ):
        op.writes.add(same[0])
        op.idiom = True
        return op
    if name.startswith("vpternlog") and operands[-1].imm & 0xFF in (0, 0xFF) and not masked:
        op.writes.add(same[0])
        op.idiom = True
        return op
    op.sources(rest[1:] if name == "mulx" else rest, register, memory, x)
    if "gather" in name or "scatter" in name:
        op.scaled = True
    if first.type == x.X86_OP_REG:
        into = register(first)
        part = first.size < 4 and into.startswith("r")
        if reads_first:
            op.reads.add(into)
        (op.merges if part else op.writes).add(into)
        if name == "mulx":
            op.writes.add(register(rest[0]))
            op.reads |= {"rdx"}
        if name in ("mov", "movabs") and first.size == 8 and rest[0].type == x.X86_OP_REG:
            op.copy = register(rest[0])
        if name in ("add", "sub") and rest[0].type == x.X86_OP_IMM and first.size == 8:
            op.added = rest[0].imm if name == "add" else -rest[0].imm
        if name in ("sub", "add") and rest[0].type == x.X86_OP_REG and into == "rsp":
            op.moved_stack = True
        if name == "and" and into == "rsp":
            op.aligns = True
        op.into = into
    elif first.type == x.X86_OP_MEM:
        op.access, op.stores = memory(first), True
        op.loads = op.loads or reads_first
        if name == "mov" and rest[0].type == x.X86_OP_REG:
            op.kept = register(rest[0])
    return op
