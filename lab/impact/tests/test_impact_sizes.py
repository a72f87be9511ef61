"""Sizes of the shipped scenarios against transactions that well-kept libraries encode."""

from __future__ import annotations

from functools import cache

import pytest
import rlp
from bitcoin.core import COutPoint, CTransaction, CTxIn, CTxInWitness, CTxOut, CTxWitness
from bitcoin.core.script import OP_2, CScript, CScriptWitness
from eth_abi import encode
from solders.hash import Hash
from solders.instruction import CompiledInstruction
from solders.keypair import Keypair
from solders.message import Message
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer
from solders.transaction import Transaction

from pqc_impact.expression import FUNCTIONS
from pqc_impact.file import Payment, Scenario, Utxo, find_scenario, read_scenario
from pqc_impact.schemes import scheme_of


@cache
def scenario(name: str) -> Scenario:
    return read_scenario(find_scenario(name))


def sizes(name: str, template: str, scheme: str, extreme: int = 0) -> dict[str, float]:
    result = scenario(name)
    return result.names(scheme_of(scheme), result.all_templates[template], extreme)


def pairs(name: str, start: str) -> list[tuple[str, str]]:
    """The templates that begin so, each with its schemes."""
    return [(t.name, s.name) for t, s in scenario(name).pairs() if t.name.startswith(start)]


def some(size: float) -> bytes:
    """So many bytes, none of them zero."""
    assert size == int(size)
    return b"\xa5" * int(size)


def bitcoin() -> Utxo:
    result = scenario("bitcoin")
    assert isinstance(result, Utxo)
    return result


PAYMENTS = [(p, scheme) for p in bitcoin().payments for _, scheme in pairs("bitcoin", p.name)]


@pytest.mark.parametrize(
    ("payment", "scheme"), PAYMENTS, ids=lambda value: getattr(value, "name", value)
)
def test_bitcoin(payment: Payment, scheme: str) -> None:
    form = payment.form.split(",")[0]
    at = scheme_of(scheme)
    for extreme in (-1, 1):
        signature, key = some(at.signature_bytes[extreme]), some(at.public_key_bytes)
        output = {
            "P2PKH": CScript(b"\x76\xa9\x14" + some(20) + b"\x88\xac"),
            "P2WPKH": CScript([0, some(20)]),
            "P2TR": CScript(b"\x51\x20" + some(32)),
            "P2MR": CScript([OP_2, some(32)]),
        }[form]
        leaf = bytes(CScript([key])) + b"\xac"
        witness = {
            "P2PKH": [],
            "P2WPKH": [signature + b"\x01", key],
            "P2TR": [signature],
            "P2MR": [signature, leaf, b"\xc1"],
        }[form]
        script = CScript([signature + b"\x01", key]) if form == "P2PKH" else CScript()
        built = CTransaction(
            [CTxIn(COutPoint(some(32), i), script) for i in range(payment.inputs)],
            [CTxOut(5_000_000_000, output) for _ in range(payment.outputs)],
            witness=CTxWitness(
                [CTxInWitness(CScriptWitness(witness)) for _ in range(payment.inputs)]
            ),
        )
        whole = len(built.serialize())
        bare = len(CTransaction(built.vin, built.vout).serialize())
        names = sizes("bitcoin", payment.name, scheme, extreme)
        assert names["bytes"] == whole
        assert names["weight"] == 3 * bare + whole  # BIP 141


FIELDS = [1, 1000, 10**9, 30 * 10**9, 21000, some(20), 10**18]
"""Chain id, nonce, tip, most, gas limit, receiver, value: of as many bytes as is usual."""
MARK = (0, some(32), some(32))


def ethereum_transaction(data: bytes) -> bytes:
    """An EIP-1559 transaction."""
    return b"\x02" + bytes(rlp.encode([*FIELDS, data, [], *MARK]))


def operation(signature: bytes) -> bytes:
    """The calldata of EntryPoint.handleOps of one PackedUserOperation (ERC-4337, 0.7), a transfer
    by the account's execute(address,uint256,bytes)."""
    address = "0x" + some(20).hex()
    call = some(4) + encode(["address", "uint256", "bytes"], [address, 10**18, b""])
    gas = (100_000).to_bytes(16, "big") + (100_000).to_bytes(16, "big")
    fees = (10**9).to_bytes(16, "big") + (30 * 10**9).to_bytes(16, "big")
    kind = "(address,uint256,bytes,bytes,bytes32,uint256,bytes32,bytes,bytes)[]"
    built = [(address, 200, b"", call, gas, 50_000, fees, b"", signature)]
    return some(4) + encode([kind, "address"], [built, address])


