"""What the sample leaves out: every other operation of the table, with the things that the sample made."""

import json
from datetime import timedelta
from typing import Any

from assay.kernel.instant import Instant, render_instant
from assay.operations.kinds import Listing, Read
from assay.operations.table import TABLE
from assay.surfaces.cli.shipped import find_shipped
from assay.surfaces.sample.actions import _gate
from assay.surfaces.sample.answerers import CLEARANCE
from assay.surfaces.sample.laws import _PORT, _WATER, _observation
from tests.operations.playing import Played

READER = "user:reader"
_PASSWORD = "correct horse battery"
_WORKER = "user:worker"


def everything_else(play: Played) -> None:
    """Every change that the sample does not make, then every read."""
    for name, roles in ((READER, ("auditor", "operator", "reviewer")), (_WORKER, ("operator", "reviewer", "ops_team"))):
        play.local("principal.add", principal_id=name, kind="person", roles=roles, password=_PASSWORD)
        play.passwords[name] = _PASSWORD
    # The switch of the sample's service fires by the clock of the service itself.
    play.clock.catch_up()
    _people(play)
    _truth(play)
    _verdicts(play)
    _claims(play)
    _answers(play)
    _desk(play)
    _notes(play)
    play.local("index.seal")
    play.local("checkpoint.sign")
    _reads(play)


def _people(play: Played) -> None:
    play.local("principal.add", principal_id="service:leaver", kind="service")
    issued = play.local("key.issue", principal_id="service:leaver")
    play.do("user:ada", "key.rotate", prefix=issued.prefix, overlap_seconds=0)
    play.do("user:ada", "key.revoke", prefix=issued.prefix, reason="its holder left")
    play.do("user:ada", "principal.disable", principal_id="service:leaver")
    play.do("user:ada", "principal.erase", principal_id="service:leaver", reason="asked to")
    play.do(_WORKER, "principal.password", principal_id=_WORKER, password=_PASSWORD + ".")
    play.passwords[_WORKER] = _PASSWORD + "."
    play.forget(_WORKER)
    play.do("user:alan", "session.start", principal_id="user:alan", password=play.passwords["user:alan"])
    play.do("user:alan", "session.end")
    play.forget("user:alan")


def _truth(play: Played) -> None:
    wet = {"present": True, "level": 0.4}
    lines = [_observation(play, _WATER, "user:ben", _PORT, wet, tag=f"bulk-{number}") for number in range(2)]
    play.do("service:relay", "observations.record", observations=b"\n".join(json.dumps(one).encode() for one in lines))
    seen = play.do(
        "service:relay",
        "observation.record",
        observation=json.dumps(_observation(play, _WATER, "user:dina", _PORT, wet, tag="last")).encode(),
    )
    found = play.do(READER, "observation.show", observation_id=seen.observation_id)
    image = found.observation["evidence_refs"][0]["sha256"]
    play.attempt(
        "service:relay",
        "fingerprint.attach",
        observation_hash=seen.observation_hash,
        fingerprint=json.dumps({"sha256": image, "method": "phash", "bits": "0f1e2d3c4b5a6978"}).encode(),
    )
    key = seen.truthkey
    play.do(_WORKER, "window.change", truthkey=key, event="open", closes_in=3600)
    compiled = play.do(_WORKER, "state.compile", key=key)
    signed = compiled.state["security"]["state_hash"]
    play.attempt("user:rita", "state.dispute", key=key, state_hash=signed, reason="the water is gone")
    play.do(_WORKER, "states.expire")
    play.do("service:bridge", "key.answer", key=key)
    play.attempt("user:rita", "agent.endorse", agent_id="user:ben", weight=0.5)
    signal = {
        "signal_id": "endorse.sam-ben",
        "kind": "ENDORSEMENT",
        "agent_id": "user:sam",
        "occurred_at": play.at(),
        "object": {"endorsed": "user:ben", "weight": 0.25},
    }
    play.attempt("user:sam", "signal.record", signal=json.dumps(signal).encode())


def _verdicts(play: Played) -> None:
    record = json.loads(find_shipped("telemetry/energy.jsonl").read_bytes().splitlines()[0])
    for name, operation in (("once-1", "telemetry.evaluate"), ("once-2", "telemetry.answer")):
        sent = {**record, "telemetry_id": name, "timestamp": play.at()}
        sent.pop("measurement_id", None)
        play.do("service:bridge", operation, record=json.dumps(sent).encode())
    play.attempt(_WORKER, "sovereignty.clear", reason="nothing to clear")
    play.attempt(_WORKER, "model.activate", weights=play.last["model.add"].manifest.weight_hash)


def _claims(play: Played) -> None:
    waiting = _gate(play, "ai:cleaner", "DECISION", "DELETE", "Delete the plan of week 40.", [])
    play.do("ai:cleaner", "claims.resume", bundle_hash=waiting.bundle_hash)
    bundle = json.dumps({"id": "x"}).encode()
    play.do("ai:clerk", "claims.gate.bulk", bundles=bundle)
    play.do(_WORKER, "sample.plan", rates={"READ_ONLY": 1.0}, known_answers=0.5)
    play.do(_WORKER, "output.label", bundle_hash=waiting.bundle_hash, label="wrong", reason="seen on site")
    play.do(_WORKER, "thresholds.certify", cases=[{"uncertainty": n / 100, "wrong": False} for n in range(100)])
    _gateway(play)


