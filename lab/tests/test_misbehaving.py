"""A worker that misbehaves costs its own figures only, and the reason names it and is true."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import pytest
from fake_worker import hashing_worker
from lab_runs import Ran, bench, here, rows_in
from tiers import first_of

from mldsa_lab import LabError
from mldsa_lab.worker.worker import Limits, Worker


class Mode(NamedTuple):
    """Python code that a hashing worker runs before or after a reply; the reason in the run."""

    said: str
    before: str = "pass"
    after: str = "pass"


HELLO, ANSWER, QUIT = (f'word == "{word}"' for word in ("hello", "answer", "quit"))
AGAIN = f"{HELLO} and starts == 3"
DIE, HANG = "os.kill(os.getpid(), signal.SIGKILL)", "time.sleep(60)"
HOUR = "3600 * 10**9"


def before(said: str, what: str, when: str = "is_late") -> Mode:
    return Mode(said, before=f"if {when}: {what}")


def after(said: str, what: str, when: str = "is_late") -> Mode:
    return Mode(said, after=f"if {when}: {what}")


def value(said: str, word: int, text: str, when: str = "is_late") -> Mode:
    """Another word in the first line of a reply, `sample INPUT WALL CPU CALLS DIGEST` for one."""
    change = f'w = lines[0].split(" "); w[{word}] = str({text}); lines[0] = " ".join(w)'
    return after(said, change, when)


VALUES = {
    "a wall time of 64 bits": value("below 2.63", 2, "2**63"),
    "a wall time of an hour": value(r"3600\d* ns in a request that took", 2, HOUR),
    "a wall time of an hour in calibration": value(
        r"3600\d* ns in a request that took", 2, HOUR, 'word == "measure"'
    ),
    "a CPU time of an hour": value(r"3600\d* ns of CPU time in \d+ ns of wall", 3, HOUR),
    "a wrong output in a late round": value("wrong output", 5, "'ab' * 32"),
    "a wrong output in round 0": value(
        "wrong output", 5, "'ab' * 32", "starts == 2 and measures == 3"
    ),
    "a wrong answer": value("output differs", 2, "'ab' * 32", ANSWER),
    "a failed input": value("hash of input 0 failed: ", 0, "'failed'"),
    "a failure with markup": after(
        r"failed: \[red\]:bug:$", 'lines[0] = "failed 0 [red]:bug:"'
    ),
    "a refusal": after("refused.*no time today", 'lines[:] = ["error no time today"]'),
    "a refusal to forget": after("refused.*no", 'lines[:] = ["error no"]', 'word == "forget"'),
}  # fmt: skip
ORDER = {
    "samples in another order": after("in order", "lines[:2] = lines[1::-1]"),
    "the end of a job twice": after("unasked", "lines.append(lines[-1])"),
    "words before hello": before("Loading", r'say("Loading\n")', HELLO),
    "the reply to another request": after("expected .output", "lines = ['ready 1']", ANSWER),
}
DEATH = {
    "death in the gate": before("status 5", "sys.exit(5)", ANSWER),
    "death at prepare": before("status 5", "sys.exit(5)", 'word == "prepare"'),
    "death in calibration": before("SIGKILL", DIE, 'word == "measure"'),
    "death in a late round": before("SIGKILL", DIE),
    "a closed output": before("closed its standard output", f"os.close(1); {HANG}"),
    "a hang in the gate": before("within 2 s to .answer", HANG, ANSWER),
    "a hang in a late round": before("within 2 s to .measure", HANG),
    "a stopped process": before("within 2 s to .measure", "os.kill(os.getpid(), signal.SIGSTOP)"),
}
GREETING = {
    "no hello": before("hello: .*status 5", "sys.exit(5)", HELLO),
    "a hang at hello": before("within 2 s to .hello 1", HANG, HELLO),
    "another worker's variant": after(
        "variant healthy:python:compact is worker healthy's",
        'lines = [x.replace("bad", "healthy") for x in lines]', HELLO,
    ),
    "batches of 20 digits": after(
        "batch_size must be below", 'lines.insert(-1, f"batch_size {10**20 - 1}")', HELLO
    ),
    "a warm-up of 31 years": after(
        "within 2 s to .measure . 1 1 10{18}`", 'lines.insert(-1, f"warmup {10**18}")', HELLO
    ),
    "no hello in round 1": before("status 5", "sys.exit(5)", AGAIN),
    "a hang at hello in round 1": before("within 2 s to .hello 1", HANG, AGAIN),
    "another hello in round 1": after(
        "something else than", 'lines[3] = "compiler other"', AGAIN
    ),
}  # fmt: skip
ENDING = {
    "a hang at quit": before("did not end within 2 s", HANG, QUIT),
    "a status at quit": before("status 3 instead of status 0", "sys.exit(3)", QUIT),
}
MODES = VALUES | ORDER | DEATH | GREETING | ENDING
SEAMS = (VALUES, ORDER, DEATH, GREETING, ENDING)


def run(folder: Path, mode: Mode, *options: str) -> Ran:
    """Three rounds of a healthy worker and of this one."""
    good = hashing_worker(folder / "good", "healthy")
    bad = hashing_worker(folder / "bad", "bad", mode.before, mode.after)
    registry = "".join(
        f'[[worker]]\nname = "{path.name}"\nlanguage = "Python"\nfolder = "{path.parent}"\n'
        f'build = []\nrun = ["{path}"]\nimplementations = ["{path.name}"]\n'
        for path in (good, bad)
    )
    (folder / "registry.toml").write_text(registry, encoding="utf-8")
    real_start = Worker.start

    def start(name: str, argv: Sequence[str], **options: Any) -> Worker:
        return real_start(name, argv, **options | {"limits": limits_of(mode, name)})

    with mock.patch.object(Worker, "start", start):
        return bench(
            folder / "out", "--registry", str(folder / "registry.toml"), "--sets", "SHA3-256",
            "--rounds", "3", "--to", "none", *options, by=here,
        )  # fmt: skip


def limits_of(mode: Mode, name: str) -> Limits:
    """Return 60 s for every request, so that a busy machine matters to none, but 2 s for the one in
    which the mode lets the worker `bad` hang."""
    limits = dict.fromkeys(("hello", "prepare", "answer", "measure", "forget", "quit"), 60.0)
    if name == "bad" and (hang := re.search(r"within 2 s(?: to .(\w+))?", mode.said)):
        limits[hang[1] or "quit"] = 2.0
    return Limits(**limits)  # type: ignore[arg-type]


def assert_healthy(done: Ran) -> None:
    """The healthy worker is in the table and in JSON with all that it measured."""
    assert done.status == 0, done.out + done.err
    (row,) = (r for r in done.rows if r["implementation"] == "healthy")
    assert row["mean"] > 0 and row["samples"] == 3 * 24
    assert re.search(r"^SHA3-256 +healthy .*\d (ns|µs) *$", done.out, re.MULTILINE), done.out
    record = done.record
    assert record.end is not None and record.end.rounds == 3 and record.warnings == []
    assert {fault.variant for fault in record.faults} <= {"bad:python:compact"}


@pytest.mark.parametrize("name", [n for seam in SEAMS for n in first_of([*seam], pytest.mark.e2e)])
def test_the_rest_goes_on_and_the_reason_names_the_worker(tmp_path: Path, name: str) -> None:
    mode = MODES[name]
    done = run(tmp_path, mode)
    assert_healthy(done)
    # Once: the second and third process of a worker that hangs at quit are not asked.
    (reason,) = (x for x in done.out.splitlines() if re.match(r"quit |.* left out: ", x))
    assert re.search(r"\bbad\b", reason) and re.search(mode.said, reason), reason


def test_a_value_that_a_record_cannot_hold_excludes_its_variant(tmp_path: Path) -> None:
    """Also where the reader of replies takes it."""
    with (
        mock.patch("mldsa_lab.worker.protocol._NUMBER_MAX", 2**64),
        mock.patch("mldsa_lab.worker.worker.Worker._check_clocks"),
    ):
        done = run(tmp_path, VALUES["a wall time of 64 bits"])
    assert_healthy(done)
    (fault,) = done.record.faults
    assert fault.round == 1 and "cannot contain this: Expected `int` <=" in fault.reason
    assert str(tmp_path) not in fault.reason


def test_programs_that_are_in_no_registry_keep_their_declared_language(tmp_path: Path) -> None:
    one, other = (hashing_worker(tmp_path / name, name) for name in ("one", "other"))
    done = bench(
        tmp_path / "out", "--workers", f"{one},{other}", "--sets", "SHA3-256", "--rounds", "1",
        "--to", "none", by=here,
    )  # fmt: skip
    assert {(r["implementation"], r["language"]) for r in done.rows} == {
        ("one", "Python"), ("other", "Python"),
    }  # fmt: skip
    assert "worker one, nothing to build" in done.out and "unknown" not in done.out


def test_a_named_worker_that_does_not_start_stops_no_other_and_is_named(tmp_path: Path) -> None:
    done = run(
        tmp_path, GREETING["no hello"], "--implementations", "healthy,bad", "--reference", "bad"
    )
    assert_healthy(done)
    assert "left out: worker bad, request hello: the worker ended with status 5" in done.out
    (tmp_path / "alone").mkdir()
    done = run(tmp_path / "alone", GREETING["no hello"], "--implementations", "bad")
    assert done.status == 2 and done.folder is None
    assert "worker bad, request hello: the worker ended with status 5" in done.err


def test_an_error_after_measuring_tells_where_the_record_lies(tmp_path: Path) -> None:
    failing = mock.patch("mldsa_lab.kinds.reports.read_reports", side_effect=LabError("no table"))
    with failing:
        done = run(tmp_path, Mode(""))
    assert done.status == 2 and "no table" in done.err
    assert done.folder is not None and str(done.folder / "record.jsonl") in done.out
    (tmp_path / "all").mkdir()
    done = run(tmp_path / "all", DEATH["death at prepare"], "--implementations", "bad")
    assert done.status == 2 and "nothing to measure" in done.err
    assert done.folder is not None and str(done.folder / "record.jsonl") in done.out


def test_a_report_leaves_out_a_bad_line(tmp_path: Path) -> None:
    done = run(tmp_path, Mode(""))
    assert done.folder is not None
    path, table = done.folder / "record.jsonl", tmp_path / "figures.json"
    lines = path.read_text(encoding="utf-8").splitlines()
    number = next(n for n, x in enumerate(lines) if "samples" in x and "healthy" in x)
    lines[number] = re.sub(r'"wall":\[\d+', f'"wall":[{2**63}', lines[number])
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    shown = here("report", str(path), "--to", "none", "--to", str(table))
    assert shown.status == 0, shown.err
    samples = {r["implementation"]: r["samples"] for r in rows_in(table) if "samples" in r}
    assert samples == {"healthy": 2 * 24, "bad": 3 * 24}
    assert f"line {number + 1} was left out: Expected `int` <=" in " ".join(shown.out.split())
