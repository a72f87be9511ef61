"""Record files: everything a run measured, as JSON Lines (docs/records.md has the schema).

A record is appended to line by line while the run goes on, so that an interrupted run loses
nothing. Statistics and reports read records alone.
"""

from mldsa_lab.records.reader import read_record
from mldsa_lab.records.record import Record
from mldsa_lab.records.rows import (
    DESIGN,
    MANY_KEYS,
    ONE_KEY,
    PIPELINE,
    RANDOM,
    SCHEMA,
    BlockContent,
    Check,
    Definition,
    End,
    Fault,
    Gate,
    InputRow,
    Load,
    PipelineContent,
    PipelineStage,
    Row,
    Run,
    Samples,
    Skipped,
    Variant,
    WorkerRow,
    base_id,
)
from mldsa_lab.records.writer import RecordWriter, to_json

__all__ = [
    "DESIGN",
    "MANY_KEYS",
    "ONE_KEY",
    "PIPELINE",
    "RANDOM",
    "SCHEMA",
    "BlockContent",
    "Check",
    "Definition",
    "End",
    "Fault",
    "Gate",
    "InputRow",
    "Load",
    "PipelineContent",
    "PipelineStage",
    "Record",
    "RecordWriter",
    "Row",
    "Run",
    "Samples",
    "Skipped",
    "Variant",
    "WorkerRow",
    "base_id",
    "read_record",
    "to_json",
]
