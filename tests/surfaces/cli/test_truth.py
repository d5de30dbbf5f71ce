"""`assay truth`: from an observation to a state that others can verify, by commands alone."""

import json
import shutil
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from distributed import LocalCluster

from assay.adapters.clock import SystemClock
from assay.kernel.instant import Instant, parse_instant, render_instant
from tests.surfaces.cli._desk import Shell
from tests.surfaces.cli._truth import CONTRACTS, TruthShell, opened_truth_shell
from tests.surfaces.cli.running import ask
from tests.truth.records import hash_of_text

NO_KEY = "earth:flood:h3:886142a8e7fffff:surface:2020-01-01T00:00Z"
HASH = "sha256:" + "0" * 64


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> TruthShell:
    return opened_truth_shell(tmp_path, monkeypatch, capsys)


def _vote(shell: TruthShell, key: str, name: str) -> dict[str, Any]:
    _, seen = shell.asked()
    session = shell.shell.login(name)
    done: dict[str, Any] = shell.done("truth", "vote", key, "ratify", "--seen", seen, session=session)
    return done


def _verified(shell: TruthShell) -> str:
    """A critical key on which two people voted."""
    key = shell.critical()
    assert _vote(shell, key, "user:eve")["state"]["status"] == "LEANING_TRUE"
    assert _vote(shell, key, "user:gus")["state"]["status"] == "VERIFIED_TRUE"
    return key


@pytest.mark.clause("kaori", "5.1")
def test_a_key_is_built_from_an_observation_or_a_place_and_taken_apart_again(tmp_path: Path) -> None:
    """No node is needed; the hour and the cell are those of the event."""
    law = ("--contract", CONTRACTS / "flood_v1.yaml")
    place = ("--lat", "4.175", "--lon", "73.509")
    built = ask("truth", "key", *law, "--at", "2026-01-07T12:34:56+00:00", *place)
    assert built.out == "earth:flood:h3:886142a8e7fffff:surface:2026-01-07T12:00Z\n"
    file = tmp_path / "observation.json"
    given = {
        "observation_id": "o-1",
        "claim_type": "earth.flood.v1",
        "reported_at": "2026-01-07T12:59:59Z",
        "reporter_id": "user:ann",
        "reporter_context": {"standing": "bronze", "trust_score": 0, "source_type": "human"},
        "geo": {"lat": 4.175, "lon": 73.509},
        "payload": {},
        "evidence_refs": [],
    }
    file.write_text(json.dumps(given))
    assert ask("truth", "key", *law, "--observation", file).out == built.out
    parts = ask("truth", "key", "--parse", built.out.strip(), "--json").json
    assert (parts["domain"], parts["spatial_id"], parts["time_bucket"]) == (
        "earth",
        "886142a8e7fffff",
        "2026-01-07T12:00Z",
    )
    paper = ("--contract", CONTRACTS / "research_artifact_v1.yaml", "--at", "2026-01-07T12:34:56Z")
    assert ask("truth", "key", *paper, "--artifact-id", "DOI-1").out.startswith("meta:research_artifact:meta:doi-1:")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), (2, "cli.usage")),
        (("--at", "2026-01-07T12:00:00Z"), (2, "cli.usage")),
        (("--contract", "FLOOD"), (2, "cli.usage")),
        (("--contract", "FLOOD", "--at", "2026-01-07T12:00:00"), (2, "cli.usage")),
        (("--contract", "FLOOD", "--at", "2026-01-07T12:00:00Z", "--lat", "1"), (2, "cli.usage")),
        (("--contract", "FLOOD", "--at", "2026-01-07T12:00:00Z"), (3, "truth.location")),
        (("--contract", "FLOOD", "--at", "2026-01-07T12:00:00Z", "--lat", "91", "--lon", "0"), (3, "truth.location")),
        (("--parse", "earth:flood"), (3, "truth.key_form")),
    ],
)
def test_a_key_that_cannot_be_built_is_refused_with_its_code(
    arguments: tuple[str, ...], expected: tuple[int, str]
) -> None:
    """Nothing is guessed: no time without an offset, no place that is none."""
    given = [str(CONTRACTS / "flood_v1.yaml") if one == "FLOOD" else one for one in arguments]
    answer = ask("truth", "key", *given, "--json")
    assert (answer.code, answer.error_code) == expected


