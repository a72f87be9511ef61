"""make supply: what the Java worker is made of.

Writes an SBOM (CycloneDX 1.5, JSON) of the archives in workers/java/jars.lock to target/supply. The
set-up of the worker checks the same digests. Exit code 1 where the lock file cannot be read.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from mldsa_lab import LabError
from mldsa_lab.worker.fetch import read_lock

LAB = Path(__file__).resolve().parent.parent
JARS = LAB / "workers" / "java" / "jars.lock"
FILE = LAB / "target" / "supply" / "java.cdx.json"


def sbom() -> dict[str, Any]:
    """Return the bill of materials of the Java worker, with the same bytes for the same lock file.
    The lock file does not list the dependencies between the archives."""
    parts = []
    for file, (path, digest) in read_lock(JARS).items():
        *group, artifact, version, _ = path.split("/")
        classifier = Path(file).stem.removeprefix(f"{artifact}-{version}").removeprefix("-")
        purl = f"pkg:maven/{'.'.join(group)}/{artifact}@{version}"
        purl += f"?classifier={classifier}" if classifier else ""
        parts.append(
            {
                "type": "library",
                "bom-ref": purl,
                "group": ".".join(group),
                "name": artifact,
                "version": version,
                "purl": purl,
                "hashes": [{"alg": "SHA-256", "content": digest}],
            }
        )
    worker = {"type": "application", "bom-ref": "lab/workers/java", "name": "lab/workers/java"}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": worker},
        "components": parts,
        "dependencies": [
            {"ref": worker["bom-ref"], "dependsOn": [part["bom-ref"] for part in parts]}
        ],
    }


def main() -> int:
    """Command line."""
    try:
        bill = sbom()
        FILE.parent.mkdir(parents=True, exist_ok=True)
        FILE.write_text(json.dumps(bill, indent=1) + "\n", encoding="utf-8")
    except (LabError, OSError) as error:
        print(f"supply: {error}", file=sys.stderr)
        return 1
    print(f"supply: {len(bill['components'])} Java archives, SBOM in {FILE.relative_to(LAB)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
