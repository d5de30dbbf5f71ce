"""A vote in the ledger is its voter's own: signed, bound to what was shown, and checked by whoever goes by it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from msgspec.structs import replace as changed

from assay.facts.truth import record_entry
from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.ledger.own_keys import own_key_ring_in
from assay.flows.ledger.sign_checkpoint import sign_checkpoint
from assay.flows.truth.replay_state import replay_state
from assay.flows.truth.replay_truth import ledger_entries, replay_bundle, replay_truth
from assay.flows.truth.state_entry import Told, read_bronze
from assay.flows.truth.states import prove_truth
from assay.flows.truth.truth_entry import KeyEntries
from assay.flows.truth.validation_ticket import claim_hash_in, render_claim, truthkey_in
from assay.flows.truth.vote_entry import UnsignedRecordError
from assay.identity.principal import PrincipalChange
from assay.kernel.bundle import parse_bundle, render_bundle
from assay.kernel.canonical import canonicalize
from assay.kernel.digest import digest_of
from assay.kernel.ids import PrincipalId
from assay.kernel.key import TrustAnchors
from assay.kernel.ledger import MAX_ENTRY_BYTES, EntryKind
from assay.ports.database import Unit
from assay.ports.truth_store import RecordKind
from assay.truth.contract import VoteType
from assay.truth.observation import parse_observation
from assay.truth.snapshot import parse_snapshot
from assay.truth.state import parse_truth_state, shown_hash
from assay.truth.vote import parse_vote, render_vote, vote_hash
from tests.acting import amend_principal
from tests.acting_truth import cast_vote
from tests.flows._node import TENANT
from tests.flows._people import ADMIN
from tests.flows._truth import TruthDesk, critical_flood, opened_truth
from tests.kernel._seed_signer import SeedSigner

OWN = SeedSigner(7)
NEXT = SeedSigner(8)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TruthDesk]:
    """Eve votes by the node's review key, Gus with a key of his own that he replaces afterwards."""
    with _asked(tmp_path_factory.mktemp("votes")) as one:
        one.vote("user:eve", at="12:50")
        _cast(one, "user:gus", OWN, "12:55")
        amend_principal(
            one.tools,
            TENANT,
            PrincipalId("user:gus"),
            PrincipalChange(public_key=NEXT.public_key.hex()),
            by=ADMIN,
            at=one.now("12:58"),
        )
        sign_checkpoint(one.tools, TENANT, at=one.now("13:00"))
        yield one


class _asked:  # noqa: N801  reads as the context that it is
    def __init__(self, folder: Path) -> None:
        self._opened = opened_truth(folder, contract=critical_flood())

    def __enter__(self) -> TruthDesk:
        desk = self._opened.__enter__()
        desk.people()
        change = PrincipalChange(public_key=OWN.public_key.hex())
        amend_principal(desk.tools, TENANT, PrincipalId("user:gus"), change, by=ADMIN, at=desk.now("12:01"))
        for name in ("user:ann", "user:ben", "user:cem"):
            desk.observe(name, claim_type="earth.flood.v2")
        desk.score(local_vision=0.95)
        desk.compile("12:40")
        return desk

    def __exit__(self, *gone: object) -> None:
        self._opened.__exit__(*gone)  # type: ignore[arg-type]  # handed on as it came


def _cast(desk: TruthDesk, name: str, signer: SeedSigner, at: str) -> None:
    shown = desk.validation(at).shown_hash
    credential = desk.signed_in(name, at)
    cast_vote(
        desk.tools,
        desk.truthkey,
        VoteType.RATIFY,
        seen=shown,
        signing=signer,
        credential=credential,
        at=desk.now(at),
    )


@pytest.mark.clause("kaori", "law 6")
def test_the_entry_of_a_vote_holds_the_signed_answer_and_what_was_read(desk: TruthDesk) -> None:
    """By the node's review key or the voter's own, and it says which; the text read hashes to what was signed."""
    eve, gus = desk.entries(EntryKind.VOTE_CAST)
    assert [one["answer"]["answer"]["signed_with"] for one in (eve, gus)] == ["node_review_key", "reviewer_key"]
    assert gus["answer"]["answer"]["signing_key_id"] == OWN.key_id
    for body in (eve, gus):
        given = body["answer"]
        assert digest_of(given["shown"].encode()) == given["answer"]["seen_hash"]
        assert claim_hash_in(given["shown"]) == body["record"]["seen_hash"]
        assert truthkey_in(given["shown"]) == body["record"]["truthkey"]
        assert body["submitted_by"] == given["answer"]["by"] == body["record"]["voter_id"]


