"""In-toto statements about entries: others read subject and signer, and nothing in them can be changed."""

import json
from base64 import b64decode
from typing import Any

import pytest
from msgspec.structs import replace

from assay.kernel.check_bundle import CheckName, UntrustedSignerError
from assay.kernel.dsse import DsseEnvelope, parse_envelope, render_envelope, seal_envelope
from assay.kernel.entry_statement import ENTRY_PREDICATE_TYPE, check_statement, seal_statement
from assay.kernel.errors import Error, TypeFormError
from assay.kernel.instant import parse_instant
from assay.kernel.intoto import PAYLOAD_TYPE, MalformedStatementError
from assay.kernel.key import TrustAnchors
from tests.kernel._signing import LOG, ORIGIN, OTHER, TestKey
from tests.kernel.test_bundle import ANCHORS, BUNDLE, BUNDLE_CHECKS, ENTRIES, NOBODY, WITNESSES, _endorse

AT = parse_instant("2026-03-02T08:00:00Z")
PLAIN = replace(BUNDLE, disclosures=(), attachments=())
ENVELOPE = seal_statement(PLAIN, LOG.key_id, LOG.sign, at=AT)
DOCUMENT: dict[str, Any] = json.loads(b64decode(ENVELOPE.payload))


def _signed(document: dict[str, Any], key: TestKey = LOG) -> DsseEnvelope:
    return seal_envelope(PAYLOAD_TYPE, json.dumps(document).encode(), [(key.key_id, key.sign)])


def _with(**predicate: object) -> DsseEnvelope:
    return _signed({**DOCUMENT, "predicate": {**DOCUMENT["predicate"], **predicate}})


def test_a_statement_holds_and_names_every_check_of_the_bundle_inside() -> None:
    read = parse_envelope(render_envelope(ENVELOPE))
    finding = check_statement(read, ANCHORS, witnesses=WITNESSES, threshold=2, origin=ORIGIN)
    assert finding.holds
    names = [CheckName.STATEMENT, CheckName.STATEMENT_SIGNATURE, *BUNDLE_CHECKS]
    assert [check.name for check in finding.checks] == names
    assert (finding.signer, len(finding.witnesses)) == (LOG.key_id, 2)


def test_whoever_knows_in_toto_finds_the_entry_by_its_hash() -> None:
    assert DOCUMENT["_type"] == "https://in-toto.io/Statement/v1"
    assert DOCUMENT["predicateType"] == ENTRY_PREDICATE_TYPE
    expected = {"name": f"{ORIGIN}/entries/42", "digest": {"sha256": PLAIN.entry_hash.removeprefix("sha256:")}}
    assert DOCUMENT["subject"] == [expected]


def test_an_anchor_may_lead_to_the_key_that_signed() -> None:
    heir = _endorse(OTHER, LOG, "2026-02-01T00:00:00Z")
    rotated = seal_statement(replace(PLAIN, keys=(*PLAIN.keys, heir)), OTHER.key_id, OTHER.sign, at=AT)
    assert check_statement(rotated, TrustAnchors(key_ids=frozenset([LOG.key_id]))).holds


def test_nobody_trusted_is_untrusted_and_nothing_else() -> None:
    finding = check_statement(ENVELOPE, NOBODY)
    assert not finding.holds
    assert {check.code for check in finding.checks} == {None, UntrustedSignerError.code}


def test_a_statement_signed_by_another_is_not_the_logs() -> None:
    finding = check_statement(_signed(DOCUMENT, OTHER), ANCHORS)
    assert (finding.holds, finding.code) == (False, "dsse.untrusted")


def test_a_key_counts_only_while_it_is_valid() -> None:
    ended = replace(PLAIN, keys=(_endorse(LOG, LOG, "2026-01-01T00:00:00Z", "2026-03-01T13:00:00Z"),))
    finding = check_statement(seal_statement(ended, LOG.key_id, LOG.sign, at=AT), ANCHORS)
    assert finding.code == "key.expired"


@pytest.mark.parametrize(
    "subject",
    [
        [],
        [{"name": f"{ORIGIN}/entries/42", "digest": {"sha256": "0" * 64}}],
        [{**DOCUMENT["subject"][0], "name": f"{ORIGIN}/entries/43"}],
        [*DOCUMENT["subject"], {"name": "other", "digest": {"sha256": "0" * 64}}],
        [{"name": f"{ORIGIN}/entries/42", "digest": {}}],
    ],
)
def test_the_subject_is_the_entry_that_is_proven(subject: list[dict[str, Any]]) -> None:
    """A true proof under a false label must not pass, also when the log's own key signed the label."""
    finding = check_statement(_signed({**DOCUMENT, "subject": subject}), ANCHORS)
    assert (finding.holds, finding.code) == (False, "statement.malformed")


def test_the_bundle_inside_is_checked_as_one_that_came_alone() -> None:
    bundle = {**DOCUMENT["predicate"]["bundle"], "entry": ENTRIES[40].decode()}
    finding = check_statement(_with(bundle=bundle), ANCHORS)
    assert (finding.holds, finding.code) == (False, "proof.entry_hash")


@pytest.mark.parametrize(
    ("envelope", "error"),
    [
        (_signed({**DOCUMENT, "predicateType": "https://slsa.dev/provenance/v1"}), MalformedStatementError),
        (_signed({**DOCUMENT, "predicate": {}}), MalformedStatementError),
        (_with(more=1), MalformedStatementError),
        (_with(signed_at=1), MalformedStatementError),
        (_with(signed_at="yesterday"), TypeFormError),
        (_with(bundle={}), Error),
        (_with(bundle=None), Error),
    ],
)
def test_a_statement_about_something_else_is_refused(envelope: DsseEnvelope, error: type[Error]) -> None:
    with pytest.raises(error):
        check_statement(envelope, ANCHORS)
