"""The ledger: canonical entries that name the hash of the one before."""

from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.kernel.canonical import MAX_DEPTH, canonicalize, canonicalize_exact
from assay.kernel.commitment import Disclosure
from assay.kernel.digest import ZERO_DIGEST, digest_of
from assay.kernel.entry import Entry, MalformedEntryError, parse_entry, read_entry
from assay.kernel.errors import CanonicalError
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.json_text import CANONICAL_LIMITS
from assay.kernel.ledger import (
    MAX_ENTRY_BYTES,
    MAX_STATE_BYTES,
    Draft,
    EmptyBodyError,
    EntryKind,
    EntrySizeError,
    Event,
    Link,
    TranscriptRefError,
    VerdictColumns,
    draft_entry,
    extend,
    genesis,
    has_nul,
    prepare,
    transcript_ref_of,
)

TENANT = TenantId("acme")
AT = Instant(datetime(2026, 1, 7, 12, 0, 0, 120_000, tzinfo=UTC))

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    # Surrogates have no bytes at all; everything else does.
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abcé", max_size=3), inner, max_size=3),
    max_leaves=8,
)
bodies = st.dictionaries(st.text("abcxyz", min_size=1), json_values, max_size=4)
instants = st.datetimes(timezones=st.just(UTC)).map(Instant)
_AGREED = {"status": "AGREED", "checked_assertions": 1}


def flag(verifier_result: Mapping[str, object] = _AGREED) -> VerdictColumns:
    return VerdictColumns(
        telemetry_id="m-1",
        telemetry_hash=digest_of(b"telemetry"),
        verdict="FLAG",
        rule_id='rule "nine"',
        kg_version_hash=digest_of(b"graph"),
        model_weight_hash=digest_of(b"weights"),
        llm_transcript=msgspec.Raw(canonicalize({"transcript_ref": "tr-1"})),
        verifier_result=msgspec.Raw(canonicalize(verifier_result)),
    )


def link_of(draft: Draft) -> Link:
    links, _ = extend(genesis(draft.tenant_id), [prepare(draft)])
    return links[0]


@given(bodies, instants)
@pytest.mark.clause("ski", "7.3")
def test_the_spliced_text_is_the_canonical_form_of_the_whole_entry(body: dict[str, object], at: Instant) -> None:
    """The writer splices two fields into prepared bytes; the result must be what canonicalising all of it gives."""
    draft = draft_entry(TENANT, EntryKind.NOTE, body, at=at)
    whole = {
        "body": body,
        "kind": "note",
        "previous_hash": ZERO_DIGEST,
        "profile": "ski-3.0",
        "schema_version": "3.0.0",
        "sequence_number": 1,
        "tenant_id": TENANT,
        "timestamp": at,
    }
    assert link_of(draft).text == canonicalize_exact(whole)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=3), st.integers(0, 9))
def test_an_entry_records_its_events_by_their_hashes(names: list[str], told: int) -> None:
    """Each hash covers type, subject and body, so that none of an event can be exchanged."""
    events = tuple(Event(type=name, subject="s", body=msgspec.Raw(b'{"n":1}')) for name in names)
    [link], _ = extend(
        genesis(TENANT), [prepare(draft_entry(TENANT, EntryKind.NOTE, {"n": 1}, at=AT, events=events))], told=told
    )
    hashes = [digest_of(canonicalize_exact([name, "s"]) + b'{"n":1}') for name in names]
    document = msgspec.json.decode(link.text)
    assert document["events"] == {"after": told, "hashes": hashes}
    assert canonicalize_exact(document) == link.text
    parsed = parse_entry(link.text).events
    assert parsed is not None
    assert (parsed.after, list(parsed.hashes)) == (told, hashes)


