"""Append, checkpoint, prove, audit, erase and rotate on a real node."""

from datetime import timedelta
from pathlib import Path

import pytest

from assay.adapters.keyfile import create_key_file
from assay.flows.errors import NotFoundError
from assay.flows.errors.ledger import LedgerFlowError, NoCheckpointError
from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.ledger.erase_record import erase_record
from assay.flows.ledger.own_keys import own_key_ring
from assay.flows.ledger.prove_record import prove_record, tlog_proof_of
from assay.flows.ledger.rotate_key import rotate_key
from assay.flows.ledger.sign_checkpoint import sign_checkpoint
from assay.kernel.bundle import Bundle, parse_bundle, render_bundle
from assay.kernel.check_bundle import Finding, check_bundle
from assay.kernel.checkpoint import ShrunkLogError, parse_checkpoint
from assay.kernel.commitment import seal_fields
from assay.kernel.ids import PrincipalId
from assay.kernel.instant import Instant
from assay.kernel.key import KeyPurpose, TrustAnchors
from assay.kernel.ledger import EntryKind, draft_entry
from assay.kernel.proof import parse_tlog_proof, render_tlog_proof, verify_tlog_proof
from tests.flows._node import TENANT, append_notes, new_node, opened
from tests.raising import raises

SALT = bytes(range(32))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return new_node(tmp_path)


def judged(bundle: Bundle, public_key: bytes | None) -> Finding:
    """As a stranger does it: from the file's bytes and one key."""
    assert public_key is not None
    anchors = TrustAnchors(public_keys=frozenset([public_key]))
    return check_bundle(parse_bundle(render_bundle(bundle)), anchors)


def test_a_new_node_has_its_own_keys_on_record(home: Path) -> None:
    """No default key anywhere: three keys are made, and the first entries say so."""
    with opened(home) as tools:
        ring = own_key_ring(tools)
        entries = list(tools.database.read(lambda unit: list(unit.ledger.entries(TENANT))))
    assert [entry.kind for entry in entries] == [EntryKind.KEY_ADDED] * 3
    assert {record.purpose for known in ring.records.values() for record in known} >= {
        KeyPurpose.LEDGER,
        KeyPurpose.REVIEW,
        KeyPurpose.TRANSCRIPT,
    }


@pytest.mark.parametrize("count", [1, 253, 254, 600])
def test_every_entry_can_be_proven_to_someone_who_has_one_key(home: Path, count: int) -> None:
    with opened(home) as tools:
        receipts = append_notes(tools, count)
        sign_checkpoint(tools, TENANT, at=tools.clock.now())
        for receipt in (receipts[0], receipts[-1]):
            bundle = prove_record(tools, TENANT, receipt.sequence_number)
            assert judged(bundle, tools.ledger_signer.public_key).holds
            assert bundle.entry_hash == receipt.entry_hash


def test_a_proof_in_the_c2sp_text_form_verifies(home: Path) -> None:
    with opened(home) as tools:
        (receipt,) = append_notes(tools, 1)
        sign_checkpoint(tools, TENANT, at=tools.clock.now())
        bundle = prove_record(tools, TENANT, receipt.sequence_number)
        public_key = tools.ledger_signer.public_key
        assert public_key is not None
        proof = parse_tlog_proof(render_tlog_proof(tlog_proof_of(bundle)))
        signer = verify_tlog_proof(proof, bundle.entry.encode(), tools.origin_of(TENANT), [public_key])
        assert signer == tools.ledger_signer.key_id


def test_what_is_not_there_or_not_covered_yet_cannot_be_proven(home: Path) -> None:
    with opened(home) as tools:
        with pytest.raises(NotFoundError, match="has no entry 99"):
            prove_record(tools, TENANT, 99)
        with pytest.raises(NoCheckpointError, match="not covered yet"):
            prove_record(tools, TENANT, 1)
        sign_checkpoint(tools, TENANT, at=tools.clock.now())
        (receipt,) = append_notes(tools, 1)
        with pytest.raises(NoCheckpointError, match="has 3 entries"):
            prove_record(tools, TENANT, receipt.sequence_number)


def test_a_smaller_tree_is_never_signed(home: Path) -> None:
    """The checkpoint outside the database remembers more than the database has: signing is refused."""
    with opened(home) as tools:
        append_notes(tools, 5)
        signed = sign_checkpoint(tools, TENANT, at=tools.clock.now())
        larger = signed.note.received.replace(b"\n8\n", b"\n9\n")
        tools.checkpoints.store(TENANT, larger)
        with pytest.raises(ShrunkLogError, match="at least 9"):
            sign_checkpoint(tools, TENANT, at=tools.clock.now())


def test_a_database_that_lost_entries_is_not_written_to_again(home: Path) -> None:
    """Start-up compares with the last checkpoint, which lies outside the database."""
    for copy in ("assay.db", "assay.db-wal", "assay.db-shm"):
        source = home / copy
        if source.exists():
            (home / f"old-{copy}").write_bytes(source.read_bytes())
    with opened(home) as tools:
        append_notes(tools, 5)
        sign_checkpoint(tools, TENANT, at=tools.clock.now())
    for copy in ("assay.db", "assay.db-wal", "assay.db-shm"):
        (home / copy).unlink(missing_ok=True)
        if (home / f"old-{copy}").exists():
            (home / f"old-{copy}").rename(home / copy)
    with raises(LedgerFlowError.rolled_back, match="ends at entry 3, but a checkpoint over 8"), opened(home):
        pass


