"""A node signs with its own valid keys or not at all, and believes what its founder vouches for and nothing else."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from threading import Event, Thread

import pytest

from assay.adapters.keyfile import create_key_file
from assay.adapters.toml_text import set_toml_value
from assay.flows.errors.ledger import LedgerFlowError, OtherDatabaseError
from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.ledger.examine_node import State, examine_node
from assay.flows.ledger.own_keys import own_key_ring
from assay.flows.ledger.rotate_key import rotate_key
from assay.flows.ledger.sign_checkpoint import sign_checkpoint
from assay.flows.tools import Tools
from assay.kernel.checkpoint import log_key, parse_checkpoint
from assay.kernel.cosignature import cosignature_line, cosignature_message
from assay.kernel.ids import KeyId
from assay.kernel.instant import Instant
from assay.kernel.key import (
    Endorsement,
    ExpiredKeyError,
    KeyPurpose,
    KeyRecord,
    SigningMethod,
    UnknownKeyError,
    endorsement_message,
    parse_anchors,
    record_for,
    seal_endorsement,
)
from assay.kernel.note import note_signature, render_signature_line
from assay.kernel.witness import parse_request
from assay.ports.signer import Signer
from assay.ports.witness import WitnessReply
from assay.wiring import open_node
from tests.flows._node import TENANT, append_notes, new_node, opened
from tests.kernel._seed_signer import SeedSigner
from tests.raising import raises

_OTHER = SeedSigner(7)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return new_node(tmp_path)


@pytest.fixture
def tools(home: Path) -> Iterator[Tools]:
    with opened(home) as tools:
        yield tools


def _configure(home: Path, section: str, key: str, value: str | list[str]) -> None:
    path = home / "assay.toml"
    path.write_text(set_toml_value(path.read_text(), section, key, value))


def _rotate(tools: Tools, new: Signer, *, overlap: timedelta = timedelta(0)) -> Instant:
    at = tools.clock.now()
    rotate_key(tools, TENANT, old=tools.ledger_signer, new=new, purpose=KeyPurpose.LEDGER, overlap=overlap, at=at)
    return at


def _endorsed_by_other(record: KeyRecord) -> Endorsement:
    return seal_endorsement(record, endorsed_by=_OTHER.key_id, signature=_OTHER.sign(endorsement_message(record)))


def test_a_key_that_ended_signs_no_checkpoint(tools: Tools) -> None:
    """It would be a fault of the ledger for ever; nothing is kept of the attempt."""
    at = Instant(_rotate(tools, _OTHER) + timedelta(microseconds=1))
    with pytest.raises(ExpiredKeyError):
        sign_checkpoint(tools, TENANT, at=at)
    assert tools.checkpoints.tenants() == ()
    sign_checkpoint(replace(tools, ledger_signer=_OTHER), TENANT, at=at)
    assert audit_ledger(tools, TENANT, leave_mark=False).holds


def test_a_key_that_nobody_endorsed_signs_no_checkpoint(tools: Tools) -> None:
    with pytest.raises(UnknownKeyError):
        sign_checkpoint(replace(tools, ledger_signer=_OTHER), TENANT, at=tools.clock.now())


@pytest.mark.parametrize("purpose", ["ledger", "review", "transcript"])
def test_a_node_with_a_foreign_key_does_not_open_for_writing(home: Path, purpose: str) -> None:
    """Reading goes on, and after the repair everything holds."""
    create_key_file(home / "keys" / "other.key")
    _configure(home, "keys", purpose, "keys/other.key")
    with raises(LedgerFlowError.key_not_own, match=rf"the {purpose} key .*\[key\.unknown\]"), opened(home):
        pass
    with opened(home, writable=False) as tools:
        assert audit_ledger(tools, TENANT, leave_mark=False).holds
    _configure(home, "keys", purpose, f"keys/{purpose}.key")
    with opened(home) as tools:
        sign_checkpoint(tools, TENANT, at=tools.clock.now())
        assert audit_ledger(tools, TENANT).holds


def test_a_rotation_cut_short_says_where_the_successor_is(home: Path) -> None:
    """The old key has ended and assay.toml still names it: the error says what to write there instead."""
    with opened(home) as tools:
        _rotate(tools, create_key_file(home / "keys" / "ledger-2.key"))
    with (
        raises(LedgerFlowError.key_not_own, match=r'set `ledger = "keys/ledger-2\.key"` under `\[keys\]`'),
        opened(home),
    ):
        pass
    _configure(home, "keys", "ledger", "keys/ledger-2.key")
    with opened(home) as tools:
        sign_checkpoint(tools, TENANT, at=tools.clock.now())
        assert audit_ledger(tools, TENANT).holds


def test_a_successor_that_is_elsewhere_is_named_by_its_id(home: Path) -> None:
    with opened(home) as tools:
        _rotate(tools, _OTHER)
    with raises(LedgerFlowError.key_not_own, match=f"its successor is {_OTHER.key_id}"), opened(home):
        pass


def test_the_database_cannot_name_another_root(home: Path) -> None:
    """Rows that say the first key was another are believed by nobody, and the audit finds them."""
    with opened(home) as tools:
        first = tools.database.read(lambda unit: unit.keys.recorded())[0]
        assert isinstance(first.fact, Endorsement)
        at = first.fact.record.valid_from
        forged = [
            _endorsed_by_other(record_for(_OTHER, purpose=KeyPurpose.LEDGER, valid_from=at)),
            _endorsed_by_other(first.fact.record),
        ]
        receipt = append_notes(tools, 1)[0]
        for fact in forged:
            tools.database.write(lambda unit, fact=fact: unit.keys.add(fact, receipt))  # type: ignore[misc]  # bound at once
        assert _OTHER.key_id not in own_key_ring(tools).records
        report = audit_ledger(tools, TENANT, leave_mark=False)
    assert (report.holds, report.code) == (False, "ledger.row_unrecorded")


def test_a_key_fact_that_names_no_entry_is_a_fault(tools: Tools) -> None:
    receipt = append_notes(tools, 1)[0]
    first = tools.database.read(lambda unit: unit.keys.endorsements())[0]
    assert audit_ledger(tools, TENANT, leave_mark=False).holds
    tools.database.write(lambda unit: unit.keys.add(first, receipt))
    assert audit_ledger(tools, TENANT, leave_mark=False).code == "ledger.row_unrecorded"


def test_anchors_for_others_do_not_change_what_is_the_nodes_own(tools: Tools) -> None:
    """Audit and rotation work whomever else the operator trusts."""
    sign_checkpoint(tools, TENANT, at=tools.clock.now())
    trusting = replace(tools, anchors=parse_anchors([_OTHER.public_key.hex()]))
    assert audit_ledger(trusting, TENANT, leave_mark=False).holds
    _rotate(trusting, SeedSigner(8), overlap=timedelta(days=1))
    assert audit_ledger(trusting, TENANT, leave_mark=False).holds


class _HostileWitness:
    """Cosigns, and adds a false line under the log's own name and key."""

    name = "evil"
    public_key = _OTHER.public_key

    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    def add_checkpoint(self, request: bytes) -> WitnessReply:
        signed = parse_request(request).signed
        at = Instant(self._tools.clock.now().replace(microsecond=0))
        signature = _OTHER.sign(cosignature_message(signed.note.body, at))
        good = cosignature_line(self.name, self.public_key, at, signature)
        log = log_key(signed.checkpoint.origin, self._tools.ledger_signer.public_key or b"")
        bad = note_signature(log, bytes(64))
        return WitnessReply(200, (render_signature_line(bad) + render_signature_line(good)).encode())


