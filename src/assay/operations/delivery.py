"""Operations about questions, answers, rules, outcomes, root causes, training, peers, events and webhooks."""

from assay.flows.delivery import (
    answers,
    deliver_answer,
    emit_event,
    measure_proof,
    outcomes,
    peers,
    query_types,
    recount_rules,
    report_outcome,
    resume_answer,
    root_causes,
    rules,
    service_state,
    trace,
    training,
    webhooks,
)
from assay.flows.delivery.tend_delivery import tend_delivery
from assay.flows.request import SEE_ALL
from assay.flows.tools import Tools
from assay.identity.caller import Caller
from assay.identity.principal import BuiltInRole
from assay.operations.kinds import SIGNED_IN, Bulk, Change, Listing, Operation, Read, needs, no_if
from assay.operations.shown import delivery as shown
from assay.operations.shown.claims import json_text

SEE = needs("pramana:read", *SEE_ALL)
SEE_OWN = needs("pramana:read")
ASK = needs("pramana:query")
REPORT = needs("pramana:report")
# The registry itself refuses an author without the role (PRAMANA 14.3).
RECORD_RULE = needs("pramana:write")
OPERATE = needs("pramana:write", BuiltInRole.OPERATOR)
OPERATE_IN_SESSION = needs("pramana:write", BuiltInRole.OPERATOR, session=True)
SEE_WEBHOOKS = needs("events:read", BuiltInRole.AUDITOR, BuiltInRole.OPERATOR)
CHANGE_WEBHOOKS = needs("events:write", BuiltInRole.OPERATOR, session=True)
OUTCOME_EXAMPLE = {
    "signal_type": "phala",
    "rule_id": "MAR-001",
    "applied_by": "freight",
    "outcome": "success",
    "strands_available": ["capability", "knowledge"],
    "authenticity_level": "PRAMANA-2",
    "timestamp": "2026-01-07T12:00:00Z",
}


def _tend(tools: Tools, caller: Caller) -> None:
    tend_delivery(tools, caller.tenant_id, at=caller.at)


ANSWER_ASK = Change(
    "answer.ask",
    deliver_answer.ask,
    "POST /answers",
    needs=ASK,
    tool="ask",
    command="ask",
    example={"query_type": "freight.rate", "question": {"route": "INMUN-AEJEA"}},
    location="/answers/{answer_id}",
    shows=shown.answer_text,
    blames=no_if(lambda done: done.body.withheld),
    uses=("answerers",),
    by_floor=True,
    crew="judge",
)
ANSWER_RESUME = Change(
    "answer.resume",
    resume_answer.resume_answer,
    "POST /answers/{answer_id}/resume",
    needs=ASK,
    tool="resume",
    command="resume",
    shows=shown.answer_text,
    blames=no_if(lambda done: done.body.withheld),
    uses=("answerers",),
    by_floor=True,
)
OUTCOME_REPORT = Change(
    "outcome.report",
    report_outcome.outcome,
    "POST /outcomes",
    needs=REPORT,
    tool="report_outcome",
    command="outcome",
    example=OUTCOME_EXAMPLE,
    shows=shown.reported_text,
    uses=("answerers",),
    many=report_outcome.report_each,
    may_repeat=True,
    then=_tend,
)
OUTCOMES_REPORT = Bulk(
    "outcomes.report",
    report_outcome.report_outcomes,
    "POST /outcomes:bulk",
    needs=REPORT,
    command="outcomes",
    method="report_many",
    example=OUTCOME_EXAMPLE,
    shows=shown.lines_text,
    blames=no_if(lambda lines: any(line.status == "refused" for line in lines)),
    uses=("answerers",),
    then=_tend,
)
OUTCOME_FORWARD = Change(
    "outcome.foreign",
    peers.forward_outcome,
    "POST /outcomes/foreign",
    needs=REPORT,
    command="peer forward",
    example=OUTCOME_EXAMPLE,
    shows=shown.forwarded_text,
    may_repeat=True,
    then=_tend,
)
PAIRS_EXPORT = Read(
    "pairs.export",
    training.training_pairs,
    "GET /pairs",
    needs=SEE,
    command="pairs export",
    media_types=(training.LINES,),
)
EVENT_EMIT = Change(
    "event.emit",
    emit_event.emit_event,
    "POST /events",
    needs=needs("pramana:emit"),
    command="emit",
    example={
        "event_type": "freight.rate-changed",
        "service": "freight",
        "timestamp": "2026-01-07T12:00:00Z",
        "payload": {"route": "INMUN-AEJEA"},
    },
    says="{event_type} of {service}: entry {sequence_number}",
)
PEER_AGREE = Change(
    "peer.agree",
    peers.agree_with_peer,
    "POST /peers",
    needs=OPERATE,
    command="peer agree",
    example={"peer": "harbour", "rules": [["HB-1", "MAR-001"]], "strands": [], "keys": []},
    shows=shown.agreed_text,
)
PROOF_MEASURE = Change(
    "rules.prove",
    measure_proof.measure_proof,
    "POST /rule-proofs",
    needs=OPERATE_IN_SESSION,
    command="rules proof",
    example={"texts": {"ukc.py": "# @rule:MAR-YK-007\n"}},
    shows=shown.proof_text,
    blames=no_if(lambda found: not found.passing),
)
TRACE_SHOW = Read(
    "trace.show",
    trace.trace,
    "GET /trace/{id}",
    needs=SEE,
    command="trace",
    shows=shown.trace_text,
    blames=no_if(lambda found: bool(found.problems)),
)
CERTIFICATION_REQUEST = Change(
    "rule.certification.request",
    rules.ask_certification,
    "POST /rules/{rule_id}/certification",
    needs=RECORD_RULE,
    command="rules certification",
    shows=shown.certification_text,
)
RULE_CERTIFY = Change(
    "rule.certify",
    rules.certify_rule,
    "POST /rules/{rule_id}/certify",
    needs=needs("pramana:write", session=True),
    command="rules certify",
    example={"seen": "sha256:0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0"},
    shows=shown.certified_text,
)
# PRAMANA 7.2 has a route of its own, and no other.
TRUST_SHOW = Read("pramana.trust", service_state.show_trust, needs=SIGNED_IN)

