"""Statistics: from the samples of a record to means, percentiles, ratios and their intervals.

docs/methodology.md gives the reasons; nothing here reads a clock or talks to a worker.
"""