def _gateway(play: Played) -> None:
    first, second = "sha256:" + "1" * 64, "sha256:" + "2" * 64
    row = {"tool": "files__read", "definition_hash": first, "tier": "READ_ONLY"}
    waiting = play.do(_WORKER, "gateway.release", rows=[row]).waiting
    shown = play.do("user:ada", "ticket.show", ticket_id=waiting).ticket
    agreed = {"choice": "approve", "seen": shown.shown_hash, "reason": "reads alone"}
    play.do("user:ada", "ticket.answer", ticket_id=waiting, **agreed)
    play.do(_WORKER, "gateway.approve", tool="files__read", definition_hash=second, reason="only the wording")
    called = {"tool": "files__read", "definition_hash": second, "arguments_hash": first, "result_hash": first}
    play.do("ai:clerk", "gateway.record", **called, text="twelve rooms")


def mandate_terms(play: Played) -> dict[str, Any]:
    return {
        "agent": "ai:cleaner",
        "tool": "purge",
        "audience": "service:plant",
        "tier": "DELETE",
        "purpose": "old plans",
        "count": 5,
        "expires_at": render_instant(Instant(play.clock.now() + timedelta(hours=1))),
        "limits": [{"argument": "id", "minimum": "1", "maximum": "100"}],
    }


def _answers(play: Played) -> None:
    question = {"ship": "Ada", "draught": 11.2, "depth": 12.9}
    play.do("service:bridge", "answer.ask", query_type="vessel.clearance", question=question)
    play.attempt("service:bridge", "answer.resume", answer_id=play.last["answer.ask"].answer_id)
    signal = {
        "signal_type": "phala",
        "rule_id": "HB-12",
        "applied_by": "harbour.example",
        "outcome": "success",
        "strands_available": ["capability"],
        "authenticity_level": "PRAMANA-2",
        "timestamp": play.at(),
    }
    play.attempt("service:bridge", "outcome.foreign", signal=json.dumps(signal).encode())
    own = {**signal, "rule_id": CLEARANCE, "applied_by": "bridge", "query_context": "lines"}
    play.do("service:bridge", "outcomes.report", signals=json.dumps(own).encode())
    play.attempt(_WORKER, "pairs.train", size=1)
    event = {"event_type": "bridge.opened", "service": "bridge", "timestamp": play.at(), "payload": {"t": 4}}
    play.do("service:bridge", "event.emit", event=json.dumps(event).encode())
    hook = play.do(_WORKER, "webhook.add", url="https://hooks.port.example/second").webhook.webhook_id
    play.do(_WORKER, "webhook.replay", webhook_id=hook, after=0)


def _desk(play: Played) -> None:
    play.do("user:rita", "view.keep", name="Mine", filter={"priority": "urgent"})
    play.do("user:rita", "view.drop", name="Mine")
    ticket = play.do("user:olga", "ticket.open", title="Is it so?", shown={"n": 1}, eligible_roles=("reviewer",))
    play.do("user:rita", "draft.keep", ticket_id=ticket.id, choice=ticket.choices[0])
    play.do("user:rita", "draft.drop", ticket_id=ticket.id)
    picks = [{"ticket_id": ticket.id, "seen": ticket.shown_hash}]
    play.do("user:rita", "desk.bulk.answer", choice=ticket.choices[0], picks=picks)
    play.local("principal.add", principal_id="service:bookings", kind="service")
    play.keys["service:bookings"] = str(play.local("key.issue", principal_id="service:bookings").api_key)
    fired = play.do(READER, "switch.show", service_id="bookings").history[-1].fired
    play.do("service:bookings", "switch.report", service_id="bookings", fired=fired)
    play.do("user:otto", "switch.restore", service_id="bookings")


def _notes(play: Played) -> None:
    told = play.do(_WORKER, "note.append", note={"text": "seen", "who": "Ann"}, personal=("/who",))
    play.do(_WORKER, "entry.erase", sequence=told.sequence_number, reason="asked to", pointers=("/note/who",))
    play.do(_WORKER, "notes.append", notes=b'{"note": {"text": "one"}}\n{"note": {"text": "two"}}')


def _reads(play: Played) -> None:
    """Those that name nothing, and those that name something of the sample; a refusal must be the same too."""
    named = _named(play)
    for operation in TABLE:
        if not isinstance(operation, Read | Listing) or operation.route is None:
            continue
        needed = {field.info.name for field in operation.fields if field.info.required}
        given = named.get(operation.name) or dict(operation.example or {})
        assert needed <= set(given), (operation.name, needed - set(given))
        play.attempt(READER, operation.name, **given)


