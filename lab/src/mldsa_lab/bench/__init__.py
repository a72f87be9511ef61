"""Running workers: build, gate, schedule and measurement. Nothing here is inside a timed region."""

UNTIL_LIMIT_S = 1800.0
"""The time limit of a run that stops by precision, unless an option sets one."""