def test_a_second_audit_reads_only_what_is_new(home: Path) -> None:
    with opened(home) as tools:
        append_notes(tools, 300)
        sign_checkpoint(tools, TENANT, at=tools.clock.now())
        first = audit_ledger(tools, TENANT)
        append_notes(tools, 10)
        seen: list[tuple[int, int]] = []
        second = audit_ledger(tools, TENANT, progress=lambda done, total: seen.append((done, total)))
        whole = audit_ledger(tools, TENANT, full=True)
    assert (first.holds, first.verified_from, first.entries_checked) == (True, 1, 303)
    assert (second.holds, second.verified_from, second.entries_checked) == (True, 304, 10)
    assert (whole.holds, whole.entries_checked, whole.last_good_checkpoint) == (True, 313, 303)
    assert seen == [(303, 313), (313, 313)]


def test_a_checkpoint_signed_after_the_mark_is_checked_though_nothing_was_added(home: Path) -> None:
    with opened(home) as tools:
        assert audit_ledger(tools, TENANT).checkpoints_checked == 0
        sign_checkpoint(tools, TENANT, at=tools.clock.now())
        second = audit_ledger(tools, TENANT)
    assert (second.entries_checked, second.checkpoints_checked, second.last_good_checkpoint) == (0, 1, 3)


def test_a_mark_that_this_node_did_not_sign_is_not_believed(home: Path) -> None:
    with opened(home) as tools:
        audit_ledger(tools, TENANT)
        mark = tools.marks.load(TENANT)
        assert mark is not None
        tools.marks.store(TENANT, mark.replace(b'"size":3', b'"size":2'))
        assert audit_ledger(tools, TENANT).verified_from == 1


def test_erased_values_are_gone_and_their_proof_stays(home: Path) -> None:
    """The salt and the value leave the files; the entry, its hash and its proof are what they were."""
    with opened(home) as tools:
        body, disclosures = seal_fields({"name": "Wilhelmina Slater", "n": 1}, ["/name"], [SALT])
        draft = draft_entry(TENANT, EntryKind.NOTE, body, at=tools.clock.now(), disclosures=disclosures)
        receipt = tools.database.append(draft)
        sign_checkpoint(tools, TENANT, at=tools.clock.now())
        shown = prove_record(tools, TENANT, receipt.sequence_number, disclose=True)
        erasure, recorded, scrubbed = erase_record(
            tools,
            TENANT,
            receipt.sequence_number,
            by=PrincipalId("user:amira"),
            reason="asked to",
            at=tools.clock.now(),
        )
        sign_checkpoint(tools, TENANT, at=tools.clock.now())
        after = prove_record(tools, TENANT, receipt.sequence_number, disclose=True)
        assert judged(shown, tools.ledger_signer.public_key).holds
        assert judged(after, tools.ledger_signer.public_key).holds
        assert audit_ledger(tools, TENANT, full=True).holds
    assert shown.disclosures
    assert (after.disclosures, after.entry) == ((), shown.entry)
    assert (erasure.pointers, recorded.sequence_number) == (("/name",), receipt.sequence_number + 1)
    assert scrubbed
    for file in home.glob("assay.db*"):
        assert b"Wilhelmina" not in file.read_bytes(), file.name
        assert SALT.hex().encode() not in file.read_bytes(), file.name


def test_erasing_what_is_not_there_changes_nothing(home: Path) -> None:
    with opened(home) as tools:
        before = tools.database.read(lambda unit: unit.ledger.head(TENANT))
        with raises(LedgerFlowError.nothing_to_erase, match="no erasable value at `/x`"):
            erase_record(
                tools,
                TENANT,
                1,
                pointers=("/x",),
                by=PrincipalId("user:amira"),
                reason="asked to",
                at=tools.clock.now(),
            )
        assert tools.database.read(lambda unit: unit.ledger.head(TENANT)) == before


def test_after_a_rotation_both_keys_hold_for_a_while_and_the_old_anchor_leads_to_the_new(home: Path) -> None:
    """Whoever trusts only the first key can verify what the second one signs."""
    with opened(home) as tools:
        first_key = tools.ledger_signer.public_key
        at = tools.clock.now()
        second = create_key_file(home / "keys" / "ledger-2.key")
        endorsement, retirement = rotate_key(
            tools,
            TENANT,
            old=tools.ledger_signer,
            new=second,
            purpose=KeyPurpose.LEDGER,
            overlap=timedelta(days=7),
            at=at,
        )
        entries = tools.database.read(lambda unit: [entry.kind for entry in unit.ledger.entries(TENANT, first=4)])
    (home / "assay.toml").write_text(
        (home / "assay.toml").read_text().replace("keys/ledger.key", "keys/ledger-2.key"), encoding="utf-8"
    )
    assert entries == [EntryKind.KEY_ADDED, EntryKind.KEY_RETIRED]
    assert retirement.valid_until == Instant(at + timedelta(days=7))
    with opened(home) as tools:
        (receipt,) = append_notes(tools, 1)
        signed = sign_checkpoint(tools, TENANT, at=tools.clock.now())
        bundle = prove_record(tools, TENANT, receipt.sequence_number)
        finding = judged(bundle, first_key)
        assert audit_ledger(tools, TENANT, full=True).holds
    assert finding.holds
    assert finding.signer == endorsement.record.key_id
    assert parse_checkpoint(signed.note.received).checkpoint.size == receipt.sequence_number
