"""The protocol client against fake workers: good replies, every kind of fault, and no leftovers."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from fake_worker import HELLO, fake_worker

from mldsa_lab import LabError
from mldsa_lab.theory.trace import ACCEPTED, parse_trace
from mldsa_lab.worker.protocol import JobInput, Link, ProtocolError, Runs, parse_hello, parse_link
from mldsa_lab.worker.worker import Limits, Worker, WorkerFault, WorkerRefusal

GOOD = """
jobs = {}
while True:
    word, *rest = request()
    if word == "hello": say(HELLO)
    elif word == "prepare": say(f"ready {rest[0]}\\n")
    elif word == "forget": say(f"done {rest[0]}\\n")
    elif word == "quit": sys.exit(0)
    elif word == "answer": say(ANSWER)
    elif word == "measure": say(MEASURE)
    else: say("error unknown request\\n")
"""

INPUTS = [JobInput(3, seed=bytes(32)), JobInput(5, seed=bytes(32))]
DIGEST = "ab" * 32


SLEEPER = """
child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
sys.stderr.write(f"child {child.pid}\\n"); sys.stderr.flush()
"""


def start(folder: Path, body: str, **limits: float) -> Worker:
    quick = {"hello": 5.0, "prepare": 5.0, "answer": 5.0, "measure": 5.0, "quit": 5.0}
    options = Limits(**{**quick, **limits})  # type: ignore[arg-type]
    return Worker.start("fake", fake_worker(folder, body), limits=options)


def good(folder: Path, answer: str = "", measure: str = "") -> Worker:
    return start(folder, f"ANSWER = {answer!r}\nMEASURE = {measure!r}\n{GOOD}")


def gone(pid: int) -> bool:
    """Return true if no process of this id exists, not even as a zombie of ours."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def wait_gone(pid: int) -> bool:
    """The same, for a process that the system's init must reap first."""
    for _ in range(200):
        if gone(pid) or "State:\tZ" in Path(f"/proc/{pid}/status").read_text():
            return True
        time.sleep(0.02)
    return False


def test_hello_announces(tmp_path: Path) -> None:
    with good(tmp_path) as worker:
        announcement = worker.hello()
        assert announcement.worker == "fake"
        assert announcement.cpu_clock is None
        assert announcement.flags == "" and announcement.build is None
        (variant,) = announcement.variants
        assert variant.id == "fake:python:compact"
        assert variant.operations == ("keygen", "sign", "verify", "trace")
        assert variant.context and variant.batch_size == 1
    assert gone(worker.channel.pid)


def test_trace(tmp_path: Path) -> None:
    with good(tmp_path, "trace 3 z0r2 h3 ok\ntrace 5 ok\ndone 1\n") as worker:
        worker.prepare(1, "v", "ML-DSA-44", "trace", INPUTS)
        outputs = worker.answer(1)
        assert outputs[3].trace == parse_trace(["z0r2", "h3", "ok"])
        assert outputs[5].trace == (ACCEPTED,)
    with good(tmp_path, "trace 3 ok\nfailed 5 bad key\ndone 1\n") as worker:
        worker.prepare(1, "v", "ML-DSA-44", "trace", INPUTS)
        assert worker.answer(1)[5].failure == "bad key"


def test_links_are_parsed_strictly() -> None:
    good = f"link 1 7 100 - 40 {DIGEST} 50 {DIGEST}"
    assert parse_link(good, 2) == Link(1, 7, 100, None, ((40, b"\xab" * 32), (50, b"\xab" * 32)))
    assert parse_link("failed 3 no key", 2) == Link(input=3, failure="no key")
    for bad, stages in ((good, 1), (good + " 1", 2), (good[:-2], 2), ("sample 1 2 3 4", 0)):
        with pytest.raises(ProtocolError):
            parse_link(bad, stages)


def test_measure(tmp_path: Path) -> None:
    lines = "".join(f"sample {i} {100 + i} - 2 {DIGEST}\n" for i in (3, 5, 3, 5)) + "done 1\n"
    with good(tmp_path, measure=lines) as worker:
        worker.hello()
        worker.prepare(1, "v", "ML-DSA-44", "sign", INPUTS)
        samples = worker.measure(1, 2, 2, 0)
    expected = [(3, 103, None, 2), (5, 105, None, 2)] * 2
    assert [(s.input, s.wall, s.cpu, s.calls) for s in samples] == expected
    assert samples[0].digest == bytes.fromhex(DIGEST)