OPERATIONS: tuple[Operation, ...] = (
    Listing(
        "answers.list",
        answers.answers,
        "GET /answers",
        needs=SEE_OWN,
        command="answers list",
        method="list_answers",
        columns=("answer_id", "query_type", "level", "asked_by", "answered_at"),
        nothing="no answer was given",
    ),
    ANSWER_ASK,
    Read(
        "answer.show",
        answers.answer,
        "GET /answers/{answer_id}",
        needs=SEE_OWN,
        command="answers show",
        shows=shown.detail_text,
    ),
    Read(
        "answer.claims",
        answers.answer_claims,
        "GET /answers/{answer_id}/claims",
        needs=SEE_OWN,
        command="answers claims",
        shows=json_text,
    ),
    Read(
        "answer.prove",
        answers.prove_answer,
        "GET /answers/{answer_id}/proof",
        needs=SEE_OWN,
        command="answers prove",
        # As for an entry: a checkpoint that covers the answer is signed first where this caller may.
        remedies={"proof.no_checkpoint": ("checkpoint.sign",)},
    ),
    ANSWER_RESUME,
    TRACE_SHOW,
    Listing(
        "outcomes.list",
        outcomes.outcomes,
        "GET /outcomes",
        needs=SEE,
        command="answers outcomes",
        columns=("signal_id", "outcome", "rule_ids", "answer_id", "sender", "received_at"),
        nothing="no outcome was reported",
    ),
    OUTCOME_REPORT,
    OUTCOMES_REPORT,
    OUTCOME_FORWARD,
    Listing(
        "sessions.list",
        outcomes.outcome_sessions,
        "GET /outcome-sessions",
        needs=SEE,
        command="rules sessions",
        columns=("session", "signals"),
        nothing="no session reported an outcome",
    ),
    Listing(
        "session.outcomes",
        outcomes.session_outcomes,
        "GET /outcome-sessions/{session}",
        needs=SEE,
        command="rules session",
        columns=shown.SIGNAL_COLUMNS,
    ),
    Listing(
        "rules.list",
        rules.rules,
        "GET /rules",
        needs=SEE,
        command="rules list",
        columns=shown.RULE_COLUMNS,
        nothing="no rule is registered",
    ),
    Read("rule.show", rules.rule, "GET /rules/{rule_id}", needs=SEE, command="rules show", shows=shown.rule_text),
    Change(
        "rule.register",
        rules.register_rule,
        "POST /rules",
        needs=RECORD_RULE,
        command="rules add",
        example={"rule_id": "MAR-YK-007", "content": "At least 10 % of the draught.", "domains": ["maritime"]},
        location="/rules/{rule_id}",
        shows=shown.ref_text,
    ),
    CERTIFICATION_REQUEST,
    RULE_CERTIFY,
    PROOF_MEASURE,
    Read(
        "rules.recount",
        recount_rules.recount_rules,
        "GET /rule-recount",
        needs=SEE,
        command="rules recount",
        shows=shown.recount_text,
        blames=no_if(lambda found: not found.holds),
        crew="report",
    ),
    Listing(
        "rules.alerts",
        rules.alerts,
        "GET /rule-alerts",
        needs=SEE,
        command="rules alerts",
        columns=shown.ALERT_COLUMNS,
        nothing="no rule has bad outcomes",
        blames=no_if(lambda page: bool(page.items)),
    ),
    Change(
        "reporter.grant",
        rules.grant_reporter,
        "PUT /reporters/{principal_id}",
        needs=OPERATE,
        command="rules grant",
        example={"rules": ["MAR-*"]},
        shows=shown.grant_text,
    ),
    Listing(
        "queries.list",
        query_types.queries,
        "GET /queries",
        needs=SEE,
        tool="list_questions",
        command="query list",
        columns=shown.QUERY_COLUMNS,
        nothing="no query type is registered",
    ),
    Change(
        "query.register",
        query_types.register_query,
        "POST /queries",
        needs=OPERATE,
        command="query add",
        example={"slug": "vessel.ukc-status", "description": "is there enough water", "domain": "maritime"},
        shows=shown.query_text,
    ),
    Listing(
        "shortfalls.list",
        query_types.shortfalls,
        "GET /shortfalls",
        needs=SEE,
        command="query shortfalls",
        columns=shown.SHORTFALL_COLUMNS,
        nothing="no answer fell short",
        blames=no_if(lambda page: bool(page.items)),
    ),
    Listing(
        "rootcauses.list",
        root_causes.root_causes,
        "GET /root-causes",
        needs=SEE,
        command="rca list",
        columns=shown.ROOT_CAUSE_COLUMNS,
        nothing="no root cause is open",
    ),
    Read(
        "rootcause.show",
        root_causes.root_cause,
        "GET /root-causes/{item_id}",
        needs=SEE,
        command="rca show",
        shows=shown.root_cause_text,
    ),
    Change(
        "rootcause.conclude",
        root_causes.conclude_root_cause,
        "POST /root-causes/{item_id}/conclusion",
        needs=needs("pramana:conclude", BuiltInRole.REVIEWER, session=True),
        command="rca conclude",
        example={
            "failure_category": "C",
            "siddhanta": "the rule is too lenient",
            "corrected_rule": "At least 15 %.",
            "seen": "sha256:0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0",
        },
        shows=shown.concluded_text,
        then=_tend,
    ),
    PAIRS_EXPORT,
    Read("pairs.queue", training.training_queue, "GET /pairs/queue", needs=SEE, command="pairs queue"),
    Read(
        "pairs.measure",
        training.measure_categories,
        "GET /pairs/measure",
        needs=SEE,
        command="pairs measure",
        shows=shown.measure_text,
        crew="report",
    ),
    PEER_AGREE,
    Read(
        "peer.show",
        peers.peer,
        "GET /peers/{peer}",
        needs=SEE,
        command="peer show",
        shows=shown.agreement_text,
    ),
    EVENT_EMIT,
    TRUST_SHOW,
    Listing(
        "webhooks.list",
        webhooks.webhooks,
        "GET /webhooks",
        needs=SEE_WEBHOOKS,
        command="webhook list",
        columns=shown.WEBHOOK_COLUMNS,
        nothing="there is no webhook",
    ),
    Change(
        "webhook.add",
        webhooks.add_webhook,
        "POST /webhooks",
        needs=CHANGE_WEBHOOKS,
        command="webhook add",
        example={"url": "https://example.org/hook", "types": ["rca.triggered"]},
        shows=shown.webhook_text,
    ),
    Change(
        "webhook.remove",
        webhooks.remove_webhook,
        "DELETE /webhooks/{webhook_id}",
        needs=CHANGE_WEBHOOKS,
        command="webhook remove",
        says="removed {webhook_id}",
    ),
    Listing(
        "webhook.dead",
        webhooks.dead_events,
        "GET /webhooks/{webhook_id}/dead",
        needs=SEE_WEBHOOKS,
        command="webhook dead",
        columns=("position", "attempts", "problem"),
        nothing="no event was given up",
    ),
    Change(
        "webhook.replay",
        webhooks.replay_webhook,
        "POST /webhooks/{webhook_id}/replay",
        needs=CHANGE_WEBHOOKS,
        command="webhook replay",
        example={"after": 0},
        says="{due} events are due again",
    ),
)