@pytest.mark.clause("kaori", "law 6")
def test_replay_audit_and_an_offline_proof_verify_every_vote(desk: TruthDesk) -> None:
    """Also after a voter has replaced the key; the proof carries who the voters were."""
    assert replay_truth(desk.tools, TENANT, truthkey=desk.truthkey).problems == ()
    assert audit_ledger(desk.tools, TENANT, full=True, leave_mark=False).holds
    bundle = parse_bundle(render_bundle(prove_truth(desk.tools, TENANT, truthkey=desk.truthkey)))
    anchors = TrustAnchors(key_ids=frozenset([desk.tools.founder]))
    assert replay_bundle(bundle, anchors).problems == ()
    voters = {one["answer"]["voter_entry"] for one in desk.entries(EntryKind.VOTE_CAST)}
    without = changed(
        bundle,
        attachments=tuple(one for one in bundle.attachments if not any(f"-{n:09d}" in one.name for n in voters)),
    )
    assert {one.code for one in replay_bundle(without, anchors).problems} == {"replay.entry_missing"}


def _no_answer(body: dict[str, Any]) -> None:
    body["answer"] = None


def _other_choice(body: dict[str, Any]) -> None:
    body["record"]["vote_type"] = "REJECT"


def _signed_otherwise(body: dict[str, Any]) -> None:
    body["answer"]["answer"]["reason"] = "never said"
    body["record"]["reason"] = "never said"
    body["record_hash"] = vote_hash(parse_vote(body["record"]))


def _other_text(body: dict[str, Any]) -> None:
    body["answer"]["shown"] += "."


def _other_text_signed_for(body: dict[str, Any]) -> None:
    """The claim is another, and all hashes around it are made to fit: only the signature does not."""
    text = body["answer"]["shown"].replace(claim_hash_in(body["answer"]["shown"]), "0" * 64)
    body["answer"]["shown"], body["answer"]["answer"]["seen_hash"] = text, digest_of(text.encode())
    body["record"]["seen_hash"] = "0" * 64
    body["record_hash"] = vote_hash(parse_vote(body["record"]))


def _other_ticket(body: dict[str, Any]) -> None:
    body["ticket_id"] = "tkt_" + "a" * 26


def _node_signs_for_gus(body: dict[str, Any]) -> None:
    body["answer"]["answer"]["signed_with"] = "node_review_key"


def _first_entry(body: dict[str, Any]) -> None:
    body["answer"]["voter_entry"] = 1


@pytest.mark.clause("kaori", "law 6")
@pytest.mark.parametrize(
    ("change", "code"),
    [
        (_no_answer, "truth.vote_unsigned"),
        (_other_choice, "truth.vote_unbound"),
        (_signed_otherwise, "signature.invalid"),
        (_other_text, "truth.vote_unbound"),
        (_other_text_signed_for, "signature.invalid"),
        (_other_ticket, "truth.vote_unbound"),
        (_node_signs_for_gus, "review.reviewer_key"),
        (_first_entry, "replay.entry_missing"),
    ],
)
def test_a_vote_that_was_written_by_somebody_else_is_told(
    desk: TruthDesk, change: Callable[[dict[str, Any]], None], code: str
) -> None:
    """Whoever can write the file anew cannot write a vote: each forgery of the last one fails by itself."""
    texts, number = _forged(desk, "user:gus", change)
    ring = desk.read(lambda unit: own_key_ring_in(unit, desk.tools.founder))
    assert code in {one.code for one in replay_state(texts.get, number, ring).problems}


def _forged(desk: TruthDesk, voter: str, change: Callable[[dict[str, Any]], None]) -> tuple[dict[int, bytes], int]:
    texts: dict[int, bytes] = {}
    states = []
    for row in desk.read(lambda unit: list(unit.ledger.entries(TENANT))):
        entry = orjson.loads(row.text)
        if entry["kind"] == EntryKind.VOTE_CAST and entry["body"]["submitted_by"] == voter:
            change(entry["body"])
        if entry["kind"] == EntryKind.TRUTH_STATE:
            states.append(row.sequence_number)
        texts[row.sequence_number] = canonicalize(entry)
    return texts, states[-1]


