"""Policies, signals and agents as text for people."""

import msgspec

from assay.flows.trust.check_trust import TrustReport
from assay.flows.trust.policies import PolicyItem
from assay.flows.trust.record_signal import AdmittedAgents, Signalled
from assay.flows.trust.standings import AgentItem
from assay.kernel.instant import render_instant
from assay.operations.kinds import Column
from assay.operations.shown.text import columns
from assay.operations.shown.truth import recount_text, recount_warning
from assay.trust.counterfactual import AgentDifference, Counterfactual, Reading

AGENT_COLUMNS: tuple[Column, ...] = (
    ("AGENT", lambda one: str(one.agent_id)),
    ("STANDING", lambda one: f"{one.standing:g}"),
    ("CLASS", lambda one: str(one.standing_class)),
    ("TRUST", lambda one: str(one.trust_score)),
    ("HEARD", lambda one: _heard(is_admissible=one.is_admissible)),
    ("ROLES", lambda one: ",".join(one.roles)),
)
POLICY_COLUMNS: tuple[Column, ...] = (
    ("POLICY", lambda one: str(one.policy_id)),
    ("HASH", lambda one: str(one.policy_hash)),
    ("REGISTERED", lambda one: render_instant(one.registered_at)),
    ("BY", lambda one: str(one.registered_by)),
    ("", lambda one: "in force" if one.is_in_force else ""),
)
SIGNAL_COLUMNS: tuple[Column, ...] = (
    ("ENTRY", lambda one: str(one.sequence_number)),
    ("KIND", lambda one: str(one.signal["kind"])),
    ("AGENT", lambda one: str(one.signal["agent_id"])),
    ("OCCURRED", lambda one: str(one.signal["occurred_at"])),
    ("SIGNAL", lambda one: str(one.signal["signal_id"])),
)


def registered_text(one: PolicyItem) -> str:
    words = "in force" if one.is_in_force else "was registered before"
    return f"{words}: {one.policy_id} {one.policy_hash}, entry {one.sequence_number}"


def policy_text(one: PolicyItem) -> str:
    """When it was registered, by whom, its hash, and the whole document."""
    facts = [
        ("policy", one.policy_id),
        ("hash", one.policy_hash),
        ("registered", f"{render_instant(one.registered_at)} by {one.registered_by}, entry {one.sequence_number}"),
        ("in force", "yes" if one.is_in_force else "no"),
    ]
    return columns(list(facts)) + "\n" + msgspec.json.format(one.document, indent=2)


def counterfactual_text(found: Counterfactual) -> str:
    rows = [_difference(one) for one in found.differences]
    table = columns([("AGENT", "NOW", "THEN", "CHANGE OF TRUST"), *rows])
    return f"{table}\n{len(rows)} would change, {found.unchanged} would not, {found.signals} signals"


def agent_text(view: AgentItem) -> str:
    heard = _heard(is_admissible=view.is_admissible)
    facts = [
        ("agent", view.agent_id),
        ("standing", f"{view.standing:g}, {view.standing_class}"),
        ("trust", f"{view.trust_score}, {heard}"),
        ("roles", ", ".join(view.roles) or "-"),
        ("endorsed by", ", ".join(view.endorsed_by) or "-"),
        ("policy", view.policy_id),
        ("at", render_instant(view.at)),
    ]
    return columns(list(facts))


def admitted_text(done: AdmittedAgents) -> str:
    return "\n".join(map(signalled_text, done.signals))


def signalled_text(done: Signalled) -> str:
    """Where a signal is logged, and for a dispute whether it counts."""
    words = "logged" if done.is_new else "was logged before"
    lines = [f"{words}: {done.signal_id}, entry {done.sequence_number}"]
    dispute = done.dispute
    if dispute is not None and not dispute.counts:
        lines.append(f"does not count: {dispute.refusal}")
    elif dispute is not None:
        lines.append(f"a round is open, entry {dispute.window_number}\n{recount_text(dispute.version, dispute.state)}")
    return "\n".join(lines)


def signalled_notes(_given: object, done: Signalled) -> str | None:
    if done.dispute is None or not done.dispute.counts:
        return None
    return recount_warning(done.dispute, "dispute", "dispute it")


def does_not_count(done: Signalled) -> bool:
    """Whether a dispute was recorded that opens no round."""
    return done.dispute is not None and not done.dispute.counts


def trust_check_text(found: TrustReport) -> str:
    lines = [f"{problem.message} [{problem.code}]" for problem in found.problems]
    return "\n".join([*lines, f"{found.signals} signals, {'holds' if found.holds else 'DOES NOT HOLD'}"])


def _difference(one: AgentDifference) -> tuple[str, ...]:
    return one.agent_id, _reading(one.under_policy), _reading(one.under_other), f"{one.change:+f}"


def _reading(one: Reading) -> str:
    heard = _heard(is_admissible=one.admissible)
    return f"{one.standing:f} {one.standing_class} {one.trust_score:f} {heard}"


def _heard(*, is_admissible: bool) -> str:
    return "heard" if is_admissible else "not heard"
