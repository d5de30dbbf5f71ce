"""States compile again from the ledger alone, byte for byte; what was tampered with is told."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from assay.flows.errors import NotFoundError
from assay.flows.errors.truth import TruthFlowError
from assay.flows.ledger.export_ledger import ExportForm, export_ledger
from assay.flows.ledger.own_keys import own_key_ring_in
from assay.flows.ledger.sign_checkpoint import sign_checkpoint
from assay.flows.truth.check_truth import StateCheckName, check_state, check_truth
from assay.flows.truth.compile_truth import compile_truth
from assay.flows.truth.replay_state import replay_state
from assay.flows.truth.replay_truth import replay_bundle, replay_export, replay_truth
from assay.flows.truth.states import prove_truth
from assay.flows.truth.truth_entry import KeyEntries
from assay.kernel.bundle import parse_bundle, render_bundle
from assay.kernel.canonical import canonicalize
from assay.kernel.check_bundle import check_bundle
from assay.kernel.digest import digest_of
from assay.kernel.key import KeyRing, TrustAnchors
from assay.kernel.ledger import EntryKind
from assay.truth.errors import ContractError
from assay.truth.state import TruthState, parse_truth_state, render_truth_state
from tests.flows._node import TENANT, damage
from tests.flows._truth import TruthDesk, critical_flood, opened_truth
from tests.raising import raises
from tests.truth.records import contract_text


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[TruthDesk]:
    """A critical flood with votes, scores and a window: three states, the last of them final."""
    with opened_truth(tmp_path, contract=critical_flood()) as one:
        one.people()
        for name in ("user:ann", "user:ben", "user:cem"):
            one.observe(name, claim_type="earth.flood.v2")
        one.score(local_vision=0.95)
        one.compile("12:40")
        one.vote("user:eve", at="12:50")
        one.vote("user:gus", at="12:55")
        yield one


def _anchors(desk: TruthDesk) -> TrustAnchors:
    return TrustAnchors(key_ids=frozenset([desk.tools.founder]))


def _exported(desk: TruthDesk) -> list[bytes]:
    parts: list[bytes] = []
    export_ledger(desk.tools, TENANT, ExportForm.NDJSON, lambda _, content: parts.append(content))
    return b"".join(parts).splitlines()


def _latest(desk: TruthDesk) -> TruthState:
    silver = desk.read(lambda unit: unit.truth.find_state(TENANT, desk.truthkey))
    assert silver is not None
    return parse_truth_state(silver.text)


@pytest.mark.clause("kaori", "law 7")
@pytest.mark.parametrize("version", [1, 2, 3])
def test_every_version_replays_from_the_ledger_byte_for_byte(desk: TruthDesk, version: int) -> None:
    """Contract, records, snapshot and window are read from entries; the tables only say where."""
    finding = replay_truth(desk.tools, TENANT, truthkey=desk.truthkey, version=version)
    assert (finding.problems, finding.holds, finding.version) == ((), True, version)
    assert finding.records >= 9


def test_a_state_is_found_by_its_hash_too(desk: TruthDesk) -> None:
    security = _latest(desk).security
    assert security is not None
    assert replay_truth(desk.tools, TENANT, state_hash=security.state_hash).version == 3
    with pytest.raises(NotFoundError):
        replay_truth(desk.tools, TENANT, state_hash="0" * 64)
    with pytest.raises(NotFoundError):
        replay_truth(desk.tools, TENANT, truthkey=desk.truthkey, version=9)


def test_an_exported_file_replays_without_any_database(desk: TruthDesk) -> None:
    """With nothing but the founder's key id; without it nobody is believed."""
    lines = _exported(desk)
    findings = replay_export(lines, _anchors(desk))
    assert [(one.version, one.holds) for one in findings] == [(1, True), (2, True), (3, True)]
    assert replay_export(lines, _anchors(desk), truthkey="earth:fire:h3:1:surface:2026-01-07T12:00Z") == []
    strangers = replay_export(lines, TrustAnchors())
    assert {problem.code for one in strangers for problem in one.problems} == {"key.unknown"}