@pytest.mark.clause("kaori", "law 6")
def test_a_key_that_its_owner_had_replaced_signs_no_vote(desk: TruthDesk) -> None:
    """The whole ledger says which entry about the voter was in force; an older one is not taken instead."""
    first = desk.read(lambda unit: unit.identity.recorded_in(TENANT, PrincipalId("user:gus")))[0]
    assert desk.entries(EntryKind.VOTE_CAST)[1]["answer"]["voter_entry"] != first
    fault = _told_of(desk, lambda body: body["answer"].update(voter_entry=first))
    assert "truth.vote_unbound" in fault


def _told_of(desk: TruthDesk, change: Callable[[dict[str, Any]], None]) -> set[str]:
    """Replayed by a node whose entries were rewritten: the ledger around the state is asked as well."""
    texts, number = _forged(desk, "user:gus", change)

    class Rewritten:
        def key_entries(self, truthkey: str, through: int) -> KeyEntries:
            found = KeyEntries()
            for one, text in sorted(texts.items()):
                entry = orjson.loads(text)
                if one <= through:
                    found.add(one, entry["kind"], entry["body"])
            assert truthkey == desk.truthkey
            return found

        def fold(self, policy_hash: str | None, through: int) -> None:
            assert policy_hash is None or through

    ring = desk.read(lambda unit: own_key_ring_in(unit, desk.tools.founder))
    finding = replay_state(texts.get, number, ring, ledger=Rewritten(), skip_trust=True)
    return {one.code for one in finding.problems}


@pytest.mark.clause("kaori", "law 6")
def test_a_vote_that_nobody_signed_is_counted_by_no_compilation_and_named_by_the_audit(tmp_path: Path) -> None:
    """As whoever can write to the database, past all doors, could put it there: entry, row and all."""
    with _asked(tmp_path) as desk:
        desk.vote("user:eve", at="12:50")
        _, told = desk.read(_vote_entry)
        record = {**told.record, "vote_id": "vote.forged", "voter_id": "user:fay"}
        vote = parse_vote(record)

        def plant(unit: Unit) -> int:
            entry = record_entry(
                TENANT,
                RecordKind.VOTE,
                render_vote(vote),
                truthkeys=[vote.truthkey],
                record_id=vote.vote_id,
                record_hash=vote_hash(vote),
                submitted_by="user:fay",
                answer=told.answer,
                at=desk.now("12:51"),
            )
            return unit.record(entry).sequence_number

        number = desk.tools.database.write(plant)
        with pytest.raises(UnsignedRecordError, match="vote_unbound"):
            desk.compile("12:52")
        report = audit_ledger(desk.tools, TENANT)
    assert (report.holds, report.first_bad_entry, report.code) == (False, number, "truth.vote_unbound")


def _vote_entry(unit: Unit) -> Told:
    number = next(row.sequence_number for row in unit.ledger.entries(TENANT) if row.kind == EntryKind.VOTE_CAST)
    return read_bronze(ledger_entries(unit, TENANT), number)


def test_what_is_shown_fits_into_the_entry_of_a_vote(desk: TruthDesk) -> None:
    """However much is said at a key: what has no room is counted, and the hash covers all of it."""
    silver = desk.read(lambda unit: unit.truth.find_state(TENANT, desk.truthkey))
    assert silver is not None
    frozen = desk.read(lambda unit: unit.truth.find_snapshot(TENANT, silver.snapshot_hash))
    assert frozen is not None
    names = [f"obs-{number}" for number in range(300)]
    state = parse_truth_state(silver.text)
    state = changed(state, observation_ids=tuple(names), claim={**state.claim, "notes": '"' * 300_000})
    said = [parse_observation(desk.report("user:ann", {"note": '"' * 9000}, observation_id=name)) for name in names]
    text = render_claim(state, said, parse_snapshot(frozen.text))
    assert len(canonicalize({"shown": text})) < MAX_ENTRY_BYTES * 0.9
    assert "  severity: " in text
    assert text.count("  and 1 more") == 1
    assert "  and 290 more" in text
    assert claim_hash_in(text) == shown_hash(state)
    assert truthkey_in(text) == desk.truthkey
