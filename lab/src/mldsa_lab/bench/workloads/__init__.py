"""Kinds of measurement: each module implements `mldsa_lab.bench.engine.Workload`."""
