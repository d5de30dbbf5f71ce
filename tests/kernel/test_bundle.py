"""Proof bundles: what holds, and that no field can be changed without a coded refusal."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from assay.kernel.bundle import (
    Attachment,
    Bundle,
    EntryFormError,
    MalformedBundleError,
    parse_bundle,
    parse_entry_head,
    render_bundle,
)
from assay.kernel.canonical import canonicalize
from assay.kernel.check_bundle import Check, CheckName, Finding, Outcome, check_bundle
from assay.kernel.checkpoint import add_signatures
from assay.kernel.commitment import open_fields, seal_fields
from assay.kernel.digest import ZERO_DIGEST, Digest, digest_of
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.instant import parse_instant
from assay.kernel.key import (
    Endorsement,
    RetirementDraft,
    TrustAnchors,
    endorsement_message,
    retirement_message,
    seal_endorsement,
    seal_retirement,
)
from assay.kernel.ledger import EntryKind, draft_entry, extend, genesis, prepare
from assay.kernel.merkle import leaf_hash
from assay.kernel.note import render_note
from assay.kernel.tile import inclusion_path
from tests.kernel._signing import LOG, ORIGIN, OTHER, SECOND_WITNESS, WITNESS, TestKey, cosign, head, log_line, signed
from tests.kernel._store import stored

AT = parse_instant("2026-03-01T11:00:00Z")


def _nested(value: object, depth: int) -> object:
    for _ in range(depth):
        value = [value]
    return value


BODY, DISCLOSURES = seal_fields({"amount": 7, "name": "Amira"}, ["/name"], [b"s" * 16])


def _entry(sequence: int, previous: Digest, **changes: object) -> bytes:
    return canonicalize(
        {
            "body": BODY,
            "kind": "note",
            "previous_hash": previous,
            "profile": "ski-3.0",
            "schema_version": "3.0.0",
            "sequence_number": sequence,
            "tenant_id": "acme",
            "timestamp": "2026-03-01T11:00:00Z",
            **changes,
        }
    )


def _chain(length: int) -> list[bytes]:
    texts: list[bytes] = []
    previous = ZERO_DIGEST
    for sequence in range(1, length + 1):
        texts.append(_entry(sequence, previous))
        previous = digest_of(texts[-1])
    return texts


def _endorse(key: TestKey, by: TestKey, valid_from: str, valid_until: str | None = None) -> Endorsement:
    record = key.record(valid_from, valid_until, None if key == by else by.key_id)
    return seal_endorsement(record, endorsed_by=by.key_id, signature=by.sign(endorsement_message(record)))


ENTRIES = _chain(300)
TILES = stored([leaf_hash(entry) for entry in ENTRIES])
INDEX = 41
NOTE = signed(head(ENTRIES))
COSIGNED = add_signatures(NOTE, [cosign(NOTE, "w.example/1", WITNESS), cosign(NOTE, "w.example/2", SECOND_WITNESS)])
WITNESSES = {"w.example/1": WITNESS.public, "w.example/2": SECOND_WITNESS.public}
SELF = _endorse(LOG, LOG, "2026-01-01T00:00:00Z")
BUNDLE = Bundle(
    entry=ENTRIES[INDEX].decode(),
    entry_hash=digest_of(ENTRIES[INDEX]),
    leaf_index=INDEX,
    tree_size=300,
    inclusion_path=inclusion_path(INDEX, 300, TILES.read),
    checkpoint=COSIGNED.note.received.decode(),
    keys=(SELF,),
    disclosures=DISCLOSURES,
    attachments=(Attachment(kind="transcript", name="a.txt", sha256=digest_of(b"hello"), content=b"hello"),),
)
# The promised order, as an auditor reads it.
BUNDLE_CHECKS = [
    CheckName.ENTRY_HASH,
    CheckName.ENTRY_FORM,
    CheckName.CHECKPOINT_FORM,
    CheckName.LEAF,
    CheckName.INCLUSION,
    CheckName.CHECKPOINT_SIGNATURE,
    CheckName.SIGNER,
    CheckName.KEY_VALIDITY,
    CheckName.COSIGNATURES,
    CheckName.DISCLOSURES,
    CheckName.ATTACHMENTS,
]
ANCHORS = TrustAnchors(public_keys=frozenset({LOG.public}))
NOBODY = TrustAnchors()


def _check(bundle: Bundle, anchors: TrustAnchors = ANCHORS) -> Finding:
    return check_bundle(bundle, anchors, witnesses=WITNESSES, threshold=2, origin=ORIGIN)


def _named(finding: Finding, name: CheckName) -> Check:
    return next(check for check in finding.checks if check.name is name)


@pytest.mark.parametrize(
    ("value", "personal"),
    [
        ('"' * 520_000, False),
        ("\\" * 520_000, False),
        ("\x01" * 170_000, False),
        ('"' * 520_000, True),
        (_nested([1] * 500_000, 110), True),
        (_nested(1e20, 125), True),
    ],
    ids=["quotes", "backslashes", "control characters", "personal", "nested and wide", "nested and large"],
)
def test_the_largest_entry_has_a_bundle_that_is_read_back(value: object, *, personal: bool) -> None:
    """Whatever quoting, indentation and depth make of it: what was accepted can be proven."""
    body, disclosures = seal_fields({"x": value}, ["/x"] if personal else [], [b"s" * 16] if personal else [])
    draft = draft_entry(TenantId("acme"), EntryKind.NOTE, body, at=AT, disclosures=disclosures)
    (link,), _ = extend(genesis(TenantId("acme")), [prepare(draft)])
    bundle = replace(BUNDLE, entry=link.text.decode(), entry_hash=link.entry_hash, disclosures=disclosures)
    found = parse_bundle(render_bundle(bundle))
    assert found.entry == bundle.entry
    assert open_fields(body, found.disclosures) == {"x": value}


def test_a_bundle_holds_for_whoever_trusts_its_signer() -> None:
    """Every check is named and ok; the finding says who signed and who saw it."""
    finding = _check(BUNDLE)
    assert [check.name for check in finding.checks] == BUNDLE_CHECKS
    assert {check.outcome for check in finding.checks} == {Outcome.OK}
    assert (finding.holds, finding.code, finding.signer) == (True, None, LOG.key_id)
    assert finding.witnesses == ("w.example/1", "w.example/2")


def test_a_bundle_reads_back_and_still_holds() -> None:
    """The file is JSON, and every string in it is the exact text."""
    received = render_bundle(BUNDLE)
    assert json.loads(received)["format"] == "assay-proof-bundle/1"
    assert parse_bundle(received) == BUNDLE
    assert _check(parse_bundle(received)).holds


def test_a_plain_bundle_holds_without_what_it_may_do_without() -> None:
    """No witness asked for, nothing disclosed, nothing attached: said so, and no failure."""
    plain = replace(BUNDLE, disclosures=(), attachments=(), keys=())
    finding = check_bundle(parse_bundle(render_bundle(plain)), ANCHORS)
    assert finding.holds
    skipped = {check.name for check in finding.checks if check.outcome is Outcome.NOT_CHECKED}
    assert skipped == {CheckName.COSIGNATURES, CheckName.DISCLOSURES, CheckName.ATTACHMENTS}


def test_a_file_may_leave_out_the_lists_it_does_not_need() -> None:
    """They count as empty."""
    document = json.loads(render_bundle(BUNDLE))
    for optional in ("keys", "retirements", "disclosures", "attachments"):
        del document[optional]
    assert parse_bundle(json.dumps(document).encode()).attachments == ()


def test_without_an_anchor_the_signer_is_untrusted() -> None:
    """The keys in a bundle never vouch for the bundle."""
    for bundle in (BUNDLE, replace(BUNDLE, keys=())):
        finding = check_bundle(bundle, NOBODY)
        assert (finding.holds, finding.code) == (False, "proof.untrusted_signer")
        assert _named(finding, CheckName.KEY_VALIDITY).outcome is Outcome.NOT_CHECKED
        assert _named(finding, CheckName.INCLUSION).outcome is Outcome.OK


def test_an_anchor_that_did_not_sign_does_not_help() -> None:
    """Trusting someone else is trusting nobody here."""
    finding = _check(BUNDLE, TrustAnchors(public_keys=frozenset({OTHER.public})))
    assert (finding.holds, finding.code) == (False, "proof.untrusted_signer")


def test_an_anchor_given_as_a_key_id_is_enough() -> None:
    """The bundle brings the key that the id names."""
    assert _check(BUNDLE, TrustAnchors(key_ids=frozenset({LOG.key_id}))).holds


def test_a_verifier_who_trusts_an_older_key_follows_the_rotation() -> None:
    """The old key endorsed the new one, and both signatures of the overlap are on the note."""
    checkpoint = head(ENTRIES)
    keys = (_endorse(OTHER, OTHER, "2025-01-01T00:00:00Z"), _endorse(LOG, OTHER, "2026-01-01T00:00:00Z"))
    old = TrustAnchors(public_keys=frozenset({OTHER.public}))
    bundle = replace(BUNDLE, keys=keys)
    assert check_bundle(bundle, old).signer == LOG.key_id
    assert check_bundle(bundle, old).holds
    both = render_note(NOTE.note.body, [*NOTE.note.signatures, log_line(checkpoint, OTHER)]).decode()
    assert check_bundle(replace(BUNDLE, checkpoint=both, keys=()), old).signer == OTHER.key_id


@pytest.mark.parametrize(
    ("valid_from", "valid_until", "code"),
    [
        ("2026-03-01T12:00:01Z", None, "key.not_yet_valid"),
        ("2026-01-01T00:00:00Z", "2026-03-01T12:00:00Z", "key.expired"),
    ],
)
def test_a_key_that_was_not_valid_when_it_signed_is_refused(
    valid_from: str, valid_until: str | None, code: str
) -> None:
    """`signed_at` counts, and the end of validity is exclusive."""
    finding = _check(replace(BUNDLE, keys=(_endorse(LOG, LOG, valid_from, valid_until),)))
    assert (finding.holds, finding.code) == (False, code)


def test_a_retirement_in_the_bundle_counts() -> None:
    """It can only shorten."""
    draft = RetirementDraft(key_id=LOG.key_id, valid_until=parse_instant("2026-02-01T00:00:00Z"), reason="lost")
    retirement = seal_retirement(draft, endorsed_by=LOG.key_id, signature=LOG.sign(retirement_message(draft)))
    bundle = parse_bundle(render_bundle(replace(BUNDLE, retirements=(retirement,))))
    assert _check(bundle).code == "key.expired"


def test_a_checkpoint_without_a_time_shows_no_valid_key() -> None:
    """When it was signed cannot be guessed."""
    note = signed(head(ENTRIES, signed_at=None)).note.received.decode()
    finding = check_bundle(replace(BUNDLE, checkpoint=note), ANCHORS)
    assert (finding.holds, finding.code) == (False, "proof.signing_time")


def test_another_log_than_the_expected_one_is_refused() -> None:
    """Where the verifier names the log."""
    assert check_bundle(BUNDLE, ANCHORS, origin="example.org/elsewhere").code == "checkpoint.origin"


def _flip(text: str, place: int) -> str:
    return text[:place] + chr(ord(text[place]) ^ 1) + text[place + 1 :]


def _bend_path(bend: Callable[[list[str]], list[str]]) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        document["inclusion_path"] = bend(document["inclusion_path"])

    return change


def _set(**changes: object) -> Callable[[dict[str, Any]], None]:
    return lambda document: document.update(changes)


def _swap(field: str, old: str, new: str) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        assert old in document[field]
        document[field] = document[field].replace(old, new, 1)

    return change


def _within(field: str, at: int, **changes: object) -> Callable[[dict[str, Any]], None]:
    return lambda document: document[field][at].update(changes)


STALE = signed(head(ENTRIES[:200])).note.received.decode()
FORGED = signed(head(ENTRIES), OTHER).note.received.decode()
ELSEWHERE = signed(head(ENTRIES, origin="example.org/elsewhere")).note.received.decode()


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (_swap("entry", '"amount":7', '"amount":8'), "proof.entry_hash"),
        (_swap("entry", '"amount":7', '"amount": 7'), "proof.entry_hash"),
        (_set(entry=ENTRIES[INDEX + 1].decode()), "proof.entry_hash"),
        (_set(entry=ENTRIES[40].decode(), entry_hash=digest_of(ENTRIES[40])), "proof.leaf"),
        (_set(entry="", entry_hash=digest_of(b"")), "proof.entry_form"),
        (_set(entry_hash=digest_of(b"other")), "proof.entry_hash"),
        (_set(entry_hash=""), "proof.entry_hash"),
        (_set(leaf_index=INDEX + 1), "proof.leaf"),
        (_set(leaf_index=-1), "proof.leaf"),
        (_set(tree_size=299), "proof.leaf"),
        (_set(tree_size=0), "proof.leaf"),
        (_bend_path(lambda path: path[1:]), "merkle.path_length"),
        (_bend_path(lambda path: [*path, path[0]]), "merkle.path_length"),
        (_bend_path(lambda path: path[::-1]), "merkle.root_mismatch"),
        (_bend_path(lambda path: [path[0], path[0], *path[2:]]), "merkle.root_mismatch"),
        (_bend_path(lambda path: ["AAAA", *path[1:]]), "merkle.hash_length"),
        (_set(checkpoint=STALE), "proof.leaf"),
        (_set(checkpoint=STALE, tree_size=200), "merkle.path_length"),
        (_set(checkpoint=FORGED), "proof.untrusted_signer"),
        (_set(checkpoint=ELSEWHERE), "checkpoint.origin"),
        (_set(checkpoint=""), "checkpoint.note_form"),
        (_swap("checkpoint", "\n300\n", "\n301\n"), "proof.leaf"),
        (_swap("checkpoint", "12:00:00Z", "12:00:01Z"), "checkpoint.signature"),
        (_swap("checkpoint", "w.example/1", "w.example/3"), "checkpoint.cosignatures"),
        (_within("disclosures", 0, value="Amina"), "commitment.mismatch"),
        (_within("disclosures", 0, salt="00" * 16), "commitment.mismatch"),
        (_within("disclosures", 0, pointer="/amount"), "commitment.absent"),
        (_within("attachments", 0, content_base64="aGVsbG8h"), "proof.attachment"),
        (_within("attachments", 0, sha256=digest_of(b"other")), "proof.attachment"),
    ],
)
def test_a_changed_field_is_refused_with_its_code(change: Callable[[dict[str, Any]], None], code: str) -> None:
    """One field, or two that belong together, changed in the file."""
    document = json.loads(render_bundle(BUNDLE))
    change(document)
    finding = _check(parse_bundle(json.dumps(document).encode()))
    assert (finding.holds, finding.code) == (False, code)


def test_every_changed_character_of_entry_checkpoint_and_path_is_refused() -> None:
    """Not one character of what is proven is free."""
    document = json.loads(render_bundle(BUNDLE))
    bent = [
        {**document, field: _flip(document[field], place)}
        for field in ("entry", "entry_hash", "checkpoint")
        for place in range(len(document[field]))
    ]
    path = document["inclusion_path"]
    for row, text in enumerate(path):
        bent += [
            {**document, "inclusion_path": [*path[:row], _flip(text, place), *path[row + 1 :]]}
            for place in range(0, len(text), 5)
        ]
    for changed in bent:
        assert _refusal(changed)


def _refusal(document: dict[str, Any]) -> str | None:
    """The code of the refusal, whether the file was refused or a check failed; None where the bundle holds."""
    try:
        finding = _check(parse_bundle(json.dumps(document).encode()))
    except Error as error:
        return error.code
    return None if finding.holds else finding.code


@pytest.mark.parametrize("field", ["endorsed_by", "signature", "record"])
def test_a_changed_endorsement_is_no_endorsement(field: str) -> None:
    """Trust then has nothing to follow."""
    keys = (_endorse(LOG, OTHER, "2026-01-01T00:00:00Z"),)
    document = json.loads(render_bundle(replace(BUNDLE, keys=keys)))
    changed: dict[str, object] = {
        "endorsed_by": WITNESS.key_id,
        "signature": _flip(document["keys"][0]["signature"], 5),
        "record": {**document["keys"][0]["record"], "valid_from": "2026-01-02T00:00:00Z"},
    }
    document["keys"][0][field] = changed[field]
    finding = check_bundle(
        parse_bundle(json.dumps(document).encode()), TrustAnchors(public_keys=frozenset({OTHER.public}))
    )
    assert (finding.holds, finding.code) == (False, "proof.untrusted_signer")


@pytest.mark.parametrize(
    "change",
    [
        _set(format="assay-proof-bundle/2"),
        lambda document: document.pop("format"),
        lambda document: document.pop("entry"),
        _set(surprise=1),
        _set(leaf_index="41"),
        _set(leaf_index=41.5),
        _set(inclusion_path="AAAA"),
        _bend_path(lambda path: ["!", *path[1:]]),
        _bend_path(lambda path: [path[0][:-2] + chr(ord(path[0][-2]) + 1) + "=", *path[1:]]),
        _within("attachments", 0, content_base64="aGVsbG9="),
        _within("attachments", 0, surprise=1),
        _within("disclosures", 0, surprise=1),
        _within("keys", 0, surprise=1),
    ],
)
def test_a_file_of_another_shape_is_refused(change: Callable[[dict[str, Any]], None]) -> None:
    """Unknown keys, missing keys, wrong types, loose base64, another format."""
    document = json.loads(render_bundle(BUNDLE))
    change(document)
    with pytest.raises(MalformedBundleError) as caught:
        parse_bundle(json.dumps(document).encode())
    assert caught.value.code == "proof.form"


@pytest.mark.parametrize("received", [b"", b"[]", b"null", b"{}", b'{"entry":"a","entry":"b"}', b"\xff", b"[" * 500])
def test_a_file_that_is_no_bundle_is_refused(received: bytes) -> None:
    """With a code, whatever it is."""
    with pytest.raises(Error) as caught:
        parse_bundle(received)
    assert caught.value.code.startswith(("json.", "proof."))


def test_a_cut_file_is_refused() -> None:
    """At any place."""
    received = render_bundle(BUNDLE)
    for end in range(0, len(received) - 2, 97):
        with pytest.raises(Error):
            parse_bundle(received[:end])


PREVIOUS = digest_of(b"previous")


@pytest.mark.parametrize(
    "text",
    [
        b"[]",
        b"{}",
        _entry(2, PREVIOUS) + b"\n",
        b" " + _entry(2, PREVIOUS),
        _entry(2, PREVIOUS).replace(b'"note"', b'"n\\u006fte"'),
        _entry(0, PREVIOUS),
        _entry(-1, PREVIOUS),
        _entry(1, PREVIOUS),
        _entry(2, ZERO_DIGEST),
        _entry(2, Digest("sha256:00")),
        _entry(2, PREVIOUS, tenant_id="Not A Tenant"),
        _entry(2, PREVIOUS, timestamp="2026-03-01T11:00:00"),
        _entry(2, PREVIOUS, profile="unknown"),
        _entry(2, PREVIOUS, body="text"),
        _entry(2, PREVIOUS, sequence_number=True),
        _entry(2, PREVIOUS, kind=None),
        '{"é":1,"e\u0301":2}'.encode(),
    ],
)
def test_an_entry_that_is_not_a_canonical_link_of_a_chain_is_refused(text: bytes) -> None:
    """The zero hash stands before the first entry and nowhere else; one value has one text."""
    with pytest.raises(EntryFormError) as caught:
        parse_entry_head(text)
    assert caught.value.code == "proof.entry_form"


def test_an_entry_may_have_more_fields_than_every_entry_has() -> None:
    """A verdict has columns of its own; they are hashed like the rest."""
    entry = parse_entry_head(_entry(2, PREVIOUS, verdict="CLEAR"))
    assert entry.recorded_at == parse_instant("2026-03-01T11:00:00Z")


def test_a_bundle_made_in_this_process_is_checked_as_strictly() -> None:
    """Half a character in the entry or in the note is a failed check, not a crash."""
    finding = _check(replace(BUNDLE, entry="\ud800", checkpoint="\ud800"))
    assert not finding.holds
    assert _named(finding, CheckName.ENTRY_FORM).outcome is Outcome.FAILED
    assert _named(finding, CheckName.CHECKPOINT_FORM).outcome is Outcome.FAILED
    assert _named(finding, CheckName.LEAF).outcome is Outcome.NOT_CHECKED
    assert _named(finding, CheckName.DISCLOSURES).outcome is Outcome.NOT_CHECKED
