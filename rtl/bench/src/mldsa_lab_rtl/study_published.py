"""What others published of their cores, and what we counted of them: constants, with sources."""

from __future__ import annotations

from dataclasses import dataclass

_NOT_AGAIN = "; as noted on 2026-11-21, its tables could not be read again on 2026-11-23"
_HIGH = (
    "Beckwith, Nguyen, Gaj: High-Performance Hardware Implementation of CRYSTALS-Dilithium "
    "(ePrint 2021/1451)" + _NOT_AGAIN
)
_LOW = (
    "Land, Sasdrich, Güneysu: A Hard Crystal - Implementing Dilithium on Reconfigurable Hardware "
    "(ePrint 2021/355)" + _NOT_AGAIN
)
_COMPARED = (
    "github.com/franos-cm/dilithium-comparison, README of commit 7f9eeb7: Vivado 2024.2, Artix-7 "
    "(XC7A100T), means of ten inputs, which it calls unreliable for signing; its tables are images"
    + _NOT_AGAIN
)
_BRIDGE = (
    "chipsalliance/adams-bridge, docs/AdamsBridge_MLDSA.md of commit f1f7b7a, with masking or "
    "without; its mean is 3.85 times one round, though a further round costs less; 5 nm"
)
_COUNTED = "simulated by us with Verilator (LowRes with GHDL), outputs compared byte for byte"

PUBLISHED_FIGURES = ("keygen", "sign_best", "sign_mean", "verify")


@dataclass(frozen=True, slots=True)
class Published:
    """A core in a set (that of FIPS 204 at the same level, where it is of round 3): ``cycles`` of
    `PUBLISHED_FIGURES`, LUT, FF, DSP and BRAM, fmax in MHz; None where the source does not tell."""

    core: str
    set: str
    source: str
    cycles: tuple[int | None, int | None, int | None, int | None] = (None, None, None, None)
    area: tuple[int, int, int, int] | None = None
    fmax: int | None = None


_H, _L, _O, _A = (
    "HighPerf, round 3", "LowRes, round 3", "ML-DSA-OSH", "Adams Bridge",
)  # fmt: skip
_44, _65, _87 = "ML-DSA-44", "ML-DSA-65", "ML-DSA-87"
_AREA = (53187, 28318, 16, 29)
PUBLISHED = (
    Published(_H, _44, _HIGH, (None, None, 29876, None), _AREA, 116),
    Published(_H, _44, _COUNTED, (4869, 10945, None, 6581)),
    Published(_H, _65, _HIGH, (None, None, 49437, None), _AREA, 116),
    Published(_H, _65, _COUNTED, (8288, 16178, None, 9723)),
    Published(_H, _87, _HIGH, (None, None, 55070, None), _AREA, 116),
    Published(_H, _87, _COUNTED, (14029, 24850, None, 14635)),
    Published(_H, _44, _COMPARED, area=(57984, 29054, 16, 29), fmax=67),
    Published(_L, _44, _LOW, area=(27433, 10681, 45, 15), fmax=163),
    Published(_L, _44, _COMPARED, (None, 32134, 62447, 21365), fmax=107),
    Published(_L, _44, _COUNTED, (21706, None, None, None)),
    Published(_L, _65, _LOW, area=(30900, 11372, 45, 21), fmax=145),
    Published(_L, _65, _COMPARED, (38640, 49832, 90797, 34296), fmax=99),
    Published(_L, _87, _LOW, area=(44653, 13814, 45, 31), fmax=140),
    Published(_L, _87, _COMPARED, (56599, 76740, 110117, 55729), fmax=89),
    Published(_O, _44, _COUNTED, (4873, 10942, None, 6582)),
    Published(_O, _65, _COUNTED, (8292, 16183, None, 9728)),
    Published(_O, _87, _COUNTED, (14034, 25686, None, 14640)),
    Published(_A, _87, _COUNTED, (15203, 35067, None, 18253)),
    Published(_A, _87, _BRIDGE, (15154, 34928, 134473, 18252), fmax=600),
)