def test_runs_batches_and_forgotten_jobs(tmp_path: Path) -> None:
    """Two inputs in runs of three: the second run begins with the second input."""
    lines = "".join(f"sample {i} {100 + i} - 4 {DIGEST}\n" for i in (3, 5, 3, 5)) + "done 1\n"
    body = GOOD.replace(
        "say(MEASURE)", 'say(MEASURE if rest[4:] == "loop 3 2 2".split() else "error what\\n")'
    ).replace("say(ANSWER)", 'say(ANSWER if rest[1:] == ["batch", "8"] else "error what\\n")')
    answer = "output 3 aa\noutput 5 bb\ndone 1\n"
    with start(tmp_path, f"ANSWER = {answer!r}\nMEASURE = {lines!r}\n{body}") as worker:
        worker.hello()
        worker.prepare(1, "v", "ML-DSA-44", "sign", INPUTS)
        samples = worker.measure(1, 2, 4, 0, runs=Runs("loop", 3, 2, 2))
        assert [(s.input, s.wall) for s in samples] == [(3, 103), (5, 105), (3, 103), (5, 105)]
        outputs = worker.answer(1, batch=8)
        assert outputs[5].value == b"\xbb"
        with pytest.raises(WorkerRefusal, match="what"):
            worker.measure(1, 2, 4, 0)
        worker.forget(1)
        with pytest.raises(LabError, match="job 1 has not been prepared"):
            worker.answer(1)
    answer = "output 3 aa bb\nfailed 5 no key\ndone 1\n"
    with good(tmp_path, answer, f"sample 3 1 - 1 {DIGEST}\n" * 2 + "done 1\n") as worker:
        worker.prepare(1, "v", "ML-DSA-44", "keygen", INPUTS)
        built = worker.answer(1)
        assert built[3].value == b"\xaa" and built[3].private_key == b"\xbb"
        assert built[5].value is None and built[5].failure == "no key"
        with pytest.raises(WorkerFault, match="expected 5, got 3"):
            worker.measure(1, 1, 1, 0, runs=Runs("batch", 1, 2))


@pytest.mark.parametrize(
    ("request_of", "reply", "rule"),
    [
        ("sign", "output 3 aa\noutput 5 bb\ndone 2\n", "expected `output INPUT HEX` or `failed"),
        ("sign", "output 3 aa\ndone 1\n", "must have 2 lines before its last, got 1"),
        ("sign", "output 5 aa\noutput 3 aa\ndone 1\n", "in order: expected 3, got 5"),
        ("sign", "output 3 aa\noutput 5 aa\noutput 3 aa\ndone 1\n", "more than 2 lines"),
        ("sign", "output 3 AA\n", "lower-case hexadecimal"),
        ("sign", "output -3 aa\n", "decimal number without sign"),
        ("sign", "output 3 aa \n", "expected `output INPUT HEX`"),
        ("keygen", "output 3 aa\n", "expected `output INPUT PK SK`"),
        ("verify", "output 3 02\n", "must be 00 or 01"),
        ("sign", "failed 3\n", "failed INPUT TEXT"),
        ("sign", "\x00\n", "control character"),
        *(
            ("trace", f"trace 3 {text}\n", "trace 3")
            for text in ("", "ok z0", "z0 x1 ok", "r1z0 ok", "z0z1 ok", "z ok", "z0 ok ok")
        ),
        ("measure", f"sample 3 1 - 1 {DIGEST}\n", "of 2 calls, got 1"),
        ("measure", f"sample 3 1 5 2 {DIGEST}\n", "cpu_clock"),
        ("measure", f"sample 3 1.5 - 2 {DIGEST}\n", "wall ticks"),
        ("measure", f"sample 3 -5 - 2 {DIGEST}\n", "wall ticks"),
        ("measure", f"sample 3 {10**20} - 2 {DIGEST}\n", "wall ticks must be"),
        ("measure", f"sample 3 {2**63} - 2 {DIGEST}\n", "below 2.63"),
        ("measure", f"sample 3 1 - 2 {DIGEST.upper()}\n", "hexadecimal"),
        ("measure", "sample 3 1 - 2 abcd\n", "32 bytes"),
        ("measure", f"sample 3 1 2 {DIGEST}\n", "expected `sample INPUT"),
        ("measure", f"sample 3 1 - 2 {DIGEST}\ndone 1\n", "must have 2 lines before"),
        ("measure", f"sample 5 1 - 2 {DIGEST}\n" * 2 + "done 1\n", "expected 3, got 5"),
    ],
)
def test_faults_of_a_reply_end_the_worker(
    tmp_path: Path, request_of: str, reply: str, rule: str
) -> None:
    is_timed = request_of == "measure"
    with good(tmp_path, answer=reply, measure=reply) as worker:
        worker.hello()
        worker.prepare(1, "v", "ML-DSA-44", "sign" if is_timed else request_of, INPUTS)
        with pytest.raises(WorkerFault, match=rule) as caught:
            worker.measure(1, 1, 2, 0) if is_timed else worker.answer(1)
        assert f"worker fake, request {'measure' if is_timed else 'answer'} 1" in str(caught.value)
        assert "\n" not in str(caught.value)
        assert not worker.is_alive and gone(worker.channel.pid)
        with pytest.raises(WorkerFault, match="ended by an earlier fault"):
            worker.hello()


