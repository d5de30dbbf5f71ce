"""An outcome is read strictly, known by its key or its content, and counts once for each rule."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.delivery._read import read_object
from assay.delivery.errors import DeliveryError, OutcomeConflictError
from assay.delivery.level import Level
from assay.delivery.outcome import (
    Outcome,
    ReporterGrant,
    _find_plain,
    parse_outcome,
    render_phala,
    verify_reporter,
    verify_same,
)
from assay.delivery.rule import RuleId
from assay.kernel.ids import PrincipalId
from tests.delivery.answers import RULE
from tests.delivery.signals import SENDER, make_signal, phala
from tests.identity.people import NOON, later
from tests.raising import raises

_VECTORS: dict[str, Any] = json.loads((Path(__file__).parents[1] / "vectors" / "delivery" / "phala.json").read_text())


@pytest.mark.clause("pramana", "7.4.1")
def test_the_example_of_the_text_is_read() -> None:
    signal = make_signal()
    assert (signal.rule_ids, signal.outcome, signal.authenticity_level) == ((RULE,), Outcome.FAILURE, Level.PARTIAL)
    assert (signal.strands_available, signal.strand_missing) == (("capability", "knowledge"), ("proof",))
    assert (signal.query_context, signal.session_id) == ("charter party clause, English law", None)


def _changed(case: dict[str, Any]) -> str:
    told = _VECTORS["example"] | case.get("change", {})
    return json.dumps({name: value for name, value in told.items() if name not in case.get("without", ())})


def test_the_vectors_and_the_tests_speak_of_one_example() -> None:
    assert _VECTORS["example"] == phala()


@pytest.mark.clause("pramana", "7.4.1")
@pytest.mark.parametrize("case", _VECTORS["accepted"], ids=lambda case: case["name"])
def test_what_the_text_allows_is_read(case: dict[str, Any]) -> None:
    assert list(parse_outcome(_changed(case), sender=SENDER, at=NOON).rule_ids) == case["rules"]


@pytest.mark.clause("pramana", "7.4.1")
@pytest.mark.parametrize("case", _VECTORS["refused"], ids=lambda case: case["name"])
def test_what_the_text_does_not_allow_is_refused_in_one_line(case: dict[str, Any]) -> None:
    with raises(DeliveryError.outcome) as refusal:
        parse_outcome(_changed(case), sender=SENDER, at=NOON)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "changes",
    [
        {"strands_available": [""]},
        {"strands_available": ["s"] * 40},
        {"rule_id": ""},
        {"rule_ids": [f"R-{number}" for number in range(300)]},
        {"applied_by": " "},
        {"session_id": ""},
        {"session_id": "x" * 201},
        {"query_context": "x" * 4001},
        {"timestamp": "yesterday"},
        {"outcome": None},
        {"applied_by": None},
    ],
    ids=lambda one: next(iter(one)),
)
def test_what_is_empty_or_too_long_is_refused(changes: dict[str, Any]) -> None:
    with raises(DeliveryError.outcome):
        make_signal(**changes)


@pytest.mark.parametrize("content", [b"", b"[]", b'{"a":1,"a":2}', b"\xff", b'{"outcome": NaN}'])
def test_what_is_no_object_is_refused(content: bytes) -> None:
    with raises(DeliveryError.outcome):
        parse_outcome(content, sender=SENDER, at=NOON)


@pytest.mark.parametrize(
    "content",
    [
        '{"signal_type":"phala","outcome":"failure","outcome":"success"}',
        '{"signal_type":"phala","outcome":"failure", "outcome" :"success"}',
        '{"signal_type":"phala","outcome":"failure", "outc\\u006fme":"success"}',
        '{"signal_type":"phala","outcome":["success"],"strands_available":{"outcome":"failure","outcome":"success"}}',
        '{"signal_type":"phala","applied_by":"a\tb"}',
        '{"signal_type":"phala"} {}',
        '\ufeff{"signal_type":"phala"}',
    ],
)
def test_what_two_readers_could_read_differently_is_refused(content: str) -> None:
    """Also where the rest of the signal is as it should be: a name that comes twice has no value."""
    rest = json.dumps({name: value for name, value in phala().items() if name not in ("signal_type", "outcome")})
    for whole in (content, content.replace("}", f", {rest[1:]}", 1)):
        with raises(DeliveryError.outcome):
            parse_outcome(whole.encode(), sender=SENDER, at=NOON)


_MEMBERS = st.dictionaries(
    st.sampled_from(["signal_type", "rule_id", "query_context", "strands_available", 'a":', "b c", ""]),
    st.one_of(st.text(max_size=8), st.booleans(), st.none(), st.lists(st.text(max_size=4), max_size=3)),
)


@given(_MEMBERS, st.sampled_from([(", ", ": "), (",", ":"), (" , ", " : ")]))
def test_what_is_read_quickly_is_what_is_read_strictly(members: dict[str, Any], separators: tuple[str, str]) -> None:
    """Or it is not read quickly; whatever the spelling, a text that has a short way says the same on the long one."""
    for is_ascii in (True, False):
        text = json.dumps(members, separators=separators, ensure_ascii=is_ascii)
        for content in (text, text.encode()):
            assert _find_plain(content) in (None, read_object(content, DeliveryError.outcome))


def test_a_signal_as_most_senders_write_it_is_read_quickly() -> None:
    assert _find_plain(json.dumps(phala())) == _find_plain(json.dumps(phala(), separators=(",", ":"))) == phala()


@given(st.text(alphabet='{}[]":, \\\tab1tru', max_size=40))
def test_what_cannot_be_read_strictly_is_not_read_quickly(content: str) -> None:
    found = _find_plain(f"{{{content}}}")
    if found is not None and not any(isinstance(value, dict | list) for value in found.values()):
        assert found == read_object(f"{{{content}}}", DeliveryError.outcome)


@pytest.mark.parametrize("name", ["type", "event"])
def test_the_other_names_of_the_type_are_read(name: str) -> None:
    right: dict[str, Any] = {"signal_type": ..., name: "phala"}
    assert make_signal(**right).signal_id == make_signal().signal_id
    wrong: dict[str, Any] = {name: "sense"}
    with raises(DeliveryError.outcome):
        make_signal(**wrong)


@pytest.mark.clause("pramana", "7.4.1")
def test_each_of_several_rules_is_named_once() -> None:
    assert make_signal(rule_ids=["INF-LL-001", "MAR-YK-007", "INF-LL-001"]).rule_ids == ("INF-LL-001", "MAR-YK-007")
    assert make_signal(rule_id=..., rule_ids=["A-1", "B-2"]).rule_ids == ("A-1", "B-2")


def test_whether_a_root_cause_opened_is_not_the_senders_to_say() -> None:
    """The same signal, whatever it says there, or if it says nothing."""
    ids = {make_signal(rca_triggered=value).signal_id for value in (True, False, ...)}
    assert len(ids) == 1


def test_a_signal_sent_twice_is_one_signal() -> None:
    assert make_signal().signal_id == make_signal(at=later(hours=1)).signal_id
    assert make_signal(key="k").signal_id == make_signal(key="k").signal_id
    assert make_signal(key="k").signal_id != make_signal(key="l").signal_id
    assert make_signal(session_id="s").signal_id != make_signal().signal_id
    other = parse_outcome(json.dumps(phala()), sender=PrincipalId("service:other"), at=NOON, idempotency_key="k")
    assert other.signal_id != make_signal(key="k").signal_id
    unkeyed = parse_outcome(json.dumps(phala()), sender=PrincipalId("service:other"), at=NOON)
    assert unkeyed.content_hash == make_signal().content_hash
    assert unkeyed.signal_id != make_signal().signal_id


def test_a_key_for_another_signal_is_refused() -> None:
    known = make_signal(key="k")
    verify_same(known, make_signal(key="k", at=later(hours=1)))
    with pytest.raises(OutcomeConflictError):
        verify_same(known, make_signal(key="k", outcome="success"))
    with raises(DeliveryError.outcome):
        make_signal(key="")


@pytest.mark.clause("pramana", "14.2")
@pytest.mark.parametrize(
    ("rules", "allowed"),
    [
        (("MAR-YK-007",), True),
        (("MAR-*",), True),
        (("*",), True),
        (("MAR-YK-00",), False),
        (("INF-*",), False),
        ((), False),
    ],
)
def test_a_sender_reports_only_for_the_rules_it_was_given(rules: tuple[str, ...], *, allowed: bool) -> None:
    grant = ReporterGrant(principal_id=SENDER, rules=rules)
    if allowed:
        verify_reporter(make_signal(), [grant])
        return
    with raises(DeliveryError.outcome_source):
        verify_reporter(make_signal(), [grant])


@pytest.mark.clause("pramana", "14.2")
def test_one_foreign_rule_refuses_the_whole_and_others_grants_do_not_help() -> None:
    signal = make_signal(rule_ids=["MAR-YK-007", "INF-LL-001"])
    own = ReporterGrant(principal_id=SENDER, rules=("MAR-*",))
    others = ReporterGrant(principal_id=PrincipalId("service:other"), rules=("*",))
    with raises(DeliveryError.outcome_source, match="INF-LL-001"):
        verify_reporter(signal, [own, others])


@pytest.mark.clause("pramana", "7.4.1")
@pytest.mark.clause("pramana", "7.4.3")
@pytest.mark.clause("pramana", "11.7")
@pytest.mark.clause("pramana", "12.4")
def test_a_recorded_signal_is_written_with_the_members_of_the_text() -> None:
    signal = make_signal(session_id="s-1", rule_ids=["MAR-YK-007", "INF-LL-001"])
    told = render_phala(signal, RULE, rca_triggered=False, two_wrong=True, batch_id="batch_1")
    assert (told["rca_triggered"], told["two_wrong_flag"], told["batch_id"]) == (False, True, "batch_1")
    assert (told["session_id"], told["rule_ids"]) == ("s-1", ["MAR-YK-007", "INF-LL-001"])
    plain = render_phala(make_signal(), RULE, rca_triggered=True)
    assert plain == phala()


@given(st.sampled_from(list(Outcome)), st.sampled_from(list(Level)), st.booleans())
def test_what_is_written_is_read_back_as_the_same(outcome: Outcome, level: Level, wrong: bool) -> None:  # noqa: FBT001  drawn
    signal = make_signal(outcome=str(outcome), authenticity_level=str(level), two_wrong_flag=wrong, batch_id="b")
    told = render_phala(signal, RuleId("MAR-YK-007"), rca_triggered=True, two_wrong=wrong)
    again = parse_outcome(json.dumps(told), sender=SENDER, at=NOON)
    assert (again.outcome, again.authenticity_level, again.two_wrong_claimed) == (outcome, level, wrong)


def test_a_signal_without_a_session_counts_its_sender_as_one() -> None:
    assert make_signal().session == "sender:service:bridge"
    assert make_signal(session_id="sender:service:bridge").session == "session:sender:service:bridge"