def test_a_critical_claim_goes_from_observations_over_votes_to_a_proof(shell: TruthShell) -> None:
    """The way of people: observe, score, compile, see what is asked, vote, and look at all of it."""
    key = shell.critical()
    waiting = shell("truth", "show", key)
    assert "PENDING_HUMAN_REVIEW by NONE" in waiting.out
    assert "claim level" in waiting.out
    ticket, seen = shell.asked()
    assert shell("review", "list").out.splitlines()[-1].split()[:3] == [ticket, "validation", "open"]
    assert f"| truth key: {key}" in shell("review", "show", ticket).out
    first = shell("truth", "vote", key, "ratify", "--seen", seen, session=shell.shell.login("user:eve"))
    assert first.out.startswith("user:eve voted `ratify`\n")
    assert "LEANING_TRUE" in first.out
    desk = shell("review", "answer", ticket, "ratify", "--seen", seen, session=shell.shell.login("user:gus"))
    assert desk.code == 0
    assert "there are records that are in no state yet" not in shell("truth", "show", key).out
    assert "0 compiled, 0 unchanged" in shell("truth", "compile-all", "--workers", "1").out
    final = shell.done("truth", "show", key)
    assert (final["state"]["status"], final["state"]["verification_basis"]) == ("VERIFIED_TRUE", "HUMAN_CONSENSUS")
    assert (final["version"], final["is_stale"], final["is_expired"]) == (3, False, False)
    assert final["confidence_now"] >= 0.9
    # As long as the window is open, others may still contradict.
    (listed,) = shell.done("review", "list")["items"]
    assert (listed["ticket"]["id"], listed["decided"]) == (ticket, "VERIFIED_TRUE")
    assert shell("review", "list").out.splitlines()[-1].split()[:3] == [ticket, "validation", "decided"]
    due = render_instant(parse_instant(listed["ticket"]["due_at"]))
    told = f"VERIFIED_TRUE; others may contradict it until {due}, and then it is settled"
    assert told in shell("review", "show", ticket).out
    assert shell("truth", "compile", key).out.splitlines()[-1].startswith("unchanged: version 3")


@pytest.mark.clause("kaori", "17")
def test_history_and_map_tell_what_is_known_and_what_was_known_then(shell: TruthShell) -> None:
    """Nothing is edited: each state stays, with its time."""
    key = _verified(shell)
    history = shell.done("truth", "history", key)["items"]
    assert [one["version"] for one in history] == [1, 2, 3]
    then = history[0]["compiled_at"]
    assert shell.done("truth", "show", key, "--at", then)["version"] == 1
    assert [one["version"] for one in shell.done("truth", "history", key, "--at", then)["items"]] == [1]
    assert len(shell("truth", "history", key).out.splitlines()) == 4
    assert shell("truth", "history", NO_KEY, "--json").refusal == (1, "flow.not_found")
    shell.observe("user:ann")
    shell.done("truth", "compile-all", "--workers", "1")
    lines = shell("truth", "map", "--json").out.splitlines()
    assert [json.loads(line)["properties"]["claim_type"] for line in lines] == ["earth.dam.v1", "earth.flood.v1"]
    assert "VERIFIED_TRUE" in shell("truth", "map").out
    file = shell.folder / "map.geojson"
    assert shell.done("truth", "map", "--geojson", file, "--claim-type", "earth.dam.v1")["features"] == 1
    collection = json.loads(file.read_text())
    (feature,) = collection["features"]
    assert (collection["type"], feature["id"], feature["geometry"]["type"]) == ("FeatureCollection", key, "Polygon")
    assert shell("truth", "map", "--geojson", file).code == 2
    before = shell("truth", "map", "--geojson", "-", "--at", "2020-01-01T00:00:00Z")
    assert json.loads(before.out) == {"type": "FeatureCollection", "features": []}