@pytest.mark.parametrize(
    ("threads", "cpu", "is_fault"),
    [(1, 30_000_000, True), (1, 20_000_000, False), (3, 70_000_000, True), (3, 60_000_000, False)],
)
def test_threads_have_no_more_cpu_time_than_wall_time(
    tmp_path: Path, threads: int, cpu: int, is_fault: bool
) -> None:
    """20 ms a thread are allowed. The number of this machine's CPUs does not matter."""
    sample = f"sample 3 1000 {cpu} 1 {DIGEST}\ndone 1\n"
    body = GOOD.replace("HELLO", 'HELLO.replace("cpu_clock none", "cpu_clock thread")')
    with start(tmp_path, f"MEASURE = {sample!r}\n{body}") as worker:
        worker.hello()
        worker.prepare(1, "v", "ML-DSA-44", "sign", INPUTS[:1])
        runs = Runs("loop", 1, 1, threads) if threads > 1 else None
        if is_fault:
            rule = rf"{cpu} ns of CPU time in 1000 ns of wall time on {threads} threads?: the CPU"
            with pytest.raises(WorkerFault, match=rule):
                worker.measure(1, 1, 1, 0, runs=runs)
        else:
            assert worker.measure(1, 1, 1, 0, runs=runs)[0].cpu == cpu


KEM = "family ml-dsa\nsets ML-DSA-44\noperations keygen sign verify trace\nrnd given"


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("protocol 1", "protocol 2", "protocol must be 1"),
        ("unit ns", "unit hours", "unit: .hours. must be one of"),
        ("unit ns", "unit ns\nbuild fast", "build: .fast. must be one of default, tuned"),
        ("clock time", "clok time", "contains unknown field `clok`"),
        ("language Python\n", "", "hello: Object missing required field `language`"),
        ("version 1\n", "", "variant fake:python:compact: Object missing required field `version`"),
        ("version 1", "version 1\nversion 2", "given twice"),
        ("key compact", "key expanded", "must be implementation:backend:key"),
        ("sets ML-DSA-44", "sets ML-DSA-45", "sets\\[0\\]: .ML-DSA-45. must be one of"),
        ("sets ML-DSA-44", "sets ML-DSA-44 ML-DSA-44", "sets.1.: the name .* is given twice"),
        ("operations keygen", "operations keyjen", "operations\\[0\\]: .keyjen. must be one of"),
        ("rnd given", "rnd some", "rnd: .some. must be one of"),
        ("context yes", "context maybe", "context must be yes or no"),
        ("context yes", "context yes\nthreads 0", "threads: Expected `int` >= 1"),
        ("worker fake", "worker ../fake", "letters, digits"),
        (HELLO[HELLO.index("variant") : HELLO.index("end\n")], "", "no variant"),
        # What a family has not cannot be announced.
        ("family ml-dsa\nsets", "family ml-kem\nsets", "sets of family ml-kem are ML-KEM-512, ML-"),
        (KEM, "family ml-kem\nsets ML-KEM-512\noperations keygen sign\nrnd given",
         "operations of family ml-kem are keygen, encaps, decaps"),
        (KEM, "family ml-kem\nsets ML-KEM-512\noperations keygen encaps decaps\nrnd zero",
         "rnd of family ml-kem must be given or none, got zero"),
    ],
)  # fmt: skip
def test_hello_faults(old: str, new: str, rule: str) -> None:
    assert old in HELLO
    with pytest.raises(ProtocolError, match=rule):
        parse_hello(HELLO.replace(old, new).removesuffix("end\n").splitlines())


