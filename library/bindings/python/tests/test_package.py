"""The wheel, its type stubs and the documents."""

import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import metadata, version
from pathlib import Path

import mldsa_lanes
import pytest

ROOT = Path(__file__).parents[3]
DOCUMENTS = (ROOT.parent / "docs" / "python.md", ROOT / "bindings" / "python" / "README.md")


def examples(document):
    text = document.read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def test_the_installed_wheel_is_tested():
    assert Path(mldsa_lanes.__file__).is_relative_to(sys.prefix)
    assert Path(mldsa_lanes._native.__file__).name == "_native.abi3.so"
    assert version("mldsa-lanes") == mldsa_lanes.__version__
    assert not metadata("mldsa-lanes").get_all("Requires-Dist")
    assert (Path(mldsa_lanes.__file__).parent / "py.typed").is_file()


def test_stubs_are_the_modules():
    command = [sys.executable, "-m", "mypy.stubtest", "mldsa_lanes"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_stubs_name_the_librarys_hash_functions():
    stubs = (Path(mldsa_lanes.__file__).parent / "_native.pyi").read_text()
    literal = stubs.partition("_Hash: TypeAlias = Literal[")[2].partition("]")[0]
    with pytest.raises(ValueError, match="there are") as caught:
        mldsa_lanes.MLDSA44PrivateKey.generate().sign(b"", prehash="other")
    names = set(re.findall(r"SHA[\w/-]+", str(caught.value)))
    # As OpenSSL writes them.
    names |= {name.replace("SHAKE", "SHAKE-") for name in names}
    assert set(re.findall(r'"(.+)"', literal)) == names


def test_other_names_of_the_package_are_private():
    names = {name for name in dir(mldsa_lanes) if not name.startswith("_")}
    assert names == set(mldsa_lanes.__all__) - {"__version__"}


def test_a_package_without_its_compiled_module_says_how_to_get_one(tmp_path):
    package = Path(mldsa_lanes.__file__).parent
    copy = tmp_path / "mldsa_lanes"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("_native*.so", "*.pyc"))
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-c", "import mldsa_lanes"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"ImportError: {copy} has no compiled module for this Python.")
    assert "pip install mldsa-lanes" in last and "pip install ./library/bindings/python" in last


def test_types_of_a_program(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "from mldsa_lanes import MLDSA65PrivateKey, sign_batch, verify_batch\n"
        "key = MLDSA65PrivateKey.generate().expand()\n"
        "signature: bytes = key.sign(bytearray(b'm'), memoryview(b'c'), prehash='SHA2-512')\n"
        "public = key.public_key()\n"
        "valid: list[bool] = verify_batch([(public, s, b'm') for s in sign_batch([(key, b'm')])])\n"
        "reveal_type(public)\n"
        "key.sign('text')\n"
        "key.sign(b'm', prehash='MD5')\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), str(program)]
    done = subprocess.run(command, capture_output=True, text=True)
    lines = [line.partition("program.py:")[2] for line in done.stdout.splitlines()]
    assert re.match(r'6: note: Revealed type is "mldsa_lanes\._native\.MLDSA65PublicKey"', lines[0])
    assert [line.split(":")[0] for line in lines[1:3]] == ["7", "8"], done.stdout
    assert "Found 2 errors" in done.stdout


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_examples_run(document, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {}
    assert examples(document)
    for example in examples(document):
        exec(compile(example, str(document), "exec"), namespace)


def test_the_page_is_one_screen():
    assert len(DOCUMENTS[0].read_text(encoding="utf-8").splitlines()) <= 70
