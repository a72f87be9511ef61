"""Published claims about ML-DSA, judged against theory, the standard and arithmetic.

`read_claims` reads a file, `audit` judges it. docs/audit.md describes files, rules and verdicts.
"""

from mldsa_lab.audit.audit import audit
from mldsa_lab.audit.reading import parse_claims, read_claims

__all__ = ["audit", "parse_claims", "read_claims"]