@pytest.mark.parametrize(
    "events", ["null", '{"after":0,"hashes":[]}', '{"after":-1,"hashes":["sha256:x"]}', '{"after":0,"hashes":["x"]}']
)
def test_events_of_an_entry_have_one_form(events: str) -> None:
    text = link_of(draft_entry(TENANT, EntryKind.NOTE, {}, at=AT)).text
    with pytest.raises(MalformedEntryError):
        parse_entry(text.replace(b',"kind"', f',"events":{events},"kind"'.encode(), 1))


@pytest.mark.clause("ski", "7.1")
def test_a_verdict_entry_carries_every_column_of_the_specification() -> None:
    """The columns are top-level fields of the text that is hashed, so none can change without being noticed."""
    columns = flag()
    link = link_of(draft_entry(TENANT, EntryKind.VERDICT, {"note": "é"}, at=AT, verdict=columns))
    document = msgspec.json.decode(link.text)
    assert canonicalize_exact(document) == link.text
    assert document["timestamp"] == "2026-01-07T12:00:00.12Z"
    assert {name: document[name] for name in ("telemetry_id", "verdict", "rule_id")} == {
        "telemetry_id": "m-1",
        "verdict": "FLAG",
        "rule_id": 'rule "nine"',
    }
    assert document["llm_transcript"]["transcript_ref"] == "tr-1"
    assert document["verifier_result"]["status"] == "AGREED"


@pytest.mark.clause("ski", "7.1")
def test_each_entry_names_the_hash_of_the_one_before_and_the_first_names_zero() -> None:
    drafts = [draft_entry(TENANT, EntryKind.NOTE, {"n": n}, at=AT) for n in range(5)]
    links, head = extend(genesis(TENANT), map(prepare, drafts))
    assert [link.previous_hash for link in links] == [ZERO_DIGEST, *(link.entry_hash for link in links[:-1])]
    assert [link.sequence_number for link in links] == [1, 2, 3, 4, 5]
    assert all(link.entry_hash == digest_of(link.text) for link in links)
    assert all(link.leaf_hash == sha256(b"\x00" + link.text).digest() for link in links)
    assert head == (TENANT, 5, links[-1].entry_hash)


def test_extending_in_two_batches_gives_the_same_chain_as_in_one() -> None:
    prepared = [prepare(draft_entry(TENANT, EntryKind.NOTE, {"n": n}, at=AT)) for n in range(7)]
    whole, end = extend(genesis(TENANT), prepared)
    first, middle = extend(genesis(TENANT), prepared[:3])
    second, same_end = extend(middle, prepared[3:])
    assert (first + second, same_end) == (whole, end)


def test_a_body_is_an_object() -> None:
    with pytest.raises(EmptyBodyError, match="expected a JSON object"):
        draft_entry(TENANT, EntryKind.NOTE, ["not", "an", "object"], at=AT)  # type: ignore[arg-type]  # what is refused


@pytest.mark.clause("ski", "7.4")
@pytest.mark.parametrize("document", [{}, {"transcript_ref": ""}, {"transcript_ref": 7}, {"transcript_ref": None}])
def test_a_verdict_that_names_no_transcript_is_refused(document: dict[str, object]) -> None:
    with pytest.raises(TranscriptRefError):
        transcript_ref_of(canonicalize(document))


@pytest.mark.clause("ski", "7.4")
def test_the_transcript_of_a_verdict_is_named_in_its_column() -> None:
    assert transcript_ref_of(canonicalize({"a": 1, "transcript_ref": "x"})) == "x"


@pytest.mark.parametrize("text", ["\\u0000", "\\\\u0000", "a \\u0000 b"])
def test_the_text_of_an_escape_is_not_the_character(text: str) -> None:
    """A model that writes a backslash and `u0000` cannot stop its own verdict from being recorded."""
    assert not has_nul(canonicalize({"reasoning": text}))
    assert has_nul(canonicalize({"reasoning": text + "\x00"}))


