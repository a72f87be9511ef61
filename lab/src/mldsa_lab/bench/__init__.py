"""Running workers: build, gate, schedule and measurement. Nothing here is inside a timed region."""
