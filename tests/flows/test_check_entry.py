"""One stored row against the text that is proven."""

from datetime import UTC, datetime
from hashlib import sha256

import pytest
from msgspec import Raw
from msgspec.structs import replace

from assay.flows.ledger.check_entry import EntryFaultError, verify_stored_entry
from assay.kernel.digest import ZERO_DIGEST, digest_of
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import SCHEMA_VERSION, EntryKind, VerdictColumns, draft_entry, extend, genesis, prepare
from assay.ports.ledger_store import StoredEntry

TENANT = TenantId("acme")
AT = Instant(datetime(2026, 1, 7, 12, tzinfo=UTC))
HASH = digest_of(b"something")
VERDICT = VerdictColumns(
    telemetry_id="m-1",
    telemetry_hash=HASH,
    verdict="FLAG",
    rule_id="rule-9",
    kg_version_hash=HASH,
    model_weight_hash=HASH,
    llm_transcript=Raw(b'{"seconds":1.5,"transcript_ref":"tr-1"}'),
    verifier_result=Raw(b'{"status":"AGREED"}'),
)


def stored_verdict() -> StoredEntry:
    draft = draft_entry(TENANT, EntryKind.VERDICT, {"n": 1}, at=AT, verdict=VERDICT)
    [link], _ = extend(genesis(TENANT), [prepare(draft)])
    return StoredEntry(
        tenant_id=TENANT,
        sequence_number=1,
        previous_hash=ZERO_DIGEST,
        entry_hash=link.entry_hash,
        leaf_hash=link.leaf_hash,
        timestamp="2026-01-07T12:00:00Z",
        kind="verdict",
        telemetry_id="m-1",
        telemetry_hash=HASH,
        verdict="FLAG",
        rule_id="rule-9",
        kg_version_hash=HASH,
        model_weight_hash=HASH,
        llm_transcript='{"seconds":1.5,"transcript_ref":"tr-1"}',
        verifier_result='{"status":"AGREED"}',
        schema_version=SCHEMA_VERSION,
        text=link.text,
    )


ROW = stored_verdict()


def verify(row: StoredEntry) -> str:
    verify_stored_entry(row, TENANT, 1, previous_hash=ZERO_DIGEST)
    return row.entry_hash


def test_a_row_that_says_what_its_text_says_gives_the_hash_the_next_one_must_name() -> None:
    assert verify(ROW) == digest_of(ROW.text)


def test_a_database_may_spell_a_document_in_its_own_way() -> None:
    """PostgreSQL keeps JSON with blanks and keys in an order of its own; the value is what counts."""
    assert verify(replace(ROW, llm_transcript='{"transcript_ref": "tr-1", "seconds": 1.50}')) == ROW.entry_hash


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("tenant_id", "other"),
        ("previous_hash", HASH),
        ("timestamp", "2026-01-07T12:00:01Z"),
        ("kind", "verdict.final"),
        ("telemetry_id", "m-2"),
        ("telemetry_hash", ZERO_DIGEST),
        ("verdict", "CLEAR"),
        ("rule_id", None),
        ("kg_version_hash", ZERO_DIGEST),
        ("model_weight_hash", ZERO_DIGEST),
        ("llm_transcript", '{"transcript_ref":"tr-2","seconds":1.5}'),
        ("llm_transcript", None),
        ("llm_transcript", "not JSON"),
        ("verifier_result", '{"status":"DIVERGED"}'),
        ("schema_version", "9.0.0"),
    ],
)
def test_a_column_that_differs_from_the_text_is_named(column: str, value: str | None) -> None:
    """Queries read the columns, so changing one alone must be found even though every hash still holds."""
    with pytest.raises(EntryFaultError, match=f"column `{column}`") as fault:
        verify(replace(ROW, **{column: value}))
    assert (fault.value.fault_code, fault.value.entry) == ("ledger.column_altered", 1)


@pytest.mark.parametrize(
    ("row", "code"),
    [
        (replace(ROW, text=ROW.text.replace(b"FLAG", b"CLEAR")), "ledger.entry_hash"),
        (replace(ROW, leaf_hash=bytes(32)), "ledger.leaf_hash"),
        (replace(ROW, sequence_number=2), "ledger.entry_missing"),
        (
            replace(ROW, text=b"{}", entry_hash=digest_of(b"{}"), leaf_hash=sha256(b"\x00{}").digest()),
            "ledger.malformed_entry",
        ),
    ],
)
def test_a_row_whose_text_was_touched_is_refused_with_its_code(row: StoredEntry, code: str) -> None:
    with pytest.raises(EntryFaultError) as fault:
        verify(row)
    assert fault.value.fault_code == code


def test_a_row_of_another_chain_or_behind_another_entry_is_refused() -> None:
    with pytest.raises(EntryFaultError, match="it says it is entry 1 of `acme`"):
        verify_stored_entry(ROW, TenantId("other"), 1, previous_hash=ZERO_DIGEST)
    with pytest.raises(EntryFaultError, match="expected it to follow"):
        verify_stored_entry(ROW, TENANT, 1, previous_hash=HASH)
