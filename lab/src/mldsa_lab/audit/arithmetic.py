"""Rules of arithmetic: formulas over published values; spread, security strength, sizes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple, cast

from scipy.stats import norm, t

from mldsa_lab.audit import claims
from mldsa_lab.audit.claims import (
    ClaimTable,
    ConfidenceInterval,
    Size,
    Strength,
    Trimmed,
    TrimmedShare,
)
from mldsa_lab.audit.judgement import (
    CLOSE,
    MEASURED,
    Judgement,
    Span,
    StatedFigure,
    Verdict,
    judgement,
    limits,
    listed,
    meets,
    number,
    unit_text,
)
from mldsa_lab.estimate.figure import evaluate
from mldsa_lab.sets import ALL_SETS, PARAMETER_SETS, pkcs8_bytes, sizes

# Rules of arithmetic


FormulaNames = Mapping[str, StatedFigure | float | Sequence[StatedFigure]]


def check(
    rule: str,
    stated: StatedFigure,
    formula: str,
    figures: FormulaNames,
    claimed: str,
    reading: str = "",
    *,
    shown: Callable[[float], str] | None = None,
    **more: Any,
) -> Judgement:
    """Judge a published value by a formula over figures; ``shown``: a limit as text; ``more``: as
    of `judgement`."""
    expected = evaluate(formula, figures)
    if shown is not None:
        ends = dict.fromkeys(shown(end) for end in (expected.low, expected.high))
        more["predicted"] = " to ".join(ends)
    return judgement(
        rule, claimed, reading, stated=stated, low=expected.low, high=expected.high, **more
    )


def judge_product(claim: claims.Product, _: claims.ClaimTable) -> Iterator[Judgement]:
    """`product.follows`. Whole numbers among the factors are exact."""
    factors, over = (
        [f.exact(f.value.is_integer()) for f in figures.values()]
        for figures in (claim.factors, claim.over)
    )
    by = "".join(f" × {name}" for name in claim.factors)[3:]
    by += "".join(f" / {name}" for name in claim.over)
    unit = f"{unit_text(claim.unit)}, {claim.quantity}".removeprefix(", ")
    yield check(
        "product.follows", claim.stated, "product(factors) / product(over)",
        {"factors": factors, "over": over}, f"{claim.stated} {unit}", f"It is {by}.",
        may_be_cut=True,
    )  # fmt: skip


def judge_quotient(claim: claims.Quotient, table: claims.ClaimTable) -> Iterator[Judgement]:
    """`table.quotient`: one value lies between the least and the largest quotient of the pairs;
    limits cover all pairs."""
    tables = [cast("claims.ValueTable", table.claim(name)) for name in listed(claim.table)]
    quotients = {
        f"{part.id}: {cell}": evaluate(claims.FORMS[claim.form], {"value": value, "over": over})
        for part in tables
        for cell, (value, over) in part.pairs(claim.of, claim.over).items()
    }
    least, most = (pick(quotients, key=lambda n: quotients[n].value) for pick in (min, max))
    low, high = quotients[least], quotients[most]
    stated, texts, holds = claim.stated, [], True
    if stated is not None:
        texts.append(stated.text)
        ends = (stated.low, stated.high)
        holds = (
            meets(stated.low, low.low, high.high)
            if stated.one
            else all(meets(a, b.low, b.high) for a, b in zip(ends, (low, high), strict=True))
        )
    if claim.at_least is not None:
        texts.append(f"at least {claim.at_least.text}")
        holds &= meets(low, claim.at_least.value, None)
    if claim.at_most is not None:
        texts.append(f"at most {claim.at_most.text}")
        holds &= meets(high, None, claim.at_most.value)
    unit = "" if claim.form == "ratio" else "%"
    cells = dict.fromkeys((least, most))
    reading = f"{' to '.join(f'{number(quotients[n].value)} ({n})' for n in cells)}."
    yield judgement(
        "table.quotient", f"{claim.quantity}: {', '.join(texts)} {unit}".strip(), reading, holds,
        low=low.value, high=high.value, unit=unit,
    )  # fmt: skip


def judge_parts(claim: claims.Parts, _: claims.ClaimTable) -> Iterator[Judgement]:
    """`parts.sum` where there is a total, `parts.share` for each share."""
    is_count = claim.unit == "count"
    parts = {name: part.exact(is_count) for name, part in claim.parts.items()}
    total, unit = sum(part.value for part in parts.values()), unit_text(claim.unit)
    if claim.total is not None:
        stated, figures = claim.total.exact(is_count), {"parts": list(parts.values())}
        text = f"total {stated} {unit}"
        yield check("parts.sum", stated, "sum(parts)", figures, text, unit=unit)
    for share in claim.shares:
        chosen = [parts[name] for name in listed(share.of)]
        part = sum(figure.value for figure in chosen)
        yield check(
            "parts.share", share.percent, "100 / (1 + rest / sum(parts))",
            {"parts": chosen, "rest": total - part},
            statements_text([(f"{share.percent} %", share.where)]),
            f"{' + '.join(listed(share.of))} is {number(part)} of {number(total)} {unit}.",
            may_be_cut=True, unit="%",
        )  # fmt: skip


def judge_statements(claim: claims.Statements, _: claims.ClaimTable) -> Iterator[Judgement]:
    """`statements.agree`: numbers are one within rounding, limits are the same limits, and a
    number lies between limits."""
    unit = f" {unit_text(claim.unit)}" if claim.unit else ""
    pairs = combinations((entry.value for entry in claim.values), 2)
    text = statements_text([(entry.value.text + unit, entry.where) for entry in claim.values])
    inside = all(_one(a, b, claim.unit) for a, b in pairs)
    names = tuple(entry.where or str(place) for place, entry in enumerate(claim.values, 1))
    yield judgement(
        "statements.agree", text, claim.quantity, inside, predicted="one value", values=names
    )


def _one(a: Span, b: Span, unit: str) -> bool:
    """Return whether both can be one statement. Rounding that would have to fall on one edge, 2 and
    3 of 2.5, is none: whole numbers that differ are different."""
    (a_low, a_high), (b_low, b_high) = (
        [f.exact(unit == "count") for f in (x.low, x.high)] for x in (a, b)
    )
    if a.one != b.one:
        return a_high.high >= b_low.low and a_low.low <= b_high.high
    return all(
        x.value == y.value or min(x.high, y.high) - max(x.low, y.low) > CLOSE * x.value
        for x, y in ((a_low, b_low), (a_high, b_high))
    )


def judge_counted(claim: claims.Counted, _: claims.ClaimTable) -> Iterator[Judgement]:
    """`samples.agree`: counts of all and of each group. A count without a stated group is compared
    as either. If no number is stated for each group, the smallest counts a group and the others
    count all."""
    each, total, others = (
        {entry.count for entry in claim.values if entry.of == kind}
        for kind in ("group", "all", "unstated")
    )
    one = min(each or others or total)
    totals = total | (others - {one})
    verdict, predicted, reading = Verdict.CONTRADICTION, f"{one:,} × groups", ""
    if len(each) > 1 or len(total) > 1:
        predicted = "one number"
    elif len(each | total | others) == 1 and not (each and total):
        verdict, predicted = Verdict.CONSISTENT, "one number"
    elif claim.groups is not None:
        predicted = f"{one:,} × {claim.groups} = {one * claim.groups:,}"
        if totals == {one * claim.groups}:
            verdict = Verdict.CONSISTENT
    elif not each or (len(totals) == 1 and min(totals) % one == 0):
        verdict, groups = Verdict.UNDECIDABLE, min(totals) / one
        reading = f"They agree only if there are {number(groups)} groups, which is not stated."
    kinds = {"all": "all", "group": "each group", "unstated": ""}
    stated = statements_text(
        [(f"{entry.count:,}", entry.where or kinds[entry.of]) for entry in claim.values]
    )
    yield judgement("samples.agree", stated, reading, verdict, predicted=predicted)


def judge_limit(claim: claims.Limit, _: claims.ClaimTable) -> Iterator[Judgement]:
    """`limit.bits`."""
    is_bits = claim.unit == "bits"
    swapped = is_bits and meets(claim.called.exact(), claim.amount, claim.amount, MEASURED)
    yield check(
        "limit.bits", claim.called.exact(), "amount / 8" if is_bits else "amount",
        {"amount": StatedFigure(claim.amount)}, claim.called.text, allowed=MEASURED,
        shown=partial(_size, base=1024), fault="Bits were taken for bytes." if swapped else "",
    )  # fmt: skip


def judge_rate(claim: claims.Rate, table: claims.ClaimTable) -> Iterator[Judgement]:
    """`rate.bytes-over-time`."""
    moved = [f for f in (claim.bytes_read, claim.bytes_written) if f is not None]
    stated, time = claim.bytes_per_second, _time(claim, table)
    if stated is None or time is None or not moved:
        return
    yield check(
        "rate.bytes-over-time", stated, "sum(moved) / time", {"moved": moved, "time": time},
        f"{_size(stated.value)}/s", f"{claim.operations:,} operations take {number(time.low)} s "
        "or more.", allowed=MEASURED, shown=lambda end: f"{_size(end)}/s",
    )  # fmt: skip


def _time(claim: claims.Rate, table: claims.ClaimTable) -> StatedFigure | None:
    """The time of the operations, from the shortest to the longest: each may be any of those named,
    or all of them one after another. None where neither time nor cost is given."""
    if claim.seconds is not None:
        return claim.seconds
    costs = [cost for cost in table.named(claim.cost_of) if isinstance(cost, claims.Cost)]
    if not costs:
        return None
    ends = [
        [f * (cost.seconds or 0.0) for name, f in cost.figures.items() if name != "sd"]
        for cost in costs
    ]
    shortest = min(f.low for each in ends for f in each) / claim.workers
    longest = sum(max(f.high for f in each) for each in ends)
    return claim.operations * StatedFigure.between(shortest, shortest, longest)


def _size(size: float, base: int = 1000) -> str:
    """Bytes in the largest unit that they fill, of powers of 1000 or 1024."""
    units = ("bytes", "KiB", "MiB", "GiB", "TiB") if base == 1024 else ("B", "kB", "MB", "GB", "TB")
    step = 0
    while size >= base and step < len(units) - 1:
        size, step = size / base, step + 1
    return f"{number(size)} {units[step]}"


def statements_text(entries: Sequence[tuple[str, str]]) -> str:
    """The statements, each with its place."""
    return " and ".join(f"{text} ({where})" if where else text for text, where in entries)


# Rules about how a source treats its samples


def judge_trimmed(claim: Trimmed, _: ClaimTable) -> Iterator[Judgement]:
    """`trimmed.agree` of several statements; `trimmed.chauvenet` of each that names it."""
    shares = [_whole(v) for v in claim.values]
    if len(shares) > 1:
        ends = {"each end": " at each end", "all": ""}
        stated = [(f"{v.percent} %{ends[v.of]}", v.where) for v in claim.values]
        low, high = max(s.low for s in shares), min(s.high for s in shares)
        reading = f"Of all samples it is {' and '.join(f'{number(s.value)} %' for s in shares)}."
        yield judgement(
            "trimmed.agree", statements_text(stated), reading, low <= high, predicted="one share"
        )
    for value, share in zip(claim.values, shares, strict=True):
        if value.criterion == "chauvenet" and claim.samples is not None:
            yield _chauvenet(share, claim.samples)


def _whole(stated: TrimmedShare) -> StatedFigure:
    """The share of all samples, in percent. Whole numbers are exact."""
    percent = stated.percent.exact(stated.percent.value.is_integer())
    return percent * (2 if stated.of == "each end" else 1)


def _chauvenet(share: StatedFigure, samples: int) -> Judgement:
    """Half a sample of a normal law lies beyond the criterion's limit of z standard deviations;
    at most 1/z² of any data lies there (Chebyshev)."""
    z = float(norm.isf(1 / (4 * samples)))
    normal, most = 50 / samples, 100 / z**2
    verdict, reading = Verdict.CONSISTENT, ""
    if share.low > most:
        verdict = Verdict.CONTRADICTION
        reading = f"No data have more than {number(most)} % beyond {number(z)} deviations."
    elif share.low > normal:
        verdict = Verdict.UNDECIDABLE
        reading = f"Heavier tails may have up to {number(most)} %; their law is not stated."
    return judgement(
        "trimmed.chauvenet", f"{number(share.value)} % by Chauvenet's criterion", reading, verdict,
        low=0.0, high=most,
        predicted=f"{number(normal)} % of {samples:,} samples of a normal law",
    )  # fmt: skip


def judge_interval(claim: ConfidenceInterval, _: ClaimTable) -> Iterator[Judgement]:
    """`interval.width`."""
    tail = (1 - claim.confidence.value / 100) / 2
    samples = claim.samples
    text = f"{claim.confidence} % as ± {claim.width} {claim.of}"
    if claim.of == "sd" and (samples is None or samples < 2):
        yield judgement(
            "interval.width", text, "How far a mean may be off depends on the number of samples.",
            Verdict.UNDECIDABLE, predicted="sd over the root of the samples",
        )  # fmt: skip
        return
    errors = float(norm.isf(tail) if samples is None else t.isf(tail, max(samples - 1, 1)))
    width = errors / math.sqrt(samples) if claim.of == "sd" and samples else errors
    fault = ""
    if claim.of == "sd" and meets(claim.width, errors, errors):
        fault = (
            f"{claim.confidence} % of the single samples of a normal law lie so far "
            "about their mean. The mean itself is known better."
        )
    counted = f" of {samples:,} samples" if samples else ""
    yield judgement(
        "interval.width", text, fault=fault, stated=claim.width, low=width, high=width,
        predicted=f"± {limits(width, width, claim.of, claim.width)} for a mean{counted}",
    )  # fmt: skip


# The rule about security


_OF_BITS = {"128": 1, "192": 3, "256": 5}
CATEGORIES = {
    "ML-DSA-44": 2, "ML-DSA-65": 3, "ML-DSA-87": 5,
    "ML-KEM-512": 1, "ML-KEM-768": 3, "ML-KEM-1024": 5, "FN-DSA-512": 1, "FN-DSA-1024": 5,
    **{name: _OF_BITS[name[-4:-1]] for name in ALL_SETS if name.startswith("SLH-DSA-")},
}  # fmt: skip
"""NIST's category of each set: FIPS 203 section 8, FIPS 204 Table 1, FIPS 205 Table 2, and of
FN-DSA the Falcon specification."""
_BITS = {1: 128, 2: 128, 3: 192, 4: 192, 5: 256}
"""Bits by category: the key of the AES, or half the digest of the SHA-2, that breaking is compared
with."""
_CLASSICAL = {
    "RSA-2048-PSS": 112, "RSA-3072-PSS": 128, "Ed25519": 128, "ECDSA-P256": 128,
    "ECDSA-secp256k1": 128, "Schnorr-secp256k1": 128,
}  # fmt: skip
"""NIST SP 800-57 Part 1, Table 2."""


def judge_strength(claim: Strength, _: ClaimTable) -> Iterator[Judgement]:
    """`strength.category` and `strength.bits`."""
    name, category = claim.set, CATEGORIES.get(claim.set)
    bits = _CLASSICAL.get(name) if category is None else _BITS[category]
    stated = claim.category
    if stated is not None and (category or bits):
        reading = "" if category else "A quantum computer breaks it: it has no category."
        yield judgement(
            "strength.category", f"{name}: category {stated}", reading, stated == category,
            stated=stated, predicted=f"category {category}" if category else "no category",
        )  # fmt: skip
    if claim.classical_bits is not None and bits:
        reading = f"Category {category} is compared with {bits} bits." if category else ""
        yield judgement(
            "strength.bits", f"{name}: {claim.classical_bits} bits, classical", reading,
            stated=claim.classical_bits, low=float(bits), high=float(bits), unit="bits",
        )  # fmt: skip
    if claim.quantum_bits is not None and (category or bits):
        verdict, reading = Verdict.UNDECIDABLE, "NIST counts gates of circuits, and states no bits."
        if category is None:
            verdict = Verdict(("consistent", "contradiction")[claim.quantum_bits > 0])
            reading = "Shor's algorithm breaks it in polynomial time."
        text = f"{name}: {claim.quantum_bits} bits, quantum"
        yield judgement(
            "strength.bits", text, reading, verdict, stated=claim.quantum_bits, predicted=""
        )


# The rule about sizes


ENCODINGS: dict[str, str] = {
    "raw": "the bare bytes",
    "seed": "the 32-byte seed xi",
    "spki": "a SubjectPublicKeyInfo (RFC 9881)",
    "pkcs8-seed": "a PKCS #8 key with the seed (RFC 9881)",
    "pkcs8-expanded": "a PKCS #8 key with the expanded key (RFC 9881)",
    "pkcs8-both": "a PKCS #8 key with seed and expanded key (RFC 9881)",
    "pkcs8-bare": "a PKCS #8 key with the expanded key in no tag of its own (before RFC 9881)",
}
"""Encodings by name, with their titles."""

_ROUND3_TR, _FIPS204_TR, _ROUND3_C_TILDE = 32, 64, 32


_VERSIONS = {"fips204": "FIPS 204", "round3": "Dilithium, round 3"}
_NAMES = {"SPKI": "spki", "PKCS #8": "pkcs8-expanded"}
_ML_DSA_NAMES = {"PKCS #8, seed": "pkcs8-seed", "PKCS #8, both": "pkcs8-both"}


class Form(NamedTuple):
    """One size that an object can have."""

    set: str
    object: str
    standard: str
    encoding: str
    bytes: int

    @property
    def text(self) -> str:
        """The object of this size in words."""
        version = _VERSIONS.get(self.standard, self.standard)
        name = self.object.replace("-", " ")
        encoding = ENCODINGS.get(self.encoding, self.encoding)
        if self.set not in PARAMETER_SETS:
            encoding = encoding.removesuffix(" (RFC 9881)")
        return f"{encoding} of {self.set}'s {name} ({version})"


def forms(name: str) -> tuple[Form, ...]:
    """Every size that a key or signature of the set can have, the standard's bare bytes first. A
    size that varies is its mean rounded to either side, or the largest."""
    parameters = PARAMETER_SETS.get(name)
    names = _NAMES if parameters is None else _NAMES | _ML_DSA_NAMES
    known = [
        Form(
            name, s.object.replace(" ", "-"), "fips204" if parameters else s.source,
            names.get(s.encoding, s.encoding), n,
        )
        for s in sizes(name)
        for n in ({math.floor(s.mean), math.ceil(s.mean), s.bytes} if s.mean else {s.bytes})
    ]  # fmt: skip
    if parameters is not None:
        pk, sk = parameters.public_key_bytes, parameters.private_key_bytes
        signature = parameters.signature_bytes - parameters.c_tilde_bytes + _ROUND3_C_TILDE
        known += [
            Form(name, "private-key", "fips204", "pkcs8-bare", pkcs8_bytes(sk)),
            Form(name, "public-key", "round3", "raw", pk),
            Form(name, "private-key", "round3", "raw", sk - _FIPS204_TR + _ROUND3_TR),
            Form(name, "signature", "round3", "raw", signature),
        ]
    return tuple(known)


def judge_size(claim: Size, _: ClaimTable) -> Iterator[Judgement]:
    """`size.encoding`: one finding, which names an object of this size: this one, that of another
    set, another object of this set, or any. A name with ML-DSA in it means FIPS 204."""
    mine = [f for f in forms(claim.set) if f.object == claim.object]
    standard, encoding = claim.standard, claim.encoding
    fips204 = claim.set in PARAMETER_SETS
    if standard == "unstated" and fips204 and "dsa" in claim.set.named.lower():
        standard = "fips204"
    stated = [
        f
        for f in mine
        if standard in ("unstated", f.standard) and encoding in ("unstated", f.encoding)
    ]
    expected = stated or mine
    every_size = sorted({f.bytes for f in expected})
    bare = list(dict.fromkeys(f.bytes for f in expected if f.encoding == "raw"))
    text = " or ".join(f"{size:,}" for size in bare or every_size) + " bytes"
    if bare and len(every_size) > len(bare):
        text += ", or an encoding's"
    every = [f for name in dict.fromkeys((*PARAMETER_SETS, claim.set)) for f in forms(name)]
    same = [f for f in every if f.object == claim.object]
    others = [f for f in every if f.set == claim.set]
    fitting = [f for f in (*stated, *mine, *same, *others, *every) if f.bytes == claim.bytes]
    verdict = Verdict.CONTRADICTION
    if not fitting:
        reading = "No encoding or version known to this audit has this size."
        if encoding == "unstated":
            verdict = Verdict.IMPLAUSIBLE
    else:
        reading = f"{fitting[0].text[0].upper()}{fitting[0].text[1:]}"
        if fitting[0] != mine[0]:
            whose = "FIPS 204's" if fips204 else "the"
            reading += f"; {whose} bare bytes are {mine[0].bytes:,}"
        reading += "."
        if fitting[0] in stated:
            verdict = Verdict.CONSISTENT
    yield judgement(
        "size.encoding", f"{claim.bytes:,} bytes", reading, verdict, stated=claim.bytes,
        low=every_size[0], high=every_size[-1], predicted=text,
    )  # fmt: skip