def _named(play: Played) -> dict[str, dict[str, Any]]:
    """What each read names."""
    last = play.last
    key, ticket = {"key": last["state.compile"].state["truthkey"]}, {"ticket_id": last["ticket.open"].id}
    held = play.do(READER, "verdicts.held").items[0].ticket
    verdict = {"telemetry_id": "once-1"}
    sequence = last["telemetry.evaluate"].verdicts[0].sequence_number
    transcripts = play.do(READER, "verdicts.explain", **verdict).transcripts
    graph = play.do(READER, "graph.active")
    bundle = {"bundle_hash": last["claims.gate"].bundle_hash}
    answer = {"answer_id": last["answer.ask"].answer_id}
    mandate = {"mandate_id": play.do(READER, "mandates.list").items[0].mandate_id}
    hook = last["webhook.add"].webhook.webhook_id
    state = play.do(READER, "state.document", **key).body
    choice = {**ticket, "choice": "approve", "seen": last["ticket.open"].shown_hash}
    dam = {"key": last["question.show"].truthkey}
    plan = {"plan_id": last["sample.plan"].plan.id}
    # The next plan reveals the seed of this one.
    play.do(_WORKER, "sample.plan", rates={})
    return {
        "access.explain": {"action": "key.revoke"},
        "principal.show": {"principal_id": "ai:planner"},
        "tiers.list": {"principal_id": "service:plant"},
        "key.show": {"prefix": last["key.issue"].prefix},
        "ticket.show": ticket,
        "desk.ticket": ticket,
        "ticket.timeline": ticket,
        "ticket.answer.prepare": choice,
        "ticket.act.prepare": {**ticket, "act": "claim"},
        **{f"contract.{name}": {"claim_type": _WATER} for name in ("show", "document", "form")},
        "observation.show": {"observation_id": last["observation.record"].observation_id},
        **{f"state.{name}": key for name in ("show", "document", "versions", "prove", "replay", "claims")},
        "state.verify": {"state": state},
        "question.show": dam,
        "vote.prepare": {"truthkey": dam["key"], "vote_type": "RATIFY", "seen": last["question.show"].shown_hash},
        "policy.show": {"policy_id": "port_v1"},
        "agent.show": {"agent_id": "user:ben"},
        **{f"verdicts.{name}": verdict for name in ("of", "explain", "prove", "claims")},
        "verdict.show": {"sequence": sequence},
        "receipt.export": {"sequence": sequence},
        "verdict.attest.prepare": {"ticket_id": held.id, "key_id": "ed25519:" + "ab" * 32},
        "ticket.verdict": {"ticket_id": held.id},
        "transcript.show": {"transcript_ref": min(transcripts, key=lambda ref: len(str(transcripts[ref])))},
        "graph.document": {"graph": graph.document_hash},
        "graph.show": {"graph": graph.document_hash},
        "graph.diff": {"before": graph.document_hash, "after": graph.document_hash},
        "graph.reviews": {"content_hash": graph.content_hash},
        "graph.release.prepare": {"content_hash": graph.content_hash},
        "graph.impact": {"document": find_shipped("graphs/energy.json").read_bytes()},
        "model.show": {"weights": last["model.add"].manifest.weight_hash},
        "claims.show": bundle,
        "sample.check": plan,
        "claims.try": {"bundle": bundle_of(play)},
        "evidence.show": {"evidence_hash": last["evidence.attach"].evidence_hash},
        "evidence.content": {"evidence_hash": last["evidence.attach"].evidence_hash},
        "permit.show": {"permit_id": last["permit.issue"].permit.permit_id},
        "mandate.preview": mandate_terms(play),
        "mandate.show": mandate,
        "mandate.uses": mandate,
        **{f"answer.{name}": answer for name in ("show", "claims", "prove")},
        "trace.show": {"id": answer["answer_id"]},
        "session.outcomes": {"session": "session:Ada"},
        "rule.show": {"rule_id": CLEARANCE},
        "rootcause.show": {"item_id": last["rootcauses.list"].items[0].item.item_id},
        "peer.show": {"peer": "harbour.example"},
        "pramana.trust": {"user_id": "service:bridge"},
        "webhook.dead": {"webhook_id": hook},
        "services.who_can": {"bits": ["READ"]},
        **{f"{name}": {"service_id": "berths"} for name in ("service.show", "service_keys.list", "switch.show")},
        **{f"entry.{name}": {"sequence": 3} for name in ("show", "text", "prove")},
        "report.make": {"from_at": play.at(days=7)},
        "search.find": {"term": ("kind=note",)},
        "search.prove": {"term": ("kind=note",)},
        "proof.verify": {"proof": play.do(READER, "entry.prove", sequence=3).body.decode()},
        "policy.compare": {"document": "id: port_v2\nversion: 2\nextends: port_v1\n"},
    }


def bundle_of(play: Played) -> dict[str, Any]:
    claim = {
        "id": "claim-1",
        "statement": "The gauge is dry.",
        "claim_type": "DECISION",
        "evidence_pointers": [],
        "uncertainty": {"method": "semantic_entropy", "value": 0.15, "gate_recommendation": "EXECUTE"},
        "risk_tier": "MODIFY",
        "if_wrong_cost": "somebody acts on it",
    }
    return {"id": "port-tried", "timestamp": play.at(), "origin_agent": "ai:clerk", "claims": [claim]}
