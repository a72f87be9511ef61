"""Files that a command writes at the end."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from mldsa_lab.errors import LabError
from mldsa_lab.files import write_whole
from mldsa_lab.kinds.reports import read_reports
from mldsa_lab.show.report import Look


def test_a_failed_write_keeps_the_earlier_file(tmp_path: Path) -> None:
    def fail(path: Path) -> None:
        path.write_text("half")
        raise OSError(28, "No space left on device")

    target = tmp_path / "rows.json"
    target.write_text("old")
    with pytest.raises(LabError, match=r"rows\.json: cannot write it: No space left"):
        write_whole(target, fail)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "rows.json", tmp_path / "latest.json"
    link.symlink_to(target)
    write_whole(link, lambda path: path.write_text("new"))
    assert link.is_symlink() and target.read_text() == "new"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_what_is_no_plain_file_is_written_to_not_replaced(tmp_path: Path) -> None:
    pipe, got = tmp_path / "pipe", list[str]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()), daemon=True)
    reader.start()
    write_whole(pipe, lambda path: path.write_text("rows"))
    reader.join(timeout=10)
    assert got == ["rows"] and pipe.is_fifo()


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="cannot write it: Is a directory"):
        write_whole(tmp_path, lambda path: path.write_text("rows"))


def test_a_reference_in_none_of_the_records_is_refused() -> None:
    record = Path(__file__).parents[2] / "records/2026-11-25-epyc-zen5/hardened.jsonl.xz"
    with pytest.raises(LabError, match="unknown reference 'nosuch': this run measures mldsa-lanes"):
        read_reports([record], Look("nosuch", "cpu", 0.95))
