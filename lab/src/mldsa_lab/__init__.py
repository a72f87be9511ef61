"""mldsa-lab measures ML-DSA implementations on inputs whose rejection traces are known."""

__version__ = "0.1.0"
