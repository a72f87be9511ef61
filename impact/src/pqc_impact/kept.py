"""Blocks that were simulated before, kept on disk: a result follows from the network, the block,
its number and the code alone, so what has all of these in its name never grows stale."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import msgspec

from mldsa_lab.errors import LabError
from mldsa_lab.files import read_text, write_text
from pqc_impact import network as network_module
from pqc_impact import propagation, sweep
from pqc_impact.network import Network
from pqc_impact.propagation import BlockLoad

_IN_WORDS = {"title": "-", "source": "-", "blocks": 2}
"""What of a network does not bear on a block's way, as it stands in a name."""


class KeptBlocks:
    """In ``folder`` a file for each network and number of a block: times by load."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        code = [Path(str(m.__file__)).read_bytes() for m in (network_module, propagation, sweep)]
        self._code = b"\0".join([*code, version("simpy").encode(), version("numpy").encode()])

    def read(self, network: Network, number: int) -> dict[BlockLoad, list[float]]:
        """What is kept; nothing where a file is not there or is none of these."""
        try:
            rows = json.loads(read_text(self._path(network, number)))
            return {BlockLoad(*load): times for load, times in rows}
        except (LabError, ValueError, TypeError):
            return {}

    def write(self, network: Network, number: int, found: Mapping[BlockLoad, list[float]]) -> None:
        """Keep these."""
        path = self._path(network, number)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps([[list(load), times] for load, times in found.items()]))

    def _path(self, network: Network, number: int) -> Path:
        plain = msgspec.json.encode(msgspec.structs.replace(network, **_IN_WORDS))
        name = hashlib.sha256(b"\0".join([self._code, plain, str(number).encode()]))
        return self.folder / f"{name.hexdigest()}.json"