def test_ethereum_transfer() -> None:
    names = sizes("ethereum", "Transfer (EIP-1559)", "ECDSA-secp256k1")
    assert names["bytes"] == len(ethereum_transaction(b""))


@pytest.mark.parametrize(("template", "scheme"), pairs("ethereum", "User operation"))
def test_ethereum_operations(template: str, scheme: str) -> None:
    at = scheme_of(scheme)
    signature, key = some(at.signature_bytes[0]), some(at.public_key_bytes)
    if "signed as today" in template:
        signature, key = some(65), b""
    elif "expanded" in template:
        key = some(20512)
    data = operation(signature + (b"" if "account's code" in template else key))
    names = sizes("ethereum", template, scheme)
    assert names["bytes"] == len(ethereum_transaction(data))
    # EIP-7623, with what the template takes for execution.
    zeros = data.count(0)
    tokens = zeros + 4 * (len(data) - zeros)
    price = names["expanded_verify_gas" if "expanded" in template else "verify_gas"]
    run = names["entry_point"] + price
    if "account's code" in template:
        run += 2600 + 3 * -(-len(key) // 32)
    assert names["gas"] == 21000 + max(4 * tokens + run, 10 * tokens)


@pytest.mark.parametrize(("template", "scheme"), pairs("ethereum", "Frame transaction"))
def test_ethereum_frames(template: str, scheme: str) -> None:
    at = scheme_of(scheme)
    in_code = "account's code" in template
    witness = some(at.signature_bytes[0] + (0 if in_code else at.public_key_bytes))
    verify = [1, 3, b"", [100_000, 0], 0, b""]
    send = [2, 0, some(20), [21000, 0], 10**18, b""]
    call = [[verify, send], [[0, b"", b"", witness]], [10**9, 30 * 10**9, 0], []]
    fields = [1, 1000, some(20), *call]
    names = sizes("ethereum", template, scheme)
    assert names["bytes"] == len(b"\x06" + rlp.encode(fields))
    run = names["verify_gas"] + names["frame_account"]
    if in_code:
        run += 2600 + 3 * -(-at.public_key_bytes // 32)
    intrinsic = 12_000 + 475 * 2 + 100 + 6_000
    tokens = 4 * len(witness)
    assert names["gas"] == intrinsic + max(4 * tokens + run, 16 * tokens)


def solana_message(keys: int, data: bytes, accounts: int) -> Message:
    """A message with one instruction."""
    call = CompiledInstruction(keys - 1, data, bytes(range(accounts)))
    return Message.new_with_compiled_instructions(
        1, 0, 1, [Pubkey(some(32))] * keys, Hash(some(32)), [call]
    )


@pytest.mark.parametrize("name", ["Transfer", "Transfer, key in the transaction", "Votes"])
def test_fast_slots(name: str) -> None:
    result = scenario("fast-slots")
    if name == "Votes":
        message = solana_message(3, some(116), 2)
    else:
        one, other = Keypair(), Pubkey(some(32))
        paid = TransferParams(from_pubkey=one.pubkey(), to_pubkey=other, lamports=1)
        message = Message.new_with_blockhash([transfer(paid)], one.pubkey(), Hash(some(32)))
    whole = len(bytes(Transaction.new_unsigned(message)))  # with 64 bytes for the signature
    for template, scheme in result.pairs():
        if template.name != name:
            continue
        more = scheme.signature_bytes[0] - 64
        more += scheme.public_key_bytes if "key in" in name else 0
        assert sizes("fast-slots", name, scheme.name)["bytes"] == whole + more


@pytest.mark.parametrize("size", [0, 2, 55, 56, 255, 256, 65535, 65536])
def test_length_prefixes(size: int) -> None:
    data = some(size)
    assert FUNCTIONS["rlp"](size) == len(rlp.encode(data))
    assert FUNCTIONS["push"](size) == (len(CScript([data])) if size else 1)
    assert FUNCTIONS["with_length"](size) == len(CTxOut(0, CScript(data)).serialize()) - 8
    assert FUNCTIONS["words"](size) == len(encode(["bytes"], [data])) - 64
    if size < 0x4000:
        message = solana_message(2, data, 0)
        bare = len(bytes(solana_message(2, b"", 0)))
        assert FUNCTIONS["short_vec"](size) + size - 1 == len(bytes(message)) - bare