def test_error_reply_is_a_refusal_and_the_worker_lives_on(tmp_path: Path) -> None:
    body = "request(); say('error not now\\n'); request(); say(HELLO); request()"
    with start(tmp_path, body) as worker:
        with pytest.raises(WorkerRefusal, match="the worker refused: not now"):
            worker.hello()
        assert worker.hello().worker == "fake"


def test_timeout_kills_the_whole_process_group(tmp_path: Path) -> None:
    with start(tmp_path, SLEEPER + "request(); time.sleep(600)", hello=1.0) as worker:
        with pytest.raises(WorkerFault, match=r"no whole reply within 1 s.*child"):
            worker.hello()
        assert gone(worker.channel.pid)
        assert wait_gone(int(worker.channel.stderr_tail.split()[-1]))


def prepare_much(worker: Worker) -> None:
    worker.prepare(1, "v", "ML-DSA-44", "sign", [JobInput(3, message=bytes(4 << 20))])


def hello_and_prepare(worker: Worker) -> None:
    assert worker.hello().worker == "fake"
    worker.prepare(1, "v", "ML-DSA-44", "sign", INPUTS)


def hello_and_quit(worker: Worker) -> None:
    worker.hello()
    worker.quit()


@pytest.mark.parametrize(
    ("body", "limits", "use", "rule"),
    [
        ("request(); sys.stderr.write('one\\ntwo\\tlast\\n'); sys.exit(7)", {}, Worker.hello,
         r"ended with status 7 .*: one \| two last$"),
        ("request(); os.kill(os.getpid(), signal.SIGSEGV)", {}, Worker.hello, "signal SIGSEGV"),
        ("request(); say('a' * 5000); request()", {"line_bytes": 4096}, Worker.hello,
         "longer than 4096 bytes"),
        ("request(); sys.stdout.buffer.write(b'a \\xff\\n'); sys.stdout.flush(); request()", {},
         Worker.hello, "not UTF-8"),
        # A child holds the pipes.
        (SLEEPER + "request(); os._exit(3)", {"hello": 60.0}, Worker.hello, "ended with status 3"),
        # It never reads, or answers before it has read.
        ("time.sleep(600)", {"prepare": 1.0}, prepare_much, "no whole reply within 1 s"),
        ("say('ready 1\\n'); time.sleep(600)", {}, prepare_much,
         r"answered before the request's end|spoke unasked"),
        # The last reply of a dying worker counts.
        ("request(); say(HELLO); sys.exit(1)", {}, hello_and_prepare, "ended with status 1"),
        ("request(); say(HELLO + 'more\\n'); request(); request()", {}, hello_and_prepare,
         "spoke unasked: `more`"),
        ("request(); sys.exit(4)", {}, Worker.quit, "status 4 instead of status 0"),
        ("request(); say(HELLO); request(); time.sleep(600)", {"quit": 0.5}, hello_and_quit,
         r"did not end within 0\.5 s"),
    ],
)  # fmt: skip
def test_faults_of_a_process_are_named(
    tmp_path: Path, body: str, limits: dict[str, float], use: Callable[[Worker], object], rule: str
) -> None:
    with start(tmp_path, body, **limits) as worker:
        with pytest.raises(WorkerFault, match=rule):
            use(worker)
        assert gone(worker.channel.pid)


def test_notes_on_stderr_are_heard_while_the_request_goes_on(tmp_path: Path) -> None:
    body = """
    request()
    for text in ("noise\\nno", "te half\\tdone\\nnote not whole"):
        sys.stderr.write(text); sys.stderr.flush(); time.sleep(0.05)
    while not os.path.exists("heard"): time.sleep(0.01)
    say("ready 1\\n"); request()
    """
    heard: list[str] = []

    def hear(text: str) -> None:
        heard.append(text)
        (tmp_path / "heard").touch()

    program = fake_worker(tmp_path, body)
    limits = Limits(prepare=20)
    with Worker.start("fake", program, cwd=tmp_path, limits=limits) as worker:
        worker.channel.on_note = hear
        worker.prepare(1, "v", "ML-DSA-44", "sign", [])
    assert heard == ["half done"]


