"""What an entry says to an auditor: what was decided, on what, under which rules, by whom, and why.

entry text -> derive_row -> ReportRow: from the proven text alone, so that anyone can derive it again

Each kind has its paths into the entry; one without is told by the fields that most entries share.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from assay.kernel.bundle import parse_entry_head
from assay.kernel.digest import Digest, digest_of
from assay.kernel.ledger import EntryKind

_LONGEST = 300


class RowFacts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry in an auditor's words; texts that are too long for a table are cut, and the entry has them whole."""

    sequence_number: int
    timestamp: str
    kind: str
    decision: str
    about: tuple[str, ...]
    rules: tuple[str, ...]
    by: tuple[str, ...]
    reason: str
    entry_hash: Digest


class _Paths(NamedTuple):
    """Where a kind has each fact: dotted, `*` goes through a list, `words=` are said before what is found there.

    `decision` and `reason` are the first that is there, the others all of them.
    """

    decision: tuple[str, ...]
    about: tuple[str, ...]
    by: tuple[str, ...]
    rules: tuple[str, ...] = ()
    reason: tuple[str, ...] = ("body.reason",)


_VERDICT = _Paths(
    decision=("verdict", "body.verdict"),
    about=("body.subject", "telemetry_id", "body.telemetry_id"),
    by=("llm_transcript.human_attestation.reviewer", "model=model_weight_hash"),
    rules=("rule_id", "body.rule_id"),
    reason=("body.ruling.reason",),
)
_KINDS: dict[EntryKind, _Paths] = {
    EntryKind.VERDICT: _VERDICT,
    EntryKind.VERDICT_HELD: _VERDICT._replace(decision=("body.ruling.standing",)),
    EntryKind.VERDICT_FINAL: _VERDICT,
    EntryKind.VERDICT_V2: _VERDICT,
    EntryKind.TRUTH_STATE: _Paths(
        decision=("body.state.status",),
        about=("body.state.truthkey",),
        by=("key=body.state.security.key_id",),
        rules=("body.state.claim_type",),
        reason=("body.state.verification_basis",),
    ),
    EntryKind.VOTE_CAST: _Paths(
        decision=("body.record.vote_type",),
        about=("body.record.truthkey",),
        by=("body.record.voter_id",),
        reason=("body.record.reason",),
    ),
    EntryKind.CLAIMS_DECIDED: _Paths(
        decision=("body.outcome.decision",),
        about=("body.bundle_hash",),
        by=("policy=body.outcome.policy_hash",),
        reason=("body.outcome.reason",),
    ),
    EntryKind.CLAIMS_REFUSED: _Paths(decision=("body.code",), about=("body.document_hash",), by=("body.submitted_by",)),
    EntryKind.ANSWER_DELIVERED: _Paths(
        decision=("body.delivered.authenticity_level", "body.level"),
        about=("body.delivered.query_type", "body.delivered.answer_id"),
        by=("body.answerer", "asked by=body.asked_by"),
        rules=("body.delivered.rules.*.rule_id",),
        reason=("body.delivered.gate.reason",),
    ),
    EntryKind.QUERY_FAILED: _Paths(
        decision=("body.code",), about=("body.query_type",), by=("body.asked_by",), reason=()
    ),
    EntryKind.OUTCOME_REPORTED: _Paths(
        decision=("body.outcome",), about=("body.answer_id",), by=("body.sender",), rules=("body.rules.*.rule_id",)
    ),
    EntryKind.ROOT_CAUSE_CLOSED: _Paths(
        decision=("body.failure_category",),
        about=("body.item_id",),
        by=("body.concluded_by",),
        rules=("body.rule.rule_id",),
        reason=("body.siddhanta",),
    ),
    EntryKind.TICKET_ANSWERED: _Paths(decision=("body.choice",), about=("body.ticket_id",), by=("body.by",)),
    EntryKind.TICKET_SETTLED: _Paths(
        decision=("body.choice", "body.state"), about=("body.ticket_id",), by=("body.counted.*.by",)
    ),
}
_OTHER = _Paths(
    decision=("body.event",),
    about=(
        "body.item_id",
        "body.ticket_id",
        "body.truthkeys",
        "body.service_id",
        "body.principal_id",
        "body.id",
        "body.claim_type",
        "body.policy_id",
        "body.kg_version_hash",
        "body.weight_hash",
        "body.bundle_hash",
        "body.record.key_id",
        "body.about",
        "body.slug",
        "entry=body.sequence_number",
    ),
    by=tuple(
        f"body.{act}_by"
        for act in (
            "activated",
            "added",
            "asked",
            "attached",
            "captured",
            "certified",
            "changed",
            "endorsed",
            "erased",
            "evaluated",
            "granted",
            "issued",
            "measured",
            "opened",
            "proposed",
            "recorded",
            "registered",
            "released",
            "restored",
            "revoked",
            "submitted",
        )
    ),
    rules=("body.rule_id", "body.rules", "body.claim_type"),
    reason=("body.reason", "body.downgrade_reason"),
)
# What is decided, by machines or people, and what changes who or what decides.
DECIDING = frozenset(_KINDS) | {
    EntryKind.CLAIMS_POLICY,
    EntryKind.CONTRACT_RELEASED,
    EntryKind.ERASURE,
    EntryKind.GRAPH_ACTIVATED,
    EntryKind.MODEL_ACTIVATED,
    EntryKind.REPORTER_GRANTED,
    EntryKind.RULE_CERTIFIED,
    EntryKind.SWITCH_FIRED,
    EntryKind.SWITCH_RESTORED,
    EntryKind.TIER_CHANGED,
    EntryKind.TRUST_POLICY,
}


def derive_row(text: bytes) -> RowFacts:
    """The facts of a well-formed entry; refuses any other text."""
    head = parse_entry_head(text)
    entry: dict[str, Any] = msgspec.json.decode(text)
    known = {str(kind): paths for kind, paths in _KINDS.items()}
    paths = known.get(head.kind, _OTHER)
    return RowFacts(
        sequence_number=head.sequence_number,
        timestamp=head.timestamp,
        kind=head.kind,
        # What most kinds are named by is what happened: `contract.released`.
        decision=_first(entry, paths.decision) or head.kind.rpartition(".")[2],
        about=_all(entry, paths.about),
        rules=_all(entry, paths.rules),
        by=_all(entry, paths.by),
        reason=_first(entry, paths.reason),
        entry_hash=digest_of(text),
    )


def _first(entry: dict[str, Any], paths: tuple[str, ...]) -> str:
    return next(_found(entry, paths), "")


def _all(entry: dict[str, Any], paths: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_found(entry, paths)))


def _found(entry: dict[str, Any], paths: tuple[str, ...]) -> Iterator[str]:
    for path in paths:
        words, _, place = path.rpartition("=")
        for text in _texts(entry, place.split(".")):
            yield f"{words} {text}" if words else text


def _texts(value: object, steps: list[str]) -> Iterator[str]:
    """Every text at the end of a path; whatever is not there, or is no text or list of texts, is passed over."""
    if isinstance(value, list) and (not steps or steps[0] == "*"):
        for item in value:
            yield from _texts(item, steps[1:])
    elif steps and isinstance(value, dict):
        yield from _texts(value.get(steps[0]), steps[1:])
    elif not steps and isinstance(value, (str, int)) and not isinstance(value, bool) and value != "":
        text = str(value)
        yield text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
