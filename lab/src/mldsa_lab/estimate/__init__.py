"""Estimates from anybody's measurements of a selection.

`mldsa_lab.estimate.external.estimate` is the public function. docs/files.md describes the
files that are read and written, and the model.
"""