@pytest.mark.parametrize("kind", [EntryKind.TRUTH_STATE, EntryKind.SNAPSHOT_FROZEN])
def test_what_names_many_has_more_room_than_a_request_has(kind: EntryKind) -> None:
    """A state and its snapshot grow with those who report; whatever fits is read back, quoted twice or not."""
    body = {"a": '"' * (MAX_STATE_BYTES // 2 - 8)}
    assert parse_entry(link_of(draft_entry(TENANT, kind, body, at=AT)).text).kind is kind
    with pytest.raises(EntrySizeError, match=f"expected at most {MAX_STATE_BYTES} bytes in a `{kind}` entry"):
        draft_entry(TENANT, kind, {"a": "x" * MAX_STATE_BYTES}, at=AT)
    with pytest.raises(EntrySizeError, match=f"expected at most {MAX_ENTRY_BYTES} bytes"):
        draft_entry(TENANT, EntryKind.NOTE, body, at=AT)


def test_an_entry_that_could_not_be_read_back_is_refused() -> None:
    """Too large, or nested so deep that the entry around the body goes past the limit."""
    with pytest.raises(EntrySizeError, match="expected at most"):
        draft_entry(TENANT, EntryKind.NOTE, {"a": "x" * MAX_ENTRY_BYTES}, at=AT)
    large = "x" * MAX_ENTRY_BYTES
    secret = Disclosure(pointer="/a", salt="ab" * 16, value=msgspec.Raw(canonicalize(large)))
    with pytest.raises(EntrySizeError, match="expected at most"):
        draft_entry(TENANT, EntryKind.NOTE, {"a": 1}, at=AT, disclosures=[secret])
    event = Event(type="t", subject="s", body=msgspec.Raw(canonicalize(large)))
    with pytest.raises(EntrySizeError, match="expected at most"):
        draft_entry(TENANT, EntryKind.NOTE, {"a": 1}, at=AT, events=[event])
    with pytest.raises(EntrySizeError, match="expected at most"):
        draft_entry(TENANT, EntryKind.VERDICT, {"a": 1}, at=AT, verdict=flag(verifier_result={"a": large}))
    body: dict[str, object] = {}
    for _ in range(MAX_DEPTH - 2):
        body = {"a": body}
    assert parse_entry(link_of(draft_entry(TENANT, EntryKind.NOTE, body, at=AT)).text).kind is EntryKind.NOTE
    with pytest.raises(CanonicalError, match="nest"):
        draft_entry(TENANT, EntryKind.NOTE, {"a": body}, at=AT)


@given(bodies, instants)
def test_an_entry_reads_back_from_its_text_alone(body: dict[str, object], at: Instant) -> None:
    entry = parse_entry(link_of(draft_entry(TENANT, EntryKind.NOTE, body, at=at)).text)
    assert (entry.tenant_id, entry.sequence_number, entry.kind, entry.timestamp) == (TENANT, 1, EntryKind.NOTE, at)
    assert bytes(entry.body) == canonicalize(body)


def test_a_large_float_reads_back_though_its_text_has_no_point() -> None:
    """RFC 8785 writes 1e20 as an integer would be written; only the strict reader knows that."""
    text = link_of(draft_entry(TENANT, EntryKind.NOTE, {"a": 1e20, "b": 1e16}, at=AT)).text
    assert bytes(parse_entry(text).body) == b'{"a":100000000000000000000,"b":10000000000000000}'


def test_a_verdict_entry_reads_back_with_its_columns() -> None:
    link = link_of(draft_entry(TENANT, EntryKind.VERDICT_HELD, {}, at=AT, verdict=flag()))
    entry = parse_entry(link.text)
    assert isinstance(entry, Entry)
    assert (entry.verdict, entry.telemetry_id, entry.rule_id) == ("FLAG", "m-1", 'rule "nine"')


def test_an_entry_is_read_once_and_another_byte_is_another_entry() -> None:
    """What was read is remembered by its bytes: they cannot say anything else later."""
    text = link_of(draft_entry(TENANT, EntryKind.NOTE, {"read": "again"}, at=AT)).text
    assert parse_entry(bytes(bytearray(text))) is parse_entry(text)
    assert bytes(parse_entry(text.replace(b"again", b"anew!")).body) == b'{"read":"anew!"}'
    for _ in range(2):
        with pytest.raises(MalformedEntryError):
            parse_entry(text.replace(b'"again"', b' "again"'))


@pytest.mark.clause("ski", "11.1")
def test_a_verdict_of_the_second_runtime_says_so() -> None:
    """And nothing else may say it, nor may it say anything else."""
    old = link_of(draft_entry(TENANT, EntryKind.VERDICT_V2, {"n": 1}, at=AT)).text
    assert parse_entry(old).schema_version == "2.1.0"
    with pytest.raises(MalformedEntryError, match=r"expected schema 2\.1\.0"):
        parse_entry(old.replace(b"2.1.0", b"3.0.0"))
    with pytest.raises(MalformedEntryError, match=r"expected schema 3\.0\.0"):
        parse_entry(GOOD.replace(b"3.0.0", b"2.1.0"))


GOOD = link_of(draft_entry(TENANT, EntryKind.NOTE, {"n": 1}, at=AT)).text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (GOOD[:-1], "expected a ledger entry"),
        (GOOD.replace(b'{"n":1}', b'{"n": 1}'), "canonical bytes"),
        (GOOD.replace(b'"kind":"note"', b'"kind":"gossip"'), "gossip"),
        (GOOD.replace(b'{"body":{"n":1}', b'{"body":[1]'), "JSON object"),
        (GOOD.replace(b'"sequence_number":1', b'"sequence_number":0'), "at least 1"),
        (GOOD.replace(b"3.0.0", b"9.0.0"), "expected schema 3.0.0"),
        (GOOD.replace(b'"profile":"ski-3.0"', b'"profile":"kaori-2.1"'), "under ski-3.0"),
        (GOOD.replace(b'"acme"', b'"ACME"'), "expected a tenant"),
        (GOOD.replace(b"sha256:0", b"sha256:G"), "64 lower-case hex"),
        (GOOD.replace(b"12:00:00.12Z", b"12:00:00.120Z"), "expected the timestamp as"),
        (GOOD.replace(b"12:00:00.12Z", b"13:00:00.12+01:00"), "expected the timestamp as"),
        (GOOD.replace(b'"kind"', b'"kink"'), "kink"),
        (GOOD.replace(b'{"n":1}', b'{"n":1,"n":1}'), "twice"),
        # A body that spells the instant rightly does not excuse an entry that does not.
        (
            GOOD.replace(b"12:00:00.12Z", b"13:00:00.12+01:00").replace(
                b'{"n":1}', b'{"timestamp":"2026-01-07T12:00:00.12Z"}'
            ),
            "expected the timestamp as",
        ),
        (GOOD.replace(b'{"n":1}', b'{"n":"%b"}' % (b"x" * CANONICAL_LIMITS.max_bytes)), "bytes, got"),
    ],
    ids=lambda value: value if isinstance(value, str) else "text",
)
def test_another_text_is_not_an_entry(text: bytes, why: str) -> None:
    """Every refusal says what was expected; nothing is repaired."""
    with pytest.raises(MalformedEntryError, match=why):
        parse_entry(text)


def test_an_entry_whose_hash_was_compared_is_read_as_the_strict_reader_reads_it() -> None:
    text = link_of(draft_entry(TENANT, EntryKind.NOTE, {"text": "seen"}, at=AT)).text
    assert read_entry(text) == parse_entry(text)
    for other in (b"", b"{}", b"[]", text[:-1], text.replace(b'"note"', b'"n\xffte"')):
        with pytest.raises(MalformedEntryError):
            read_entry(other)
