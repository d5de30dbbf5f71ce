"""Operations about observations, contracts, votes and truth states."""

from assay.flows.delivery.answer_finding import answer_key
from assay.flows.request import SEE_ALL
from assay.flows.truth import (
    check_truth,
    climb_ladder,
    compile_all,
    contracts,
    fingerprints,
    observe,
    states,
    votes,
)
from assay.identity.principal import BuiltInRole
from assay.operations.kinds import Bulk, Change, Listing, Operation, Read, needs, no_if
from assay.operations.shown import truth as shown
from assay.operations.shown.delivery import handled_text

# Observations may be about people: without a role that sees all of them, a caller sees their own.
SEE = needs("truth:read")
OBSERVE = needs("truth:write")
OPERATE = needs("truth:write", BuiltInRole.OPERATOR)
ATTACH = needs("truth:write", BuiltInRole.OPERATOR, BuiltInRole.RELAY)
SEE_QUESTION = needs("truth:read", *SEE_ALL)
VOTE = needs("truth:write", BuiltInRole.REVIEWER, session=True)
PREPARE_VOTE = needs("truth:read", BuiltInRole.REVIEWER, session=True)
CHANGE_WINDOW = needs("truth:write", BuiltInRole.OPERATOR, BuiltInRole.REVIEWER)
PROVE = needs("log:read", BuiltInRole.AUDITOR, BuiltInRole.OPERATOR)
AUDIT = needs("truth:read", BuiltInRole.AUDITOR, BuiltInRole.OPERATOR)
_SIGN_FIRST = {"proof.no_checkpoint": ("checkpoint.sign",)}
_SEEN = "sha256:0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0"
_KEY = "earth:flood:h3:886142a8e7fffff:surface:2026-01-07T12:00Z"
_HASH = "960042d806eb09444521ee0a89e4e96a368b19d44e9a726b9222799a2b8302a5"
OBSERVATION_EXAMPLE = {
    "observation_id": "obs-1",
    "claim_type": "earth.flood.v1",
    "reported_at": "2026-01-07T12:10:00Z",
    "reporter_id": "sensor:042",
    "reporter_context": {"standing": "bronze", "trust_score": 0, "source_type": "sensor"},
    "geo": {"lat": 4.175, "lon": 73.509},
    "payload": {"severity": "high", "water_level_meters": 1.25},
    "evidence_refs": [],
}

CONTRACT_RELEASE = Change(
    "contract.release",
    contracts.release_contract,
    "POST /contracts",
    needs=OPERATE,
    command="contract release",
    example={"document": "id: earth.flood.v1\nversion: 1\n"},
    location="/contracts/{claim_type}",
    shows=shown.contract_line,
    may_repeat=True,
)
OBSERVATION_RECORD = Change(
    "observation.record",
    observe.observe,
    "POST /observations",
    dialects=("POST /observations",),
    needs=OBSERVE,
    command="truth observe",
    example=OBSERVATION_EXAMPLE,
    shows=shown.observed_text,
    may_repeat=True,
)
OBSERVATIONS_RECORD = Bulk(
    "observations.record",
    observe.observe_lines,
    "POST /observations:bulk",
    needs=OBSERVE,
    command="truth observe-lines",
    method="observe_many",
    example=OBSERVATION_EXAMPLE,
    shows=shown.lines_text,
    blames=no_if(lambda lines: any(line.status == "refused" for line in lines)),
    may_repeat=True,
)
OBSERVATIONS_LIST = Listing(
    "observations.list",
    observe.observations,
    "GET /observations",
    dialects=("GET /observations",),
    needs=SEE,
    command="truth observations",
    columns=("observation_id", "truthkey", "reporter_id", "received_at", "sequence_number"),
    nothing="nothing was observed",
)
STATE_DOCUMENT = Read(
    "state.document",
    states.state_document,
    "GET /states/{key}/document",
    dialects=("GET /truthstates/{key}",),
    needs=SEE,
    command="truth document",
)
VERSIONS_LIST = Listing(
    "state.versions",
    states.versions,
    "GET /states/{key}/versions",
    dialects=("GET /truthstates/{key}/history",),
    needs=SEE,
    command="truth history",
    columns=shown.VERSION_COLUMNS,
)
STATE_REPLAY = Read(
    "state.replay",
    states.replay_recorded,
    "GET /states/{key}/replay",
    needs=PROVE,
    command="truth replay",
    method="replay_truth",
    shows=shown.replay_text,
    blames=no_if(lambda found: not found.holds),
    crew="report",
)
STATES_MAP = Read("states.map", states.map_states, "GET /truth-map", needs=SEE, command="truth map", method="map")
STATE_VERIFY = Read(
    "state.verify",
    check_truth.verify_state,
    "POST /states:verify",
    dialects=("POST /verify",),
    needs=SEE,
    command="truth verify",
    shows=shown.finding_text,
    blames=no_if(lambda found: not found.holds),
)
SCORE = Change(
    "states.score",
    climb_ladder.score_states,
    "POST /states:score",
    needs=OPERATE,
    command="truth score",
    example={"keys": [_KEY]},
    shows=shown.scores_text,
    uses=("engines",),
    crew="judge",
)
VOTE_CAST = Change(
    "vote.cast",
    votes.vote,
    "POST /votes",
    dialects=("POST /votes",),
    needs=VOTE,
    command="truth vote",
    example={"truthkey": _KEY, "vote_type": "RATIFY", "seen": _SEEN, "reason": "I was there"},
    shows=shown.vote_text,
    notes=shown.vote_notes,
    prepared_by=("vote.prepare", {}),
)

