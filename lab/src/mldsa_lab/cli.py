"""The command `mldsa-lab`."""


def main() -> None:
    """Run the command line."""
    raise SystemExit("not finished")
