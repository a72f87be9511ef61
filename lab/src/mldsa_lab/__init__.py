"""mldsa-lab measures ML-DSA implementations on inputs whose rejection traces are known."""

from importlib.metadata import version

__version__ = version("mldsa-lab")