@pytest.mark.clause("kaori", "law 6")
def test_a_state_is_verified_by_the_node_by_a_key_alone_and_never_when_it_was_changed(shell: TruthShell) -> None:
    """Exit 0 if it holds, 1 if nobody vouches for the signer, 3 if it is not what was signed."""
    key = _verified(shell)
    file, forged = shell.folder / "state.json", shell.folder / "forged.json"
    file.write_text(shell("truth", "document", key).out)
    checks = {one["name"]: one["holds"] for one in shell.done("truth", "verify", file)["checks"]}
    assert checks == {"semantic_hash": True, "state_hash": True, "signature": True, "key": True, "ledger": True}
    keys = shell.shell.home / "keys"
    alone = ask("--home", "/nowhere", "truth", "verify", file, "--trust", keys / "truth.key.pub", "--json")
    assert (alone.code, alone.json["holds"], alone.json["checks"][-1]["holds"]) == (0, True, None)
    untrusted = ask("truth", "verify", file, "--trust", keys / "ledger.key.pub")
    assert (untrusted.code, "not trusted" in untrusted.err) == (1, True)
    forged.write_text(file.read_text().replace('"present":true', '"present":false'))
    refused = ask("truth", "verify", forged, "--trust", keys / "truth.key.pub", "--json")
    assert (refused.code, refused.json["holds"]) == (3, False)
    assert refused.json["checks"][0]["code"] == "truth.semantic_hash"
    assert shell("truth", "verify", forged).code == 3
    forged.write_text('{"truthkey": 1}')
    assert shell("truth", "verify", forged, "--json").refusal == (3, "truth.record")
    forged.write_text("{")
    assert shell("truth", "verify", forged, "--json").code == 3
    assert ask("truth", "verify", file, "--trust", "nonsense").code == 2


def test_a_state_of_another_time_of_this_node_is_known_by_its_ledger(shell: TruthShell) -> None:
    """What the two hashes leave out is bound by the entry: another list of votes is no state of ours."""
    key = _verified(shell)
    state = json.loads(shell("truth", "document", key).out)
    state["compile_inputs"]["vote_hashes"] = []
    file = shell.folder / "state.json"
    file.write_text(json.dumps(state))
    answer = shell("truth", "verify", file, "--json")
    assert answer.code == 3
    failed = [one["code"] for one in answer.json["checks"] if one["holds"] is False]
    assert failed == ["truth.not_in_ledger"]


@pytest.mark.clause("kaori", "law 7")
def test_a_state_is_compiled_again_from_the_ledger_a_file_and_a_proof(shell: TruthShell) -> None:
    """On the node, from an export without it, and by whoever has the bundle and one key."""
    key = _verified(shell)
    anchor = shell.shell.home / "keys" / "ledger.key.pub"
    assert [one["holds"] for one in shell.done("truth", "replay", key, "--version", "1")] == [True]
    (by_key,) = shell.done("truth", "replay", key)
    assert shell.done("truth", "replay", by_key["state_hash"]) == [by_key]
    export, bundle = shell.folder / "ledger.ndjson", shell.folder / "bundle.json"
    shell.done("ledger", "export", "--output", export)
    again = ask("truth", "replay", "--export", export, "--trust", anchor, "--json")
    assert (again.code, [one["holds"] for one in again.json]) == (0, [True] * 3)
    assert ask("truth", "replay", NO_KEY, "--export", export, "--trust", anchor).code == 1
    assert ask("truth", "replay", "--export", export).code == 3
    told = shell.done("truth", "prove", key, "--output", bundle)
    # Contract, snapshot, seven records, and who the two voters were.
    assert len(json.loads(bundle.read_text())["attachments"]) == 11
    assert told["bytes"] == bundle.stat().st_size
    held = ask("truth", "verify", bundle, "--trust", anchor, "--json")
    assert (held.code, held.json["replay"]["records"]) == (0, 7)
    assert ask("verify", bundle, "--trust", anchor).code == 0
    assert ask("truth", "verify", bundle).code == 1
    forged = shell.folder / "forged.json"
    forged.write_text(bundle.read_text().replace('\\"present\\":true', '\\"present\\":false'))
    assert ask("truth", "verify", forged, "--trust", anchor).code == 3
    assert shell("truth", "prove", key).out == bundle.read_text()


