"""Estimates from anybody's measurements of a selection.

`mldsa_lab.estimate.measured.estimate` is the public function. docs/measurements.md describes the
files that are read and written, and the model.
"""
