"""Signing inputs: candidates from a seed, their rejection traces, and the choice among them."""
