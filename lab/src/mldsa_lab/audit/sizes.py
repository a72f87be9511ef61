"""The rule about sizes: which object, encoding and standard a number of bytes is."""

from __future__ import annotations

from collections.abc import Iterator

from mldsa_lab.audit import rules
from mldsa_lab.audit.claims import Size
from mldsa_lab.audit.encodings import Form, forms
from mldsa_lab.audit.verdict import Judgement, Range, Verdict
from mldsa_lab.sets import PARAMETER_SETS


def judge_size(claim: Size) -> Iterator[Judgement]:
    """`size.encoding`: one finding, which says what has this size."""
    mine = [f for f in forms(claim.set) if f.object == claim.object]
    fitting = [f for f in mine if f.bytes == claim.bytes]
    agreeing = [f for f in fitting if _agrees(f, claim)]
    expected = [f for f in mine if _agrees(f, claim)] or mine
    sizes = sorted({f.bytes for f in expected})
    bare = list(dict.fromkeys(f.bytes for f in expected if f.encoding == "raw"))
    text = " or ".join(f"{size:,}" for size in bare or sizes) + " bytes"
    if bare and len(sizes) > len(bare):
        text += ", or an encoding's"
    predicted = Range(sizes[0], sizes[-1], text)
    verdict = Verdict.CONTRADICTION
    if agreeing:
        verdict, reading = Verdict.CONSISTENT, _sentence(agreeing, claim)
    elif found := next(iter([*fitting, *_elsewhere(claim)]), None):
        reading = f"The size of {found.text}."
    else:
        if claim.encoding == "unstated":
            verdict = Verdict.IMPLAUSIBLE
        reading = "No encoding or version known to this audit has this size."
    stated = f"{claim.bytes:,} bytes"
    yield Judgement(rules.SIZE, verdict, stated, predicted, reading, float(claim.bytes))


def _agrees(form: Form, claim: Size) -> bool:
    """Whether a form is what the source calls it. A name with ML-DSA in it means FIPS 204."""
    standard = claim.standard
    if standard == "unstated" and "dsa" in claim.set.named.lower():
        standard = "fips204"
    return standard in ("unstated", form.standard) and claim.encoding in ("unstated", form.encoding)


def _sentence(found: list[Form], claim: Size) -> str:
    """What has this size, and what follows for a reader."""
    versions = {f.standard for f in found}
    text = found[0].text[0].upper() + found[0].text[1:]
    if versions == {"fips204", "round3"}:
        return f"{text}, and the same in round 3."
    if versions == {"round3"}:
        own = next(f for f in forms(claim.set) if f.object == claim.object)
        return f"{text}; FIPS 204 has {own.bytes:,}. So this is not FIPS 204's {claim.set}."
    if found[0].encoding != "raw":
        own = next(f for f in forms(claim.set) if f.object == claim.object)
        return f"{text}; the bare bytes are {own.bytes:,}."
    return f"{text}."


def _elsewhere(claim: Size) -> list[Form]:
    """What else has this size: the same object of another set, another object of this set, or
    any."""
    others = [f for name in PARAMETER_SETS for f in forms(name) if f.bytes == claim.bytes]
    same = [f for f in others if f.object == claim.object]
    return [*same, *(f for f in others if f.set == claim.set), *others]
