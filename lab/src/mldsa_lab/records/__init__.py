"""Record files: everything a run measured, as JSON Lines (docs/files.md has the schema).

A record is appended to line by line while the run goes on, so that an interrupted run loses
nothing. Statistics and reports read only records.
"""

from mldsa_lab.records.record import NO_CELL as NO_CELL
from mldsa_lab.records.record import RUN_FACTS as RUN_FACTS
from mldsa_lab.records.record import Filters as Filters
from mldsa_lab.records.record import Record as Record
from mldsa_lab.records.record import RecordWriter as RecordWriter
from mldsa_lab.records.record import busy_notes as busy_notes
from mldsa_lab.records.record import read_record as read_record
from mldsa_lab.records.record import to_json as to_json
from mldsa_lab.records.rows import *  # noqa: F403