def test_more_than_a_pipe_both_ways_and_on_stderr_does_not_deadlock(tmp_path: Path) -> None:
    # The worker writes to stderr and stdout before it has read its request's end, and the request,
    # the reply and the standard error are each far larger than a pipe.
    body = """
    noise = "x" * 99 + "\\n"
    line = sys.stdin.readline()
    for _ in range(4000): sys.stderr.write(noise)
    size = 0
    while line != "end\\n":
        size += len(line); line = sys.stdin.readline()
    sys.stderr.write(noise * 3000); sys.stderr.flush()
    say("ready 1\\n")
    request()
    sys.stderr.write(noise * 3000); sys.stderr.write("the end\\n")
    say("output 3 " + "5a" * (1 << 19) + "\\n"); say("output 5 -\\ndone 1\\n")
    request()
    """
    message = bytes(range(256)) * (1 << 11)
    inputs = [JobInput(3, message=message), JobInput(5, message=b"")]
    with start(tmp_path, body, prepare=60.0, answer=60.0) as worker:
        worker.prepare(1, "v", "ML-DSA-44", "sign", inputs)
        outputs = worker.answer(1)
    assert outputs[3].value == b"\x5a" * (1 << 19)
    assert outputs[5].value == b""
    assert worker.channel.stderr_tail.endswith("the end")


def test_field_too_long_for_a_line(tmp_path: Path) -> None:
    with good(tmp_path) as worker:
        with pytest.raises(LabError, match="message of 8388608 bytes does not fit"):
            worker.prepare(1, "v", "ML-DSA-44", "sign", [JobInput(0, message=bytes(8 << 20))])
        with pytest.raises(LabError, match="input number 4 is negative or repeated"):
            worker.prepare(1, "v", "ML-DSA-44", "sign", [JobInput(4), JobInput(4)])
        assert worker.hello().worker == "fake"


def test_quit_waits_for_a_worker_that_is_still_starting(tmp_path: Path) -> None:
    with start(tmp_path, "time.sleep(0.4); request()", hello=30, quit=0.1) as worker:
        worker.quit()
        assert gone(worker.channel.pid)


def test_end_of_input(tmp_path: Path) -> None:
    with good(tmp_path) as worker:
        worker.end_of_input()
        assert gone(worker.channel.pid)
        with pytest.raises(WorkerFault, match="told to end"):
            worker.hello()


def test_program_that_cannot_be_started(tmp_path: Path) -> None:
    with pytest.raises(WorkerFault, match="worker none, request start: cannot run") as result:
        Worker.start("none", [str(tmp_path / "no-such-program")])
    assert "cannot run no-such-program: the file does not exist; build" in str(result.value)
    assert str(tmp_path) not in str(result.value)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_interrupt_in_a_request_leaves_no_process(tmp_path: Path) -> None:
    """A KeyboardInterrupt in the middle of `hello` kills the group, a grandchild included."""
    worker = start(tmp_path, SLEEPER + "request(); time.sleep(600)", hello=60.0)

    def interrupt() -> None:
        for _ in range(500):
            if worker.channel.stderr_tail:
                break
            time.sleep(0.02)
        signal.pthread_kill(main, signal.SIGINT)

    main = threading.main_thread().ident
    assert main is not None
    thread = threading.Thread(target=interrupt)
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            worker.hello()
    finally:
        thread.join()
        signal.signal(signal.SIGINT, previous)
    assert gone(worker.channel.pid)
    assert wait_gone(int(worker.channel.stderr_tail.split()[-1]))


def test_environment_is_added(tmp_path: Path) -> None:
    body = "request(); say('error ' + os.environ['LAB_TEST'] + str('PATH' in os.environ) + '\\n')"
    argv = fake_worker(tmp_path, body)
    with (
        Worker.start("fake", argv, env={"LAB_TEST": "given"}, cwd=tmp_path) as worker,
        pytest.raises(WorkerRefusal, match="givenTrue"),
    ):
        worker.hello()


def test_no_child_is_left_by_this_file() -> None:
    children = subprocess.run(
        ["ps", "-o", "stat=,args=", "--ppid", str(os.getpid())], capture_output=True, text=True
    ).stdout
    assert "fake.py" not in children and "Z" not in [line[:1] for line in children.splitlines()]
