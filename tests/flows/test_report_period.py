"""The audit report: what was decided, on what, by whom; every row proven, and none that its entry does not bear out."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from msgspec.structs import replace

from assay.flows.errors.ledger import LedgerFlowError, NoCheckpointError
from assay.flows.ledger.append_record import append_record
from assay.flows.ledger.check_proof import check_proof
from assay.flows.ledger.check_report import check_report, parse_report, render_report
from assay.flows.ledger.report_period import Growth, PeriodReport, ReportScope, report_period
from assay.flows.ledger.report_row import DECIDING, derive_row
from assay.flows.ledger.sign_checkpoint import sign_checkpoint
from assay.kernel.canonical import canonicalize
from assay.kernel.check_bundle import Finding
from assay.kernel.digest import ZERO_DIGEST
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.key import TrustAnchors, parse_anchors
from tests.contract._kit import refused
from tests.flows._node import TENANT
from tests.flows._verdicts import VerdictDesk, opened_verdicts, rule
from tests.raising import raises


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VerdictDesk]:
    """Two rules, three records of two subjects, one verdict attested; a checkpoint before them, and one after."""
    with opened_verdicts(tmp_path_factory.mktemp("report")) as opened:
        sign_checkpoint(opened.tools, TENANT, at=opened.start)
        opened.judge_by(rule("limit"), rule("grave", "high", metric="nox"), rule("other", subject="pond"))
        opened.decide({"so2": 36, "nox": 1}, name="t-1")
        held = opened.decide({"so2": 30, "nox": 90}, name="t-2")
        opened.decide({"so2": 1}, name="t-3", subject="pond")
        opened.attest(next(one.ticket_id for one in held.verdicts if one.ticket_id is not None))
        append_record(opened.tools, TENANT, {"note": 1}, at=opened.at(minutes=20)).result()
        sign_checkpoint(opened.tools, TENANT, at=opened.at(minutes=21))
        yield opened


def _scope(desk: VerdictDesk, *, hours: float = 1, rule: str | None = None, subject: str | None = None) -> ReportScope:
    since = Instant(desk.start - timedelta(seconds=1))
    return ReportScope(from_at=since, until=desk.at(hours=hours), rule=rule, subject=subject)


def _made(desk: VerdictDesk, scope: ReportScope | None = None) -> PeriodReport:
    return report_period(desk.tools, TENANT, scope or _scope(desk), at=desk.at(minutes=30))


def _anchors(desk: VerdictDesk) -> TrustAnchors:
    return parse_anchors([desk.tools.founder])


def _checked(desk: VerdictDesk, report: PeriodReport) -> Finding:
    return check_report(parse_report(render_report(report)), _anchors(desk))


def test_every_decision_of_the_period_is_told_with_subject_rule_and_whom(desk: VerdictDesk) -> None:
    rows = _made(desk).rows
    verdicts = [(row.kind, row.decision, row.about, row.rules) for row in rows if row.kind.startswith("verdict")]
    assert ("verdict", "FLAG", ("stack", "t-1"), ("limit",)) in verdicts
    assert ("verdict.held", "held", ("stack", "t-2"), ("grave",)) in verdicts
    final = next(row for row in rows if row.kind == "verdict.final")
    assert final.by[0] == "user:rita"
    assert final.by[1].startswith("model sha256:")
    answered = [row.by for row in rows if row.kind == "ticket.answered"]
    assert answered == [("user:rita",)] * 2
    assert {row.kind for row in rows} <= DECIDING


def test_every_row_is_proven_offline_and_the_ledger_is_shown_to_have_grown(desk: VerdictDesk) -> None:
    report = _made(desk)
    assert report.growth is not None
    finding = _checked(desk, report)
    assert finding.holds, finding
    assert check_proof(render_report(report), _anchors(desk), origin=desk.tools.origin_of(TENANT)).holds
    untrusted = check_report(report, TrustAnchors())
    assert {check.code for check in untrusted.checks} == {None, "proof.untrusted_signer"}


def test_a_rule_or_a_subject_narrows_the_report_and_the_rest_is_counted(desk: VerdictDesk) -> None:
    whole = _made(desk)
    by_rule = _made(desk, _scope(desk, rule="grave"))
    assert {row.rules for row in by_rule.rows} == {("grave",)}
    by_subject = _made(desk, _scope(desk, subject="pond"))
    assert [row.about for row in by_subject.rows] == [("pond", "t-3")]
    assert whole.entries == by_rule.entries == by_subject.entries
    assert whole.entries["note"] == 1
    assert _checked(desk, by_rule).holds


def test_the_end_of_a_period_is_not_in_it(desk: VerdictDesk) -> None:
    at = desk.at(minutes=20)
    before = replace(_scope(desk), until=at, every_kind=True)
    after = replace(before, from_at=at, until=desk.at(hours=1))
    assert "note" not in [row.kind for row in _made(desk, before).rows]
    assert [row.kind for row in _made(desk, after).rows] == ["note"]


def test_an_empty_period_is_an_honest_report_without_rows(desk: VerdictDesk) -> None:
    later = ReportScope(from_at=desk.at(hours=2), until=desk.at(hours=3))
    report = _made(desk, later)
    assert (report.rows, report.entries, report.growth) == ((), {}, None)
    assert _checked(desk, report).holds


def test_a_report_that_would_be_too_long_is_refused_and_a_narrower_one_is_made(desk: VerdictDesk) -> None:
    """What counts are the entries that are in it, to the byte; what the filters leave out costs nothing."""
    whole, narrow = _made(desk), _scope(desk, subject="pond")
    size, at = sum(len(row.entry.encode()) for row in whole.rows), desk.at(minutes=30)
    assert report_period(desk.tools, TENANT, _scope(desk), at=at, most_bytes=size) == whole
    with refused("report.size"):
        report_period(desk.tools, TENANT, _scope(desk), at=at, most_bytes=size - 1)
    assert report_period(desk.tools, TENANT, narrow, at=at, most_bytes=size - 1) == _made(desk, narrow)


def test_what_no_checkpoint_covers_is_not_reported(desk: VerdictDesk) -> None:
    other = TenantId("other")
    append_record(desk.tools, other, {"note": 1}, at=desk.start).result()
    with pytest.raises(NoCheckpointError):
        report_period(desk.tools, other, _scope(desk), at=desk.at(minutes=30))


def test_a_period_that_a_checkpoint_covers_is_reported_while_the_ledger_goes_on(desk: VerdictDesk) -> None:
    """Beside a busy server the newest entries are never covered; they are no reason to refuse an older period."""
    report = _made(desk)
    append_record(desk.tools, TENANT, {"note": "after it"}, at=desk.at(minutes=90)).result()
    again = _made(desk)
    assert (again.rows, again.checkpoint) == (report.rows, report.checkpoint)
    assert _checked(desk, again).holds
    with pytest.raises(NoCheckpointError, match="that covers entry"):
        _made(desk, _scope(desk, hours=2))


def _forged(report: PeriodReport, **changes: object) -> PeriodReport:
    first, *rest = report.rows
    return replace(report, rows=(replace(first, **changes), *rest))


def test_a_row_that_says_something_else_than_its_entry_is_found(desk: VerdictDesk) -> None:
    report = _made(desk)
    changes: list[dict[str, object]] = [
        {"decision": "CLEAR"},
        {"by": ("user:eve",)},
        {"about": ()},
        {"reason": "because"},
        {"timestamp": "2020-01-01T00:00:00Z"},
        {"kind": "verdict"},
    ]
    for changed in changes:
        assert _checked(desk, _forged(report, **changed)).code == "proof.report", changed


def test_a_changed_entry_and_a_changed_path_are_found(desk: VerdictDesk) -> None:
    report = _made(desk)
    row = report.rows[0]
    text = row.entry.replace("user:rita", "user:eve").replace(row.decision, "other")
    told = {
        name: getattr(derive_row(text.encode()), name) for name in ("decision", "by", "about", "reason", "entry_hash")
    }
    finding = _checked(desk, _forged(report, entry=text, **told))
    assert finding.code == "merkle.root_mismatch"
    other = (bytes(32), *row.inclusion_path[1:])
    assert _checked(desk, _forged(report, inclusion_path=other)).code == "merkle.root_mismatch"


def test_rows_out_of_order_outside_the_scope_or_of_another_tenant_are_found(desk: VerdictDesk) -> None:
    report = _made(desk)
    assert _checked(desk, replace(report, rows=report.rows[::-1])).code == "proof.report"
    narrow = replace(report, scope=replace(report.scope, rule="limit"))
    assert _checked(desk, narrow).code == "proof.report"
    assert _checked(desk, replace(report, tenant_id=TenantId("other"))).code == "proof.report"
    assert _checked(desk, replace(report, tree_size=1)).code == "proof.report"


def test_an_earlier_checkpoint_that_was_not_signed_or_does_not_lead_here_is_found(desk: VerdictDesk) -> None:
    report = _made(desk)
    assert report.growth is not None
    forged = Growth(checkpoint=report.growth.checkpoint, consistency_path=())
    assert _checked(desk, replace(report, growth=forged)).code == "checkpoint.forks"
    resized = report.growth.checkpoint.replace("\n", "\n1", 1)
    assert not _checked(desk, replace(report, growth=replace(report.growth, checkpoint=resized))).holds


def test_a_file_that_is_no_report_is_refused(desk: VerdictDesk) -> None:
    content = render_report(_made(desk))
    for changed in (b"{}", b"[]", content.replace(b'"rows"', b'"more"'), content.replace(b'  "format"', b'  "form"')):
        with pytest.raises(Error):
            parse_report(changed)
    with raises(LedgerFlowError.proof_report):
        parse_report(b"{}")
    with raises(LedgerFlowError.proof_no_witnesses):
        check_proof(content, _anchors(desk), threshold=1)


def _entry(kind: str, body: dict[str, object], **columns: object) -> bytes:
    return canonicalize(
        {
            "body": body,
            "kind": kind,
            "previous_hash": ZERO_DIGEST,
            "profile": "ski-3.0",
            "schema_version": "3.0.0",
            "sequence_number": 1,
            "tenant_id": "acme",
            "timestamp": "2026-03-01T11:00:00Z",
            **columns,
        }
    )


@pytest.mark.parametrize(
    ("text", "decision", "about", "by"),
    [
        (
            _entry("truth.state", {"state": {"status": "VERIFIED_TRUE", "truthkey": "earth:flood", "claim_type": "f"}}),
            "VERIFIED_TRUE",
            ("earth:flood",),
            (),
        ),
        (
            _entry("ticket.settled", {"choice": "accept", "ticket_id": "tkt_1", "counted": [{"by": ["a", "b"]}]}),
            "accept",
            ("tkt_1",),
            ("a", "b"),
        ),
        (_entry("ticket.settled", {"choice": None, "state": "expired", "ticket_id": "t"}), "expired", ("t",), ()),
        (_entry("erasure", {"erased_by": "user:a", "sequence_number": 4}), "erasure", ("entry 4",), ("user:a",)),
        (_entry("something.new", {"released_by": "user:a", "about": True}), "new", (), ("user:a",)),
    ],
    ids=["state", "settled", "expired", "erasure", "unknown"],
)
def test_each_kind_is_told_from_its_own_fields(
    text: bytes, decision: str, about: tuple[str, ...], by: tuple[str, ...]
) -> None:
    """A kind that nobody described is told by the fields that most entries share."""
    row = derive_row(text)
    assert (row.decision, row.about, row.by) == (decision, about, by)


def test_a_text_too_long_for_a_table_is_cut_and_says_so() -> None:
    row = derive_row(_entry("ticket.answered", {"choice": "x", "reason": "r" * 5000}))
    assert len(row.reason) == 300
    assert row.reason.endswith("…")


def test_a_text_that_is_no_entry_has_no_row() -> None:
    with pytest.raises(Error):
        derive_row(b"{}")
