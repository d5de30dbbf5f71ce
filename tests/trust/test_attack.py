"""Attacks through the production compiler: what they achieve is counted, repeats exactly, and is what lint warns of."""

from functools import cache
from xml.etree import ElementTree as ET

from assay.trust.attack import Attack, AttackKind, AttackReport, AttackRequest, simulate_attacks
from assay.trust.errors import TrustError
from assay.trust.lint import LintCode, lint_policy
from assay.trust.parse_policy import parse_policy
from assay.trust.plot_attacks import render_attacks
from assay.trust.policy import TrustPolicy
from assay.trust.simulated_contract import simulated_contract
from tests.raising import raises
from tests.trust.signals import policy_text
from tests.truth.compiling import flood

_SMALL = AttackRequest(quiet=24, attacked=10, after=6)


@cache
def _policy(**changes: str) -> TrustPolicy:
    text = policy_text("flow_v2")
    for name, value in changes.items():
        old = next(line for line in text.splitlines() if line.strip().startswith(f"{name}:"))
        text = text.replace(old, f"{old.partition(name)[0]}{name}: {value}")
    return parse_policy(text, parents={"flow_v1": policy_text()})


@cache
def _report() -> AttackReport:
    return simulate_attacks(simulated_contract(), _policy(), _SMALL)


def _of(kind: AttackKind) -> Attack:
    return next(one for one in _report().attacks if one.kind is kind)


def test_every_kind_is_tried_and_hardly_any_lie_is_believed() -> None:
    assert [one.kind for one in _report().attacks] == list(AttackKind)
    assert sum(one.lies for one in _report().attacks) >= 70
    assert sum(one.believed for one in _report().attacks) <= 10
    assert sum(one.verified for one in _report().attacks) <= 5


def test_what_is_counted_fits_together() -> None:
    for one in _report().attacks:
        assert one.verified <= one.believed <= one.lies == len(one.course)
        assert one.wrong <= one.keys == 40
        assert one.harmed <= _SMALL.honest


def test_a_bought_expert_alone_convinces_nobody() -> None:
    assert _of(AttackKind.BRIBED_EXPERT).believed == 0


def test_the_same_request_gives_the_same_report() -> None:
    again = simulate_attacks(simulated_contract(), _policy(), AttackRequest(quiet=24, attacked=10, after=6))
    assert again == _report()


def test_a_contract_of_several_fields_can_be_attacked() -> None:
    report = simulate_attacks(
        flood(name="flood_v2"),
        _policy(),
        AttackRequest(quiet=6, attacked=3, after=3, kinds=(AttackKind.SYBILS, AttackKind.COPIERS)),
    )
    assert max(one.believed for one in report.attacks) <= 1


def test_where_attackers_are_the_majority_the_report_says_so() -> None:
    crowd = AttackRequest(honest=4, attackers=12, quiet=4, attacked=6, after=2, kinds=(AttackKind.SYBILS,))
    (attack,) = simulate_attacks(simulated_contract(), _policy(), crowd).attacks
    assert attack.believed > 0
    assert attack.confidence_in_lies > 0


def test_nothing_to_simulate_is_refused() -> None:
    with raises(TrustError.simulation):
        simulate_attacks(simulated_contract(), _policy(), AttackRequest(kinds=()))


def test_lint_counts_lies_by_the_attacks_where_competence_weighs() -> None:
    codes = {finding.code for finding in lint_policy(_policy(), rounds=20, runs=1).findings}
    assert LintCode.LIES_BELIEVED not in codes
    # Who learns nothing from anybody's errors believes whoever comes in numbers.
    weak = _policy(by_reporters="0", shared_errors="64")
    findings = {finding.code: finding.message for finding in lint_policy(weak, rounds=20, runs=1).findings}
    assert "sybils" in findings[LintCode.LIES_BELIEVED]


def test_the_picture_of_attacks_has_a_bar_for_each_kind() -> None:
    drawn = render_attacks(_report())
    root = ET.fromstring(drawn)  # noqa: S314  our own text
    assert len(root.findall("{*}rect")) == 3 * len(AttackKind)
    assert "bribed expert" in drawn
