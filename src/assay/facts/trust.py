"""Trust: entries about signals and policies, and the rows that follow from them."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct

from assay.facts.kinds import Fact, Projected, Table, Transient
from assay.kernel.canonical import Profile, canonical_json, canonicalize
from assay.kernel.entry import Entry
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import Instant
from assay.kernel.json_text import parse_json
from assay.kernel.ledger import Draft, EntryKind, Event, draft_entry
from assay.ports.trust_store import FoldMark, LoggedSignal, RegisteredPolicy
from assay.trust.lint import LintFinding
from assay.trust.policy import TrustPolicy
from assay.trust.signal import TrustSignal, render_signal, signal_hash

# Strings that `kaori-2.1` might write in another way: escapes, and white space that it collapses.
_UNTIDY = re.compile(rb'\\|  |" | "')
# Numbers that it might: more than six places, exponents, very large or very small ones. Such a text inside a string
# is only looked at more closely.
_UNROUND = re.compile(rb"[:,\[]-?(?:\d{10,}\.|\d+\.\d{7}|0\.00|[\d.]+e)")


class SignalBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `trust.signal` entry; `ticket_id` is that of the decision behind it, where there is one."""

    signal: dict[str, Any]
    signal_hash: str
    submitted_by: str
    ticket_id: str | None = None


class LintedBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What linting found, each of it accepted by its code; anybody can lint again and compare the hash."""

    report_hash: str
    findings: tuple[LintFinding, ...]


class PolicyBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `trust.policy` entry: the policy with everything it inherits, and what it was known to allow."""

    policy_id: str
    policy_hash: str
    document: str
    linted: LintedBody
    registered_by: PrincipalId
    signal: dict[str, Any]


def signal_entry(
    tenant_id: TenantId, signal: TrustSignal, *, submitted_by: str, ticket_id: str | None = None, at: Instant
) -> Draft:
    """Draft the entry of a signal that is no other record."""
    body = SignalBody(
        signal=json_of(render_signal(signal)),
        signal_hash=signal_hash(signal),
        submitted_by=submitted_by,
        ticket_id=ticket_id,
    )
    news = {"signal_id": signal.signal_id, "kind": signal.kind.value, "agent_id": signal.agent_id}
    event = news_of(EntryKind.TRUST_SIGNAL, signal.signal_id, news)
    return draft_entry(tenant_id, EntryKind.TRUST_SIGNAL, body, at=at, events=(event,))


def policy_entry(
    tenant_id: TenantId, policy: TrustPolicy, linted: LintedBody, by: PrincipalId, signal: TrustSignal, at: Instant
) -> Draft:
    body = PolicyBody(
        policy_id=policy.id,
        policy_hash=policy.policy_hash,
        document=policy.document,
        linted=linted,
        registered_by=by,
        signal=json_of(render_signal(signal)),
    )
    event = news_of(EntryKind.TRUST_POLICY, policy.id, {"policy_id": policy.id, "policy_hash": policy.policy_hash})
    return draft_entry(tenant_id, EntryKind.TRUST_POLICY, body, at=at, events=(event,))


def news_of(kind: EntryKind, subject: str, news: Mapping[str, object]) -> Event:
    """What subscribers receive; the entry has the rest."""
    return Event(type=kind.value, subject=subject, body=Raw(canonicalize(news)))


def json_of(text: bytes | str) -> dict[str, Any]:
    """A record's canonical text as the value that an entry holds; both profiles write the same value."""
    value: Any = parse_json(text)
    return dict(value)


def kaori_text(held: Raw) -> str:
    """Return the `kaori-2.1` text of a value that an entry holds; in most cases it is the very same bytes."""
    content = bytes(held)
    if content.isascii() and not _UNTIDY.search(content) and not _UNROUND.search(content):
        return content.decode()
    return canonical_json(parse_json(content), Profile.KAORI)


# The members of bodies that rows are made of. The bodies themselves were judged when they were recorded.


class _Signal(Struct):
    signal_id: str
    kind: str
    agent_id: str
    occurred_at: Instant


class _Signalling(Struct):
    signal: Raw = Raw(b"null")


class _Policy(_Signalling):
    policy_id: str = ""
    policy_hash: str = ""
    document: str = ""
    registered_by: str = ""


_SIGNAL = msgspec.json.Decoder(_Signal)


def signal_rows(entry: Entry, body: Any) -> Iterator[LoggedSignal]:  # noqa: ANN401 - any body with a `signal`
    """The row of the signal that an entry is; none where it is no signal."""
    if bytes(body.signal) == b"null":
        return
    signal = _SIGNAL.decode(body.signal)
    yield LoggedSignal(
        sequence_number=entry.sequence_number,
        signal_id=signal.signal_id,
        kind=signal.kind,
        agent_id=signal.agent_id,
        occurred_at=signal.occurred_at,
        text=kaori_text(body.signal),
    )


def _policy_rows(entry: Entry, body: _Policy) -> Iterable[Struct]:
    policy = RegisteredPolicy(
        policy_id=body.policy_id,
        policy_hash=body.policy_hash,
        document=body.document,
        registered_at=entry.timestamp,
        registered_by=body.registered_by,
        sequence_number=entry.sequence_number,
    )
    return (policy, *signal_rows(entry, body))


FACTS: tuple[Fact, ...] = (
    Fact(EntryKind.TRUST_SIGNAL, _Signalling, signal_rows, into=(LoggedSignal,)),
    Fact(EntryKind.TRUST_POLICY, _Policy, _policy_rows, into=(RegisteredPolicy, LoggedSignal)),
)
TABLES = (
    Table(
        "trust_signal",
        Projected(LoggedSignal),
        keys=("signal_id", "agent_id"),
        taken="the signal `{signal_id}`, or another of entry {sequence_number},",
    ),
    Table(
        "trust_policy",
        Projected(RegisteredPolicy),
        keys=("policy_id", "policy_hash"),
        taken="the policy `{policy_id}`, or another of entry {sequence_number},",
    ),
    Table(
        "trust_mark",
        Transient(
            "nothing: a mark is signed by the node over its tenant, policy, text and the hash of the entry it reaches"
            " to; one that does not verify is not used, and an older or a missing one only costs time",
            row=FoldMark,
        ),
    ),
)
