"""Operations about trust: policies, signals, agents, snapshots, penalties and credits."""

from assay.flows.request import SEE_ALL
from assay.flows.trust import check_trust, policies, record_signal, request_penalty, standings
from assay.identity.principal import BuiltInRole
from assay.operations.kinds import Change, Listing, Operation, Read, needs, no_if
from assay.operations.shown import trust as shown

# Standings are about people: without a role that sees all of them, a caller sees their own.
SEE_OWN = needs("trust:read")
SEE = needs("trust:read", *SEE_ALL)
# The kind of a signal decides which role may log it; the flow refuses others.
SIGNAL = needs("trust:write")
ADMIT = needs("trust:write", BuiltInRole.ADMIN)
OPERATE = needs("trust:write", BuiltInRole.OPERATOR)
PENALISE = needs("trust:write", BuiltInRole.OPERATOR, BuiltInRole.REVIEWER)
AUDIT = needs("trust:read", BuiltInRole.AUDITOR, BuiltInRole.OPERATOR)
_KEY = "earth:flood:h3:886142a8e7fffff:surface:2026-01-07T12:00Z"
_HASH = "960042d806eb09444521ee0a89e4e96a368b19d44e9a726b9222799a2b8302a5"

SNAPSHOT = Read(
    "trust.snapshot",
    standings.trust_snapshot,
    "GET /trust-snapshot",
    dialects=("GET /trust-snapshot",),
    needs=SEE,
    command="trust snapshot",
)
AGENT_SHOW = Read(
    "agent.show",
    standings.agent,
    "GET /agents/{agent_id}",
    dialects=("GET /agents/{agent_id}",),
    needs=SEE_OWN,
    command="trust show",
    shows=shown.agent_text,
)
SIGNALS_LIST = Listing(
    "signals.list",
    record_signal.signals,
    "GET /signals",
    dialects=("GET /signals",),
    needs=SEE_OWN,
    command="trust signals",
    columns=shown.SIGNAL_COLUMNS,
    nothing="no signal was logged",
)
SIGNAL_RECORD = Change(
    "signal.record",
    record_signal.record_signal,
    "POST /signals",
    dialects=("POST /signals",),
    needs=SIGNAL,
    command="trust signal",
    method="signal",
    example={
        "signal_id": "endorse.user-ann",
        "kind": "ENDORSEMENT",
        "agent_id": "sensor:042",
        "occurred_at": "2026-01-07T12:00:00Z",
        "object": {"endorsed": "user:ann", "weight": 0.5},
    },
    shows=shown.signalled_text,
    notes=shown.signalled_notes,
    blames=no_if(shown.does_not_count),
    may_repeat=True,
)

OPERATIONS: tuple[Operation, ...] = (
    Listing(
        "policies.list",
        policies.policies,
        "GET /policies",
        needs=SEE_OWN,
        command="trust policy list",
        columns=shown.POLICY_COLUMNS,
        nothing="no trust policy is registered",
    ),
    Change(
        "policy.register",
        policies.register_policy,
        "POST /policies",
        needs=OPERATE,
        command="trust policy register",
        example={"document": "id: flow_v2\nversion: 2\nextends: flow_v1\n"},
        location="/policies/{policy_id}",
        shows=shown.registered_text,
        may_repeat=True,
    ),
    Read(
        "policy.show",
        policies.policy,
        "GET /policies/{policy_id}",
        needs=SEE_OWN,
        command="trust policy show",
        shows=shown.policy_text,
    ),
    Read(
        "policy.compare",
        standings.compare_policy,
        "POST /policies:compare",
        needs=SEE,
        command="trust counterfactual",
        example={"document": "id: flow_v2\nversion: 2\nextends: flow_v1\n"},
        shows=shown.counterfactual_text,
        crew="report",
    ),
    SIGNALS_LIST,
    SIGNAL_RECORD,
    Listing(
        "agents.list",
        standings.agents,
        "GET /agents",
        needs=SEE,
        command="trust standings",
        columns=shown.AGENT_COLUMNS,
        nothing="no agent is known",
    ),
    Change(
        "agents.admit",
        record_signal.admit_agents,
        "POST /agents",
        needs=ADMIT,
        command="trust admit",
        example={"agents": ["user:amira", "sensor:042"]},
        shows=shown.admitted_text,
    ),
    AGENT_SHOW,
    Change(
        "agent.grant",
        record_signal.grant_role,
        "POST /agents/{agent_id}/roles",
        needs=ADMIT,
        command="trust grant",
        example={"role": "specialist"},
        shows=shown.signalled_text,
    ),
    Change(
        "agent.endorse",
        record_signal.endorse_agent,
        "POST /agents/{agent_id}/endorsements",
        needs=SIGNAL,
        command="trust endorse",
        example={"weight": 0.5},
        shows=shown.signalled_text,
    ),
    Change(
        "state.dispute",
        record_signal.dispute_state,
        "POST /states/{key}/disputes",
        needs=SIGNAL,
        command="trust dispute",
        example={"state_hash": _HASH, "reason": "the water is gone"},
        shows=shown.signalled_text,
        notes=shown.signalled_notes,
        blames=no_if(shown.does_not_count),
    ),
    Change(
        "penalty.request",
        request_penalty.request_penalty,
        "POST /penalties",
        needs=PENALISE,
        command="trust penalise",
        example={"agent_id": "user:ann", "points": 12.5, "reason": "made it up"},
        says="{ticket_id}",
        notes="opened; it shows {shown_hash}",
    ),
    SNAPSHOT,
    Listing(
        "credits.list",
        standings.credits,
        "GET /credits",
        needs=SEE,
        command="trust credits",
        columns=("agent_id", "credits", "keys"),
        nothing="nobody earned credits",
    ),
    Read(
        "trust.check",
        check_trust.check_trust_log,
        "GET /trust-check",
        needs=AUDIT,
        command="trust verify",
        shows=shown.trust_check_text,
        blames=no_if(lambda found: not found.holds),
        crew="report",
    ),
)