def test_a_proof_signs_the_checkpoint_that_it_needs(shell: TruthShell) -> None:
    key = shell.critical()
    assert shell("truth", "prove", key).code == 0
    assert shell("truth", "prove", NO_KEY, "--json").refusal == (1, "flow.not_found")
    assert shell("truth", "prove", key, "--output", shell.folder / "none" / "b.json").code == 2


def test_an_observation_is_recorded_once_and_its_evidence_is_what_it_names(shell: TruthShell) -> None:
    """The same again is answered; another under its id, foreign bytes and foreign names are refused."""
    given = shell.report("user:ann")
    text, observe = json.dumps(given), ("truth", "observe", "-", "--json")
    first = shell.done("truth", "observe", "-", as_="service:gateway", stdin=text)
    again = shell.done("truth", "observe", "-", as_="service:gateway", stdin=text)
    assert (first["is_new"], again["is_new"], first["sequence_number"]) == (True, False, again["sequence_number"])
    other = json.dumps({**given, "payload": {"severity": "low"}})
    assert shell(*observe, as_="service:gateway", stdin=other).refusal == (1, "truth.record_conflict")
    assert shell(*observe, as_="user:eve", stdin=text).refusal == (1, "truth.not_reporter")
    # The operator of the folder may relay, as the entry says.
    assert shell(*observe, stdin=text).json["is_new"] is False
    assert shell(*observe, as_="service:gateway", stdin="{").code == 3
    late = json.dumps({**given, "observation_id": "o-2", "reported_at": "2100-01-01T00:00:00Z"})
    assert shell(*observe, as_="service:gateway", stdin=late).refusal == (3, "truth.future_observation")
    picture = shell.folder / "picture"
    picture.write_bytes(b"not what was named")
    uri = given["evidence_refs"][0]["uri"]
    wrong = json.dumps({**given, "observation_id": "o-3"})
    refused = shell(*observe, "--evidence", uri, picture, as_="service:gateway", stdin=wrong)
    assert refused.refusal == (3, "truth.evidence_mismatch")
    named = {
        **given,
        "observation_id": "o-4",
        "evidence_refs": [{**given["evidence_refs"][0], "sha256": hash_of_text("x")}],
    }
    picture.write_bytes(b"x")
    assert shell(*observe, "--evidence", uri, picture, as_="service:gateway", stdin=json.dumps(named)).code == 0


def test_a_fingerprint_is_put_beside_evidence_once(shell: TruthShell) -> None:
    """The same again is answered; other bits for the same evidence, and evidence nobody named, are refused."""
    given = shell.report("user:ann")
    observed = shell.done("truth", "observe", "-", as_="service:gateway", stdin=json.dumps(given))
    look = {"sha256": given["evidence_refs"][0]["sha256"], "method": "phash", "bits": "00ff00ff00ff00ff"}
    beside = ("truth", "fingerprint", observed["observation_hash"], "-")
    first = shell.done(*beside, as_="service:gateway", stdin=json.dumps(look))
    again = shell.done(*beside, as_="user:op", stdin=json.dumps(look))
    assert (first["is_new"], again["is_new"], first["truthkey"]) == (True, False, observed["truthkey"])
    other = json.dumps({**look, "bits": "00ff00ff00ff00fe"})
    assert shell(*beside, "--json", as_="user:op", stdin=other).refusal == (1, "truth.record_conflict")
    foreign = json.dumps({**look, "sha256": "0" * 64})
    assert shell(*beside, "--json", as_="user:op", stdin=foreign).refusal == (1, "flow.not_found")
    unknown = ("truth", "fingerprint", "0" * 64, "-", "--json")
    assert shell(*unknown, as_="user:op", stdin=json.dumps(look)).refusal == (1, "flow.not_found")
    assert shell(*beside, "--json", as_="user:root", stdin=json.dumps(look)).code == 1


