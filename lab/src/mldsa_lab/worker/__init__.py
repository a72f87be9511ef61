"""Workers: protocol, registry and builds, processes, the correctness suite, and conformance."""
