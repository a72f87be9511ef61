"""The rules of the audit: ids that stay, a sentence each, and where it comes from.

docs/audit.md has the same table; a test compares them.
"""

from __future__ import annotations

from mldsa_lab.audit.verdict import Rule

RULES: dict[str, Rule] = {}
"""All rules by id."""


def _rule(name: str, sentence: str, source: str) -> Rule:
    RULES[name] = Rule(name, sentence, source)
    return RULES[name]


_THEORY = "docs/audit.md, 'Bands' (theory: docs/methodology.md)"
SIZE = _rule(
    "size.encoding",
    "Keys and signatures have the sizes of their standard and encoding, and no others.",
    "FIPS 204 Table 2; Dilithium round 3 specification (2021-02-08) Table 2; RFC 9881",
)
ORDER = _rule(
    "figures.order",
    "Minimum, percentiles and maximum ascend, and the mean lies between minimum and maximum.",
    "arithmetic",
)
MEAN_RANGE = _rule(
    "figures.mean-range",
    "Percentiles bound the mean: between two of them, all samples lie between their values.",
    "arithmetic",
)
SD_RANGE = _rule(
    "figures.sd-range",
    "Within minimum and maximum, the variance is at most (max - mean)(mean - min) n/(n - 1); and "
    "the median is within one standard deviation of the mean.",
    "Bhatia and Davis 2000; Mallows 1991",
)
SPREAD = _rule(
    "sign.spread",
    "Rejection alone spreads the cost of varied signatures: their standard deviation over their "
    "mean has a lower bound.",
    _THEORY,
)
MINIMUM = _rule(
    "sign.min",
    "A signature accepted at once is cheaper than the typical one by at least its rejected "
    "attempts, so minimum and low percentiles over the median have an upper bound.",
    _THEORY,
)
MEAN = _rule(
    "sign.mean",
    "The mean of varied signatures lies above their median.",
    _THEORY,
)
TAIL = _rule(
    "sign.tail",
    "Signatures that need many attempts make a tail: high percentiles over the median have a "
    "lower bound.",
    _THEORY,
)
INVERSION = _rule(
    "sign.inversion",
    "The figures together imply the cost of a first and of a further attempt; their ratio lies "
    "between 1 and what counting Keccak permutations allows.",
    _THEORY + "; FIPS 204 Algorithm 7",
)
ONE_INPUT = _rule(
    "sign.one-input",
    "The spread of signing varied inputs exceeds that of operations whose work hardly varies.",
    _THEORY,
)
TRIMMED = _rule(
    "sign.trimmed",
    "Where the lower figures follow the law, the upper ones do too, unless the tail was cut.",
    _THEORY,
)
AVERAGED = _rule(
    "sign.averaged",
    "Averages over several signatures have no percentiles of single signatures.",
    "arithmetic",
)
PARTS_SUM = _rule("parts.sum", "Parts add up to their total, within rounding.", "arithmetic")
PARTS_SHARE = _rule(
    "parts.share", "A share is the part over the sum of all parts, within rounding.", "arithmetic"
)
STATEMENTS = _rule("statements.agree", "One quantity has one value, within rounding.", "arithmetic")
COUNTED = _rule(
    "samples.agree", "All samples are the samples of each group times the groups.", "arithmetic"
)
LIMIT = _rule("limit.bits", "Eight bits are a byte.", "arithmetic")
LITTLE = _rule(
    "throughput.latency",
    "Operations in progress are throughput times mean latency, and cannot outnumber the workers.",
    "Little 1961",
)
EFFICIENCY = _rule(
    "scaling.cores",
    "n cores do at most n times the work of one.",
    "arithmetic; independent signatures share nothing that a second core could provide",
)
SMT = _rule(
    "scaling.smt",
    "Threads beyond the physical cores share execution units: they add up to about a third.",
    "Marr et al., Intel Technology Journal 6(1), 2002 (up to 30 %); on this project's machine "
    "scalar code slows 1.5 to 1.8 times beside a busy sibling, a gain of 11 to 33 %",
)
BATCH = _rule(
    "batch.cost",
    "A batch saves at most what single signatures do for the key: expanding A.",
    "Keccak permutations of a signature with A kept and not (docs/audit.md, 'Bands')",
)
BATCH_SHAPE = _rule(
    "batch.shape",
    "Saving a fixed cost once for each batch makes the cost for one c + a/size, which falls with "
    "the size.",
    "arithmetic",
)
RATE = _rule(
    "rate.bytes-over-time",
    "A rate is bytes over time, and the time of operations is at least their number times their "
    "cost over the workers.",
    "arithmetic",
)
RATE_WRITTEN = _rule(
    "rate.bytes-per-operation",
    "An operation that yields signatures writes at least a signature.",
    "FIPS 204 Table 2",
)
POWER = _rule(
    "difference.power",
    "A difference of two means shows only if it exceeds their standard error, which rejection "
    "makes large for signing.",
    _THEORY + "; two-sided t test of two groups",
)
PASS_Z = _rule(
    "rejection.z",
    "The norm of z passes with ((2(γ1-β)-1)/2γ1)^(256 l).",
    "FIPS 204 Algorithm 7 and Table 1",
)
PASS_R0 = _rule(
    "rejection.r0",
    "The norm of r0 passes with ((q-1)/2γ2 (2(γ2-β)-1)/q)^(256 k).",
    "FIPS 204 Algorithm 7 and Table 1",
)
PASS_HINT = _rule(
    "rejection.hint",
    "After z and r0, ct0 and the hint's weight pass with a measured rate.",
    "docs/methodology.md (measured over random keys)",
)
ACCEPT = _rule(
    "rejection.accept",
    "An attempt is accepted with the product of the rates.",
    "FIPS 204 Algorithm 7; docs/methodology.md",
)
ATTEMPTS = _rule(
    "rejection.attempts",
    "The number of attempts is geometric.",
    "FIPS 204 Table 1 (repetitions) and Algorithm 7; docs/methodology.md",
)
NONE = _rule(
    "none",
    "No rule applies to what is given.",
    "docs/audit.md",
)