def test_an_export_that_was_edited_is_not_one_ledger(desk: TruthDesk) -> None:
    """A changed entry breaks the chain; an entry taken away does too."""
    lines = _exported(desk)
    with raises(TruthFlowError.replay_broken_export):
        replay_export([*lines[:5], *lines[6:]], _anchors(desk))
    edited = [line.replace(b'"severity":"high"', b'"severity":"low"') for line in lines]
    with raises(TruthFlowError.replay_broken_export):
        replay_export(edited, _anchors(desk))


def test_a_part_of_an_export_cannot_replay_what_it_lacks(desk: TruthDesk) -> None:
    """It says which entry is missing, and never that all is well."""
    lines = _exported(desk)
    findings = replay_export(lines[20:], _anchors(desk))
    assert findings
    assert all("replay.entry_missing" in {problem.code for problem in one.problems} for one in findings)


def test_other_inputs_compile_to_other_bytes_and_that_is_told(desk: TruthDesk) -> None:
    """An entry that says something else, in a ledger that was written anew around it."""
    texts = {json.loads(line)["sequence_number"]: line for line in _exported(desk)}
    numbers = [number for number, line in texts.items() if b'"kind":"truth.state"' in line]
    forged = {
        number: line.replace(b'"water_level_meters":1.25', b'"water_level_meters":9') for number, line in texts.items()
    }
    states = {number: texts[number] for number in numbers}
    finding = replay_state({**forged, **states}.get, numbers[0], KeyRing())
    assert "replay.state_differs" in {problem.code for problem in finding.problems}


def test_what_is_no_state_cannot_be_replayed(desk: TruthDesk) -> None:
    texts = {json.loads(line)["sequence_number"]: line for line in _exported(desk)}
    with raises(TruthFlowError.replay_entry_missing):
        replay_state(texts.get, 1, KeyRing())


@pytest.mark.parametrize(
    ("table", "statement"),
    [
        ("truth_record", "UPDATE truth_record SET text = replace(text, '1.25', '1.5') WHERE kind = 'observation'"),
        ("truth_record", "UPDATE truth_record SET text = replace(text, 'RATIFY', 'REJECT') WHERE kind = 'vote'"),
        ("trust_snapshot", "UPDATE trust_snapshot SET text = replace(text, 'bronze', 'silver')"),
        ("truth_contract", "UPDATE truth_contract SET document = replace(document, 'flood', 'food')"),
        ("truth_state", "UPDATE truth_state SET text = replace(text, 'VERIFIED_TRUE', 'VERIFIED_FALSE')"),
    ],
)
def test_a_row_that_was_changed_behind_our_back_is_named(tmp_path: Path, table: str, statement: str) -> None:
    """The ledger still replays; the table that differs from it is told."""
    with opened_truth(tmp_path, contract=critical_flood()) as desk:
        desk.people()
        desk.observe("user:ann", claim_type="earth.flood.v2")
        desk.compile("12:40")
        desk.vote("user:eve", at="12:50")
        key = desk.truthkey
        damage(tmp_path / "node", statement)
        finding = replay_truth(desk.tools, TENANT, truthkey=key)
    assert {problem.code for problem in finding.problems} <= {"replay.row_differs"}
    if table != "truth_state":
        assert any(f"`{table}`" in problem.message for problem in finding.problems)


def test_an_entry_that_was_changed_is_not_used(desk: TruthDesk, tmp_path: Path) -> None:
    """Its text no longer has the hash that the chain gives it."""
    changed = "CAST(replace(CAST(text AS TEXT), '1.25', '1.5') AS BLOB)"
    damage(tmp_path / "node", f"UPDATE ledger SET text = {changed} WHERE kind = 'observation.recorded'")
    finding = replay_truth(desk.tools, TENANT, truthkey=desk.truthkey)
    assert "replay.entry_missing" in {problem.code for problem in finding.problems}


