"""The exceptions. Where `cryptography` is installed they are subclasses of its own.

So `except` clauses that were written for `cryptography` catch them.
"""

try:
    from cryptography.exceptions import AlreadyFinalized as _AlreadyFinalized
    from cryptography.exceptions import InvalidSignature as _InvalidSignature
except ImportError:
    _AlreadyFinalized = _InvalidSignature = Exception  # type: ignore[assignment, misc]


class InvalidSignature(_InvalidSignature):
    """The signature is not valid for this key, message and context. Its length may be wrong."""

    __module__ = "mldsa_lanes"


class AlreadyFinalized(_AlreadyFinalized):
    """The hasher has returned mu and takes no more data."""

    __module__ = "mldsa_lanes"