def test_of_a_hostile_witness_only_its_own_line_is_kept(home: Path) -> None:
    """A line under our own name would make a checkpoint that nobody, and not this node either, can verify."""
    with opened(home) as tools:
        witnessed = replace(tools, witnesses=(_HostileWitness(tools),), witness_threshold=1)
        signed = sign_checkpoint(witnessed, TENANT, at=tools.clock.now())
    assert [line.name for line in signed.note.signatures] == [signed.checkpoint.origin, "evil"]
    with opened(home) as tools:
        assert audit_ledger(tools, TENANT).holds


class _SlowSigner:
    """Signs, and hands the signature out when it is told to."""

    def __init__(self, signer: Signer) -> None:
        self._signer = signer
        self.signed, self.released = Event(), Event()

    @property
    def key_id(self) -> KeyId:
        return self._signer.key_id

    @property
    def method(self) -> SigningMethod:
        return self._signer.method

    @property
    def public_key(self) -> bytes | None:
        return self._signer.public_key

    def sign(self, message: bytes) -> bytes:
        signature = self._signer.sign(message)
        self.signed.set()
        assert self.released.wait(30)
        return signature


def test_of_two_checkpoints_at_once_the_later_continues_the_earlier(tools: Tools) -> None:
    """The second waits until the first is remembered, so that neither memory ever goes back."""
    slow = _SlowSigner(tools.ledger_signer)
    sizes: list[int] = []

    def run(with_tools: Tools) -> None:
        sizes.append(sign_checkpoint(with_tools, TENANT, at=tools.clock.now()).checkpoint.size)

    first = Thread(target=run, args=(replace(tools, ledger_signer=slow),))
    first.start()
    assert slow.signed.wait(30)
    append_notes(tools, 5)
    second = Thread(target=run, args=(tools,))
    second.start()
    second.join(0.2)
    assert second.is_alive()
    slow.released.set()
    for thread in (first, second):
        thread.join(30)
    note = tools.checkpoints.load(TENANT)
    assert note is not None
    kept = tools.database.read(lambda unit: unit.ledger.find_checkpoint(TENANT))
    assert (sizes, parse_checkpoint(note).checkpoint.size, kept and kept.size) == ([3, 8], 8, 8)


@pytest.mark.parametrize("given", ["another node's", "an empty one"])
def test_a_database_that_is_not_this_nodes_is_told_as_that(home: Path, tmp_path: Path, given: str) -> None:
    """Not as a key that is foreign: nothing is written, and no audit says that all is well."""
    with opened(home) as tools:
        founder = tools.founder
    other = new_node(tmp_path / "elsewhere")
    with opened(other) as tools:
        told = tools.founder if given != "an empty one" else "no node was founded in"
    for file in home.glob("assay.db*"):
        file.unlink()
    (home / "assay.db").write_bytes((other / "assay.db").read_bytes() if given != "an empty one" else b"")
    with pytest.raises(OtherDatabaseError, match=f"founded with {founder}, got .*{told}"), open_node(home):
        pass
    with open_node(home, writable=False) as (tools, _):
        report = audit_ledger(tools, TENANT)
        assert (report.holds, report.code) == (False, "ledger.other_database")
        found = examine_node(tools, at=tools.clock.now())
    assert [one.name for one in found if one.state is State.FAILED] == ["keys"]
