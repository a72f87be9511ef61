"""The JSON Schemas of scenarios and networks."""

from __future__ import annotations

from typing import Any

from mldsa_lab.files import schema
from pqc_impact.file import Scenario
from pqc_impact.network import Network


def schemas() -> dict[str, dict[str, Any]]:
    """The schemas by the names of their files."""
    return {
        "scenario.json": schema(Scenario, "A scenario"),
        "network.json": schema(Network, "A peer-to-peer network"),
    }
