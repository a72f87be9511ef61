"""Record files: everything a run measured, as JSON Lines (docs/records.md has the schema).

A record is appended to line by line while the run goes on, so that an interrupted run loses
nothing. Statistics and reports read records alone.
"""

from mldsa_lab.records.reader import read_record as read_record
from mldsa_lab.records.record import Record as Record
from mldsa_lab.records.rows import DESIGN as DESIGN
from mldsa_lab.records.rows import MANY_KEYS as MANY_KEYS
from mldsa_lab.records.rows import ONE_KEY as ONE_KEY
from mldsa_lab.records.rows import PIPELINE as PIPELINE
from mldsa_lab.records.rows import RANDOM as RANDOM
from mldsa_lab.records.rows import SCHEMA as SCHEMA
from mldsa_lab.records.rows import BlockContent as BlockContent
from mldsa_lab.records.rows import Check as Check
from mldsa_lab.records.rows import Definition as Definition
from mldsa_lab.records.rows import End as End
from mldsa_lab.records.rows import Fault as Fault
from mldsa_lab.records.rows import Gate as Gate
from mldsa_lab.records.rows import InputRow as InputRow
from mldsa_lab.records.rows import Load as Load
from mldsa_lab.records.rows import PipelineContent as PipelineContent
from mldsa_lab.records.rows import PipelineStage as PipelineStage
from mldsa_lab.records.rows import Row as Row
from mldsa_lab.records.rows import Run as Run
from mldsa_lab.records.rows import Samples as Samples
from mldsa_lab.records.rows import Skipped as Skipped
from mldsa_lab.records.rows import Variant as Variant
from mldsa_lab.records.rows import WorkerRow as WorkerRow
from mldsa_lab.records.rows import base_id as base_id
from mldsa_lab.records.writer import RecordWriter as RecordWriter
from mldsa_lab.records.writer import to_json as to_json
