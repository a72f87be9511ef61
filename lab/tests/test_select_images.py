"""Images of selections, read back by the readers they are for; and the file itself."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from mldsa_lab import LabError
from mldsa_lab.checkout import find_root
from mldsa_lab.inputs.input import Input, Spec
from mldsa_lab.inputs.selection import COMPACT_FORMATS, FORMATS, Selection, images, write_images
from mldsa_lab.inputs.tracing import build_library, load


@pytest.fixture(scope="module")
def selection() -> Selection:
    """Three inputs: an empty message, an empty context, and neither."""
    inputs = Spec("ML-DSA-44", bytes(32), 33, 5, 1, "given").inputs(0, 3)
    inputs[0] = replace(inputs[0], message=b"")
    inputs[1] = replace(inputs[1], context=b"")
    items = load().make("ML-DSA-44", [replace(item, id=item.id + 7) for item in inputs])
    return Selection("ML-DSA-44", "mean", items, provenance={"tool": "mldsa-lab test"})


def _expected(item: Input) -> dict[str, bytes]:
    return {
        "xi": item.seed,
        "rnd": item.signing_rnd,
        "message": item.message,
        "context": item.context,
        "pk": item.pk,
        "sk": item.sk,
        "signature": item.output,
    }


def test_responses(selection: Selection) -> None:
    text = images(selection, ["rsp"])["selection.rsp"]
    blocks = [b for b in re.split(r"\n\s*\n", text) if "count" in b]
    for block, item in zip(blocks, selection.inputs, strict=True):
        lines = [line for line in block.splitlines() if not line.startswith("#")]
        fields = {k.strip(): v.strip() for k, _, v in (line.partition("=") for line in lines)}
        names = {"message": "msg", "context": "ctx", "signature": "sig"}
        for name, value in _expected(item).items():
            assert bytes.fromhex(fields[names.get(name, name)]) == value
        assert int(fields["count"]) == item.id
        assert int(fields["mlen"]) == len(item.message)
        assert int(fields["ctxlen"]) == len(item.context)
        assert int(fields["smlen"]) == len(fields["sm"]) // 2
        assert fields["sm"] == fields["sig"] + fields["msg"]


PROGRAM = r"""
#include "selection.h"
#include <stdio.h>
static void put(const char *name, const uint8_t *p, size_t n) {
    printf("%s ", name);
    for (size_t i = 0; i < n; i++) printf("%02x", p[i]);
    printf("\n");
}
int main(void) {
    for (size_t i = 0; i < MLDSA_LAB_INPUTS; i++) {
        const struct mldsa_lab_input *in = &mldsa_lab_inputs[i];
        printf("id %u %u\n", (unsigned)in->id, (unsigned)in->attempts);
        printf("trace %s\n", in->trace);
        put("xi", in->xi, 32);
        put("rnd", in->rnd, 32);
        put("message", in->message, in->message_bytes);
        put("context", in->context, in->context_bytes);
        put("pk", in->pk, MLDSA_LAB_PK_BYTES);
        put("sk", in->sk, MLDSA_LAB_SK_BYTES);
        put("signature", in->signature, MLDSA_LAB_SIGNATURE_BYTES);
    }
    return 0;
}
"""


def test_the_c_header_compiles_and_holds_everything(selection: Selection, tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    assert compiler is not None, "the project needs a C compiler"
    write_images(selection, tmp_path, ["c"])
    (tmp_path / "main.c").write_text(PROGRAM)
    flags = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]
    subprocess.run([compiler, *flags, "main.c", "-o", "main"], cwd=tmp_path, check=True)
    out = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True).stdout
    expected = []
    for item in selection.inputs:
        expected += [f"id {item.id} {len(item.trace)}", f"trace {' '.join(map(str, item.trace))}"]
        expected += [f"{name} {value.hex()}" for name, value in _expected(item).items()]
    assert out.splitlines() == expected


BOARD = r"""
#include <stdio.h>
#include <string.h>
#include "selection_hashes.h"
#include "mldsa_trace.h"
static uint32_t now;
void start_cycles(void) {}
uint32_t cycles(void) { return now; }
void put_byte(char byte) { putchar(byte); }
int target_keygen(uint8_t *sk, const uint8_t *xi) {
    static const uint64_t ends[2] = {0, 0};
    return mldsa_trace_sign(SET, 0, 1, xi, sk, ends, NULL, NULL, sk, NULL);
}
int target_sign(uint8_t *signature, const uint8_t *sk, const uint8_t *message, size_t message_bytes,
                const uint8_t *context, size_t context_bytes, const uint8_t *rnd) {
    uint8_t data[512];
    uint64_t ends[2] = {message_bytes, message_bytes + context_bytes};
    memcpy(data, message, message_bytes);
    memcpy(data + message_bytes, context, context_bytes);
    now += 1000;
    int status = mldsa_trace_sign(SET, 1, 1, sk, data, ends, rnd, NULL, NULL, signature);
    signature[0] ^= WRONG;
    return status;
}
"""


@pytest.mark.parametrize("wrong", (0, 1))
def test_the_microcontroller_example_checks_digests(
    selection: Selection, tmp_path: Path, wrong: int
) -> None:
    compact = Selection.parse(selection.to_json(is_compact=True), "compact")
    write_images(compact, tmp_path, ["c-hashes"])
    (tmp_path / "board.c").write_text(BOARD)
    root = find_root()
    library = build_library(root)
    example = root / "lab" / "examples" / "cortex-m4" / "measure.c"
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I.", "-DCUSTOM_BOARD"]
    flags += [f"-I{root / 'library/crates/mldsa-trace' / 'include'}", f"-DWRONG={wrong}"]
    flags += [f"-DSET={selection.set.rpartition('-')[2]}", f"-Wl,-rpath,{library.parent}"]
    words = ["cc", *flags, str(example), "board.c", str(library), "-o", "measure"]
    subprocess.run(words, cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "measure"], capture_output=True, text=True, check=False)
    first, *rows = done.stdout.split()
    assert first == "id,round,cost,unit" and done.returncode == wrong
    ids = [item.id for item in compact.inputs]
    expected = [f"{i},{r},1000,cycles" for r in (1, 2, 3) for i in ids]
    assert rows == (expected if not wrong else f"error: wrong signature of input {ids[0]}".split())


def _memory(text: str) -> bytearray:
    """What `$readmemh` makes of an image (IEEE 1800, 21.4): comments, addresses, words."""
    memory: dict[int, int] = {}
    at = 0
    for word in re.sub(r"//[^\n]*", " ", text).split():
        if word.startswith("@"):
            at = int(word[1:], 16)
            continue
        assert re.fullmatch("[0-9a-f]{2}", word) and at not in memory
        memory[at] = int(word, 16)
        at += 1
    assert sorted(memory) == list(range(len(memory)))
    return bytearray(memory[i] for i in range(len(memory)))


def test_the_memory_image_by_its_directory(selection: Selection) -> None:
    texts = images(selection, ["readmemh"])
    memory = _memory(texts["selection.hex"])

    def word(address: int) -> int:
        return int.from_bytes(memory[address : address + 4], "big")

    assert word(0) == 3
    for number, item in enumerate(selection.inputs):
        base = 4 + 64 * number
        assert (word(base), word(base + 4)) == (item.id, len(item.trace))
        for place, value in enumerate(_expected(item).values()):
            address, length = word(base + 8 + 8 * place), word(base + 12 + 8 * place)
            assert memory[address : address + length] == value
    places = [line.split() for line in texts["selection.map"].splitlines() if line[0] != "#"]
    for item in selection.inputs:
        for name, value in _expected(item).items():
            (at,) = [p for p in places if p[:2] == [str(item.id), name]]
            address, length = int(at[2], 16), int(at[3])
            assert memory[address : address + length] == value


def test_what_cannot_be_written_is_named(selection: Selection, tmp_path: Path) -> None:
    compact = Selection.parse(selection.to_json(is_compact=True), "here")
    for form in set(FORMATS) - set(COMPACT_FORMATS):
        with pytest.raises(LabError, match="input 7: has no outputs"):
            write_images(compact, tmp_path, [form])
    (tmp_path / "file").write_text("")
    with pytest.raises(LabError, match="cannot write it"):
        write_images(selection, tmp_path / "file", ["rsp"])
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


# --- the file itself ------------------------------------------------------------------------------


def test_there_and_back(selection: Selection, tmp_path: Path) -> None:
    path = tmp_path / "selection.json"
    path.write_text(selection.to_json())
    read = Selection.read(path)
    assert read == selection and not read.is_compact
    rejected = [[sum(a.rejection == c for a in i.trace) for c in "zrh"] for i in selection.inputs]
    assert read.counts().tolist() == rejected and read.ids == (7, 8, 9)
    small = Selection.parse(selection.to_json(is_compact=True), "here")
    assert small.is_compact and [i.digests for i in small.inputs] == [
        i.digests for i in selection.inputs
    ]
    assert small.to_json(is_compact=True) == selection.to_json(is_compact=True)
    assert len(small.to_json(is_compact=True)) < len(selection.to_json()) // 10
    with pytest.raises(LabError, match="input 7: has no outputs"):
        small.to_json()


def _set(path: str, value: object) -> Any:
    """A change of one value in the file's object; None removes it."""

    def change(whole: Any) -> None:
        *way, last = [int(p) if p.isdigit() else p for p in path.split("/")]
        for step in way:
            whole = whole[step]
        whole[last] = value
        if value is None:
            del whole[last]

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_set("format", "other"), "is no selection"),
        (_set("version", 2), "has format version 2, this reader knows 1"),
        (_set("set", "ML-DSA-66"), "set: 'ML-DSA-66' must be one of"),
        (_set("percentile", 50), "a percentile belongs to the goal"),
        (_set("inputs", []), "inputs: Expected `array` of length >= 1"),
        (_set("more", 1), "contains unknown field `more`"),
        (_set("inputs/1/id", 7), "the id 7 appears twice"),
        (_set("inputs/1/id", -2), r"inputs\[1\].id: Expected `int` >= 0"),
        (_set("inputs/0/xi", "00"), r"inputs\[0\]: xi has 1 bytes, must have 32"),
        (_set("inputs/0/message", "0"), r"inputs\[0\].message: must be bytes in hexadecimal"),
        (
            _set("inputs/0/context", "00" * 256),
            r"inputs\[0\]: context has 256 bytes, must have at most 255",
        ),
        (_set("inputs/2/trace", ["h9", "ok"]), r"inputs\[2\]: attempt 'h9'"),
        (_set("inputs/2/trace", ["ok", "ok"]), r"inputs\[2\]: trace"),
        (_set("inputs/0/pk", "00"), r"inputs\[0\]: pk has 1 bytes, must have 1312"),
        (_set("inputs/0/pk", None), r"inputs\[0\]: pk is missing"),
        (_set("inputs/0/pk_sha256", "00" * 32), r"inputs\[0\]: sk_sha256 is missing"),
    ],
)
def test_what_breaks_a_rule_is_named(selection: Selection, change: Any, message: str) -> None:
    whole = json.loads(selection.to_json())
    change(whole)
    with pytest.raises(LabError, match=f"^here.*{message}"):
        Selection.parse(json.dumps(whole), "here")