def test_a_stream_answers_every_line_and_a_bad_one_costs_no_other_anything(shell: TruthShell) -> None:
    """Exit 1 tells that one was refused; the others are on disk."""
    lines = [json.dumps(shell.report("user:ann")), "{", "", json.dumps(shell.report("user:ben"))]
    file = shell.folder / "reports.ndjson"
    file.write_text("\n".join(lines))
    answer = shell("truth", "observe", file, "--ndjson", "--json", as_="service:gateway")
    assert answer.code == 1
    told = [json.loads(line) for line in answer.out.splitlines()]
    assert [(one["line"], one["receipt"] is not None) for one in told] == [(1, True), (2, False), (4, True)]
    assert told[1]["code"].startswith("json.")
    words = shell("truth", "observe", file, "--ndjson", as_="service:gateway")
    assert "0 recorded, 2 were there, 1 refused" in words.err
    assert "refused: " in words.out
    usage = shell("truth", "observe", file, "--ndjson", "--evidence", "urn:x", file, as_="service:gateway")
    assert usage.code == 2


def test_machines_judge_as_far_as_there_are_engines_and_look_at_evidence(shell: TruthShell) -> None:
    """The rules are always there; a rung without an engine stays open, and says so."""
    evidence = shell.folder / "reading.json"
    evidence.write_bytes(b'{"level": 1.25}' + b" " * 2048)
    given = shell.report("user:ann")
    given["evidence_refs"][0]["sha256"] = hash_of_text(evidence.read_text())
    key = shell.done("truth", "observe", "-", as_="service:gateway", stdin=json.dumps(given))["truthkey"]
    bouncer, generalist = shell.done("truth", "score", key, "--evidence", evidence)["scores"]
    assert (bouncer["stage"], bouncer["score"]["score"]) == ("bouncer", 1)
    assert (generalist["score"], generalist["code"]) == (None, "validator.unavailable")
    assert "no engine `local-vision`" in shell("truth", "score", key).out
    assert shell("truth", "score", NO_KEY).out == "no rung is due\n"


@pytest.mark.clause("kaori", "law 4")
def test_a_key_of_which_nothing_was_observed_is_unverified(shell: TruthShell) -> None:
    """Absence of evidence is a state too, signed like any other."""
    done = shell.done("truth", "compile", NO_KEY)
    assert (done["state"]["status"], done["state"]["claim"]) == ("UNVERIFIED", {})


def test_many_keys_are_compiled_by_processes(shell: TruthShell) -> None:
    """Also with more workers than there are parts; what cannot be compiled is named."""
    for name in ("user:ann", "user:ben"):
        shell.observe(name)
    done = shell.done("truth", "compile-all", "--workers", "2")
    assert (done["compiled"], done["unchanged"], done["stuck"]) == (1, 0, [])
    assert shell("truth", "compile-all", "--workers", "1").out == "0 compiled, 0 unchanged, 0 could not be compiled\n"
    (feature,) = [json.loads(line) for line in shell("truth", "map", "--json").out.splitlines()]
    assert shell("truth", "replay", feature["id"]).code == 0


