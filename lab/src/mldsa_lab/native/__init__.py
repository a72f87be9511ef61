"""mldsa-lanes for the lab: traces and signatures of many inputs at full library speed."""

from mldsa_lab.native.library import Library, load

__all__ = ["Library", "load"]