@pytest.mark.clause("kaori", "12.2")
def test_a_state_is_checked_against_its_hashes_its_signature_and_the_ledger(desk: TruthDesk) -> None:
    state = _latest(desk)
    checked = check_truth(desk.tools, TENANT, render_truth_state(state))
    assert checked.holds
    assert {check.name: check.holds for check in checked.checks} == dict.fromkeys(StateCheckName, True)
    assert "that no later state of the key replaced it" in checked.not_proven


@pytest.mark.clause("kaori", "12.2")
@pytest.mark.parametrize(
    ("path", "to", "failed"),
    [
        (("claim", "severity"), "low", {"semantic_hash", "state_hash", "signature", "ledger"}),
        (("compile_inputs", "compiler_version"), "other", {"state_hash", "signature", "ledger"}),
        (("security", "signature"), "00" * 64, {"signature", "ledger"}),
        (("security", "key_id"), "sha256:" + "0" * 64, {"signature", "key", "ledger"}),
        (("compile_inputs", "vote_hashes"), [], {"ledger"}),
    ],
)
def test_each_check_of_a_state_fails_by_its_own(
    desk: TruthDesk, path: tuple[str, str], to: object, failed: set[str]
) -> None:
    """What the hashes of Kaori 11 leave out is bound by the ledger entry."""
    value = orjson.loads(render_truth_state(_latest(desk)))
    value[path[0]][path[1]] = to
    checked = check_truth(desk.tools, TENANT, value)
    assert {str(check.name) for check in checked.checks if check.holds is False} == failed
    assert not checked.holds


def test_a_state_without_a_signature_fails_every_check(desk: TruthDesk) -> None:
    value = orjson.loads(render_truth_state(_latest(desk)))
    value["security"] = None
    checked = check_truth(desk.tools, TENANT, value)
    assert [check.holds for check in checked.checks] == [False] * 5


def test_without_a_ledger_that_check_is_not_passed_but_left_out(desk: TruthDesk) -> None:
    """Keys alone are enough for the three checks of the specification."""
    ring = desk.read(lambda unit: own_key_ring_in(unit, desk.tools.founder))
    checked = check_state(_latest(desk), ring)
    assert checked.holds
    assert checked.checks[-1].holds is None
    assert checked.not_proven[0] == "that a ledger holds this state"
    assert len(checked.not_proven) == 4
    assert not check_state(_latest(desk), KeyRing()).holds


@pytest.mark.clause("kaori", "law 6")
def test_a_proof_of_a_state_verifies_and_replays_offline(desk: TruthDesk) -> None:
    """One file, one trusted key: the ledger holds the state, and it compiles again from what is attached."""
    sign_checkpoint(desk.tools, TENANT, at=desk.now("13:00"))
    bundle = parse_bundle(render_bundle(prove_truth(desk.tools, TENANT, truthkey=desk.truthkey)))
    assert check_bundle(bundle, _anchors(desk)).holds
    finding = replay_bundle(bundle, _anchors(desk))
    assert (finding.problems, finding.version) == ((), 3)


def test_rows_are_where_this_test_thinks_they_are(tmp_path: Path) -> None:
    """So that a renamed table does not turn the tampering tests into nothing."""
    with opened_truth(tmp_path):
        pass
    with closing(sqlite3.connect(tmp_path / "node" / "assay.db")) as connection:
        names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert {"truth_record", "truth_state", "truth_contract", "trust_snapshot", "ledger"} <= names


def _forged(desk: TruthDesk, kind: str, change: Callable[[dict[str, Any]], None]) -> tuple[dict[int, bytes], int]:
    """The entries with the bodies of one kind rewritten, as whoever holds the file could; and the last state."""
    texts: dict[int, bytes] = {}
    for line in _exported(desk):
        entry = orjson.loads(line)
        if entry["kind"] == kind:
            change(entry["body"])
        texts[entry["sequence_number"]] = canonicalize(entry)
    return texts, max(number for number, text in texts.items() if b'"kind":"truth.state"' in text)