def test_many_keys_get_the_bytes_of_one_by_one_under_the_same_trust(
    shell: TruthShell, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All see the trust up to one entry, which the answer names; one key that is compiled up to there says the same."""
    keys: list[str] = []
    for latitude in (4.175, 5.5):
        given = shell.report("user:ann", place=latitude)
        given |= {"geo": {**given["geo"], "lat": latitude}, "payload": {"severity": "high", "water_level_meters": 1.25}}
        keys.append(shell.done("truth", "observe", "-", as_="service:gateway", stdin=json.dumps(given))["truthkey"])
    shutil.copytree(shell.shell.home, shell.folder / "other")
    other = replace(shell, shell=Shell(home=shell.folder / "other", monkeypatch=monkeypatch, capsys=capsys))
    moment = Instant(SystemClock().now() + timedelta(minutes=1))
    other.done("trust", "grant", "user:ann", "official", as_="user:root")
    monkeypatch.setattr("assay.adapters.clock.SystemClock.now", lambda _: moment)
    through = shell.done("truth", "compile-all", "--workers", "1")["trust_through"]
    for key in keys:
        alone = other.done("truth", "compile", key, "--trust-through", str(through))["state"]
        together = shell.done("truth", "show", key)["state"]
        assert len(set(keys)) == 2
        assert _unsigned(alone) == _unsigned(together)
        now = other.done("truth", "compile", key, "--fresh-trust")["state"]
        assert _unsigned(now) != _unsigned(together)


def _unsigned(state: dict[str, Any]) -> dict[str, Any]:
    """What is said, and from what; the seal follows from that."""
    return {name: part for name, part in state.items() if name != "security"}


@pytest.mark.slow
def test_a_cluster_may_compile_and_one_that_is_not_there_is_said_so(shell: TruthShell) -> None:
    """The same command, the same states; two workers on loopback."""
    shell.observe("user:ann")
    nobody = shell("truth", "compile-all", "--dask", "tcp://127.0.0.1:1", "--json")
    assert nobody.refusal == (1, "pool.dask_unreachable")
    with LocalCluster(  # type: ignore[no-untyped-call]  # ships few types
        n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", host="127.0.0.1", silence_logs=50
    ) as cluster:
        done = shell.done("truth", "compile-all", "--dask", cluster.scheduler_address)
    assert (done["compiled"], done["stuck"]) == (1, [])


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        (NO_KEY, "--workers", "2"),
        (NO_KEY, "--dask", "tcp://127.0.0.1:1"),
    ],
)
def test_options_that_do_not_fit_together_are_wrong_usage(shell: TruthShell, arguments: tuple[str, ...]) -> None:
    """Nothing is passed over in silence."""
    for wrong in (("--force",), ("--claim-type", "earth.flood.v1"), ("--workers", "0")):
        assert shell("truth", "compile-all", *wrong, "--json").refusal == (2, "cli.usage")
    local = (NO_KEY, "--signed-at", "2026-01-01T00:00:00")
    assert shell("truth", "compile", *local, "--json").refusal == (3, "http.fields")
    assert shell("truth", "compile", *arguments, "--json").refusal == (2, "cli.usage")


def test_compiling_may_be_forced_and_signed_at_another_time_only_with_a_reason(shell: TruthShell) -> None:
    key = shell.critical()
    assert shell.done("truth", "compile", key, "--force", "--fresh-trust")["version"] == 2
    reason = ("--signed-at-reason", "the token was away")
    never = ("truth", "compile", key, "--force", "--signed-at", "2099-01-01T00:00:00Z")
    assert shell(*never, *reason, "--json").refusal == (3, "truth.signing_time")
    soon = f"{SystemClock().now() + timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}"
    late = ("truth", "compile", key, "--force", "--signed-at", soon)
    assert shell(*late, "--json").refusal == (3, "truth.signing_time")
    done = shell.done(*late, *reason)
    assert done["state"]["security"]["signed_at"] == soon
    assert shell("truth", "compile", "earth:fire:h3:886142a8e7fffff:surface:2020-01-01T00:00Z", "--json").refusal == (
        1,
        "truth.not_released",
    )


def test_whoever_has_a_session_needs_the_role_and_whoever_has_the_folder_is_its_operator(shell: TruthShell) -> None:
    eve = shell.shell.login("user:eve")
    for command in (("compile", NO_KEY), ("score", NO_KEY), ("expire",)):
        assert shell("truth", *command, "--json", session=eve).refusal == (1, "identity.role")
        assert shell("truth", *command, session=shell.shell.login("user:op")).code == 0


def test_a_window_is_opened_extended_and_ended_by_those_who_may(shell: TruthShell) -> None:
    """Opening it asks people; closing it stops asking."""
    key = shell.observe("user:ann")
    opened = shell.done("truth", "window", key, "open", "--for", "2h", "--reason", "asked for", as_="user:op")
    assert (opened["kind"], opened["by"]) == ("WINDOW_OPENED", "user:op")
    assert len(shell.done("review", "list")["items"]) == 1
    longer = shell("truth", "window", key, "extend", "--until", "2099-01-01T00:00:00Z", as_="user:op")
    assert longer.out.startswith("WINDOW_EXTENDED, entry ")
    assert shell("truth", "window", key, "open", "--for", "1h", "--json", as_="user:op").refusal == (
        1,
        "truth.window_refused",
    )
    close = ("truth", "window", key, "close", "--json")
    assert shell(*close, as_="user:op").refusal == (1, "identity.session_required")
    person = ("--credential", shell.shell.login("user:op"))
    assert shell(*close, *person).code == 0
    assert shell.done("review", "list")["items"] == []
    late = shell(*close, *person)
    assert late.refusal == (1, "truth.window_refused")


def test_a_window_event_that_says_too_much_or_too_little_is_refused(shell: TruthShell) -> None:
    key = shell.observe("user:ann")
    window = ("truth", "window", key)
    assert shell(*window, "open", "--json", as_="user:op").refusal == (3, "truth.record")
    both = shell(*window, "open", "--for", "1h", "--until", "2099-01-01T00:00:00Z", "--json", as_="user:op")
    assert both.refusal == (3, "http.fields")
    assert shell(*window, "open", "--for", "1h", "--json", as_="service:gateway").refusal == (1, "identity.role")
    assert shell(*window, "open", "--for", "1h", "--json").code == 0


def test_a_vote_is_a_persons_own_on_what_was_shown(shell: TruthShell) -> None:
    """Not a machine's, not on something else, not where nobody asks, and not by whoever may not override."""
    key = shell.critical()
    _, seen = shell.asked()
    eve = shell.shell.login("user:eve")

    def refusal(*arguments: str, session: str | None = eve) -> tuple[int, str]:
        return shell("truth", "vote", *arguments, "--json", session=session).refusal

    assert refusal(key, "ratify", "--seen", seen, session=None) == (1, "identity.not_signed_in")
    assert refusal(key, "ratify", "--seen", seen, session=shell.keys["service:gateway"]) == (1, "identity.role")
    assert refusal(key, "ratify", "--seen", seen, session=shell.keys["user:eve"]) == (1, "identity.session_required")
    assert refusal(key, "ratify", "--seen", HASH) == (1, "review.stale_ticket")
    assert refusal(key, "ratify", "--seen", "x") == (3, "form.digest")
    assert refusal(NO_KEY, "ratify", "--seen", seen) == (1, "truth.no_open_ticket")
    assert refusal(key, "maybe", "--seen", seen) == (2, "cli.usage")
    set_ = ("override", "--seen", seen, "--status", "VERIFIED_FALSE", "--reason", "no")
    gus = shell.done("truth", "vote", key, *set_, session=shell.shell.login("user:gus"))
    assert gus["state"]["verification_basis"] == "AUTHORITY_OVERRIDE"


def test_nothing_is_due_until_time_has_passed(shell: TruthShell) -> None:
    """A sweep says what it did; on a young node that is nothing."""
    shell.critical()
    assert shell("truth", "expire").out == "nothing is due\n"
    assert shell.done("truth", "expire") == {"compiled": [], "stuck": []}


def test_what_is_not_there_is_an_honest_no(shell: TruthShell) -> None:
    assert shell("truth", "show", NO_KEY, "--json").refusal == (1, "flow.not_found")
    assert shell("truth", "replay", "f" * 64, "--json").refusal == (1, "flow.not_found")
    assert shell("truth", "replay", "--json").refusal == (2, "cli.usage")
    assert shell("truth", "replay", "f" * 64, "--version", "1", "--json").refusal == (3, "http.fields")