OPERATIONS: tuple[Operation, ...] = (
    Change(
        "key.answer",
        answer_key,
        "POST /states/{key}/answers",
        needs=needs("pramana:query"),
        command="truth answer",
        shows=handled_text,
        blames=no_if(lambda done: done.delivered.body.withheld),
        uses=("answerers", "estimator"),
        crew="judge",
        by_floor=True,
    ),
    Listing(
        "contracts.list",
        contracts.contracts,
        "GET /contracts",
        needs=SEE,
        command="contract list",
        columns=("claim_type", "claim_type_hash", "released_at", "released_by"),
        nothing="no contract was released",
    ),
    CONTRACT_RELEASE,
    Read(
        "contract.show",
        contracts.contract,
        "GET /contracts/{claim_type}",
        needs=SEE,
        command="contract show",
        etag="claim_type_hash",
        is_immutable=True,
        shows=shown.contract_text,
    ),
    Read(
        "contract.document",
        contracts.contract_document,
        "GET /contracts/{claim_type}/document",
        needs=SEE,
        command="contract document",
    ),
    Read(
        "contract.form",
        contracts.contract_form,
        "GET /contracts/{claim_type}/form",
        needs=SEE,
        command="contract form",
        etag="claim_type_hash",
        shows=shown.form_text,
    ),
    OBSERVATIONS_LIST,
    OBSERVATION_RECORD,
    OBSERVATIONS_RECORD,
    Read(
        "observation.show",
        observe.observation,
        "GET /observations/{observation_id}",
        needs=SEE,
        command="truth observation",
        etag="observation_hash",
        is_immutable=True,
    ),
    Change(
        "fingerprint.attach",
        fingerprints.attach_fingerprint,
        "POST /fingerprints/{observation_hash}",
        needs=ATTACH,
        command="truth fingerprint",
        example={"sha256": _HASH, "method": "phash", "bits": "0f1e2d3c4b5a6978"},
        shows=shown.attached_text,
        may_repeat=True,
    ),
    Listing(
        "states.list",
        states.states,
        "GET /states",
        needs=SEE,
        command="truth list",
        columns=shown.STATE_COLUMNS,
        nothing="no key was compiled",
    ),
    Read(
        "state.show",
        states.state,
        "GET /states/{key}",
        needs=SEE,
        command="truth show",
        tool="show_truth",
        shows=shown.state_text,
    ),
    STATE_DOCUMENT,
    VERSIONS_LIST,
    Change(
        "state.compile",
        compile_all.compile_state,
        "POST /states/{key}/compile",
        needs=OPERATE,
        command="truth compile",
        example={"force": True},
        shows=shown.compiled_text,
        may_repeat=True,
    ),
    Change(
        "states.compile",
        compile_all.compile_states,
        "POST /states:compile",
        needs=OPERATE,
        command="truth compile-all",
        shows=shown.compiled_all_text,
        blames=no_if(lambda done: bool(done.stuck)),
        crew="report",
    ),
    Change(
        "states.expire",
        compile_all.expire_states,
        "POST /states:expire",
        needs=OPERATE,
        command="truth expire",
        shows=shown.aged_text,
        blames=no_if(lambda aged: bool(aged.stuck)),
    ),
    SCORE,
    Read(
        "state.prove",
        states.prove_state,
        "GET /states/{key}/proof",
        needs=PROVE,
        command="truth prove",
        remedies=_SIGN_FIRST,
    ),
    STATE_REPLAY,
    STATE_VERIFY,
    STATES_MAP,
    Read(
        "question.show",
        votes.question,
        "GET /states/{key}/question",
        needs=SEE_QUESTION,
        command="truth question",
        shows=shown.question_text,
    ),
    VOTE_CAST,
    Read(
        "vote.prepare",
        votes.prepare_vote,
        "POST /votes/prepare",
        needs=PREPARE_VOTE,
        example={"truthkey": _KEY, "vote_type": "RATIFY", "seen": _SEEN},
    ),
    Change(
        "window.change",
        votes.change_window,
        "POST /windows",
        needs=CHANGE_WINDOW,
        command="truth window",
        example={"truthkey": _KEY, "event": "extend", "closes_in": 21600, "reason": "more to come"},
        shows=shown.window_text,
        notes=shown.window_notes,
    ),
)