def _drop_signature(body: dict[str, Any]) -> None:
    body["signature"] = None


def _other_signature(body: dict[str, Any]) -> None:
    body["signature"]["signature"] = "00" * 64


def _unsigned(body: dict[str, Any]) -> None:
    body["state"]["security"] = None


def _no_body(body: dict[str, Any]) -> None:
    body.clear()
    body["nothing"] = True


def _other_time(body: dict[str, Any]) -> None:
    body["state"]["compile_inputs"]["compile_time"] = body["state"]["security"]["signed_at"] = "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("kind", "change", "code"),
    [
        ("window.changed", _drop_signature, "truth.state_unsigned"),
        ("window.changed", _other_signature, "signature.invalid"),
        ("truth.state", _unsigned, "truth.state_unsigned"),
        ("vote.cast", _no_body, "replay.entry_missing"),
        ("snapshot.frozen", _no_body, "replay.entry_missing"),
        ("truth.state", _other_time, "key.not_yet_valid"),
    ],
)
def test_whatever_is_forged_in_the_entries_is_told(
    desk: TruthDesk, kind: str, change: Callable[[dict[str, Any]], None], code: str
) -> None:
    """Also where the whole file was written anew around the lie."""
    texts, number = _forged(desk, kind, change)
    ring = desk.read(lambda unit: own_key_ring_in(unit, desk.tools.founder))
    finding = replay_state(texts.get, number, ring)
    assert code in {problem.code for problem in finding.problems}


def test_an_entry_under_another_number_is_not_taken(desk: TruthDesk) -> None:
    texts, number = _forged(desk, "note", _no_body)
    with raises(TruthFlowError.replay_entry_missing):
        replay_state({**texts, number: texts[1]}.get, number, KeyRing())


def test_an_export_with_a_key_that_is_none_is_refused(desk: TruthDesk) -> None:
    """The chain is mended behind it, so only the entry itself can tell."""
    lines, previous = [], None
    for line in _exported(desk)[:3]:
        entry = orjson.loads(line)
        if entry["sequence_number"] == 1:
            entry["body"] = {"no": "key"}
        if previous is not None:
            entry["previous_hash"] = digest_of(previous)
        previous = canonicalize(entry)
        lines.append(previous)
    with raises(TruthFlowError.replay_broken_export, match="a key"):
        replay_export(lines, _anchors(desk))


def test_a_row_that_cannot_be_read_is_told_and_the_ledger_still_replays(desk: TruthDesk, tmp_path: Path) -> None:
    damage(tmp_path / "node", "UPDATE truth_record SET occurred_at = 'yesterday' WHERE kind = 'vote'")
    finding = replay_truth(desk.tools, TENANT, truthkey=desk.truthkey)
    assert {problem.code for problem in finding.problems} == {"replay.row_differs"}


def test_a_domain_of_the_deployments_own_replays_without_its_configuration(tmp_path: Path) -> None:
    """The entry of the contract says with which domains it was read."""
    with opened_truth(tmp_path) as desk:
        desk.people()
        text = contract_text().replace("earth.flood.v1", "city.flood.v1").replace("domain: earth", "domain: city")
        with pytest.raises(ContractError):
            desk.release(text=text)
        desk.tools = replace(desk.tools, domain_systems={"city": "h3", "moon": "h3"})
        desk.release(text=text)
        observed = desk.observe("user:ann", claim_type="city.flood.v1")
        assert observed.truthkey.startswith("city:flood:h3:")
        compile_truth(desk.tools, TENANT, observed.truthkey, at=desk.now("12:40"))
        assert desk.entries(EntryKind.CONTRACT_RELEASED)[-1]["domain_systems"] == {"city": "h3"}
        (finding,) = replay_export(_exported(desk), _anchors(desk))
        assert (finding.problems, finding.truthkey) == ((), observed.truthkey)


