"""Workers: their protocol, registry and builds, processes that speak it, and conformance."""