def _suppress(tmp_path: Path) -> None:
    """As whoever can write to the database could, before the key is compiled."""
    damage(tmp_path / "node", "DELETE FROM truth_record WHERE made_by = 'user:cem' AND kind = 'observation'")


@pytest.mark.clause("kaori", "law 7")
def test_a_state_that_was_compiled_without_one_of_its_records_does_not_hold(tmp_path: Path) -> None:
    """The ledger says which entries speak at a key; the row that was taken away is named by its entry."""
    with opened_truth(tmp_path) as desk:
        desk.people()
        for name in ("user:ann", "user:ben"):
            desk.observe(name)
        number = desk.observe("user:cem").sequence_number
        desk.observe("user:eve")
        _suppress(tmp_path)
        desk.compile("12:40")
        finding = replay_truth(desk.tools, TENANT, truthkey=desk.truthkey)
        (exported,) = replay_export(_exported(desk), _anchors(desk))
    for found in (finding, exported):
        assert (found.is_complete, found.holds) == (False, False)
        assert [(one.code, f" {number}" in one.message) for one in found.problems] == [("replay.record_left_out", True)]


def test_a_record_of_another_key_is_no_input(desk: TruthDesk) -> None:
    """Whoever holds the file may write anything into it, also a state that names what has no business there."""
    other = desk.observe("user:ann", reported="13:10", at="13:12", claim_type="earth.flood.v2").sequence_number
    texts, number = _forged(desk, "truth.state", lambda body: body["inputs"]["records"].append(other))
    speaking = KeyEntries()
    for one, text in texts.items():
        entry = orjson.loads(text)
        speaking.add(one, entry["kind"], entry["body"])
    named = orjson.loads(texts[number])["body"]["inputs"]["records"]
    assert list(speaking.omissions(desk.truthkey, named, through=number)) == [(other, True)]


def test_fingerprints_speak_wherever_an_observation_carries_their_evidence() -> None:
    """By the one entry they have: at once where they were known before, and else once somebody attached them."""
    speaking = KeyEntries()
    picture, other = {"sha256": "a" * 64}, {"sha256": "b" * 64}
    speaking.add(1, "observation.recorded", {"truthkeys": ["k"], "record": {"evidence_refs": [picture]}})
    speaking.add(2, "fingerprint.recorded", {"truthkeys": ["k"], "record": picture})
    speaking.add(3, "observation.recorded", {"truthkeys": ["l"], "record": {"evidence_refs": [picture, other]}})
    speaking.add(4, "fingerprint.recorded", {"truthkeys": ["m"], "record": other})
    speaking.add(5, "observation.recorded", {"truthkeys": ["l"], "record": {}})
    speaking.add(6, "note", {"truthkeys": ["l"], "record": {}})
    speaking.add(7, "observation.recorded", {"truthkeys": "l", "record": {}})
    assert list(speaking.omissions("k", [1, 2], through=9)) == []
    assert list(speaking.omissions("l", [3, 5], through=5)) == [(2, False)]
    assert list(speaking.omissions("l", [2, 3, 4, 5], through=5)) == []
    assert list(speaking.omissions("l", [2, 3], through=3)) == []
    assert list(speaking.omissions("k", [1, 2, 4], through=9)) == [(4, True)]


def test_of_a_proof_nobody_can_tell_what_was_left_out_and_it_says_so(desk: TruthDesk) -> None:
    sign_checkpoint(desk.tools, TENANT, at=desk.now("13:00"))
    bundle = prove_truth(desk.tools, TENANT, truthkey=desk.truthkey)
    assert replay_bundle(bundle, _anchors(desk)).is_complete is None
    assert replay_truth(desk.tools, TENANT, truthkey=desk.truthkey).is_complete is True


def test_of_a_part_of_an_export_no_state_holds(desk: TruthDesk) -> None:
    """Though it may have every input that the state names."""
    findings = replay_export(_exported(desk)[1:], _anchors(desk))
    assert {"replay.partial_export"} <= {problem.code for one in findings for problem in one.problems}
