"""What is asked about principals costs what is asked for, however many others there are."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.claims.policy import ApprovalNeed
from assay.flows.claims.claims_facts import count_approvers
from assay.flows.identity.api_keys import ListedApiKey, ListKeys, keys
from assay.kernel.ids import PrincipalId
from tests.acting import acting, issue_api_key, revoke_api_key
from tests.flows._people import ADMIN, TENANT, Desk, opened_desk
from tests.flows._questions import questions_of, rows_of


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with opened_desk(tmp_path) as one:
        one.add("user:amira", roles=("ops_team",))
        yield one


def test_approvers_are_counted_without_reading_everybody(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each dangerous bundle is counted for, and a tenant may have thousands of agents."""
    needs = [ApprovalNeed(role="ops_team", people=1), ApprovalNeed(role="user:bo", people=1)]

    def count() -> dict[str, int]:
        return desk.read(lambda unit: count_approvers(unit, TENANT, needs, at=desk.at(minutes=1)))

    # Entries are read once and kept.
    count()
    few = rows_of(monkeypatch, count)
    for number in range(5):
        desk.add(f"user:n{number}", roles=("auditor",))
    assert rows_of(monkeypatch, count) == few
    desk.add("user:bo", roles=("auditor",))
    assert count() == {"ops_team": 1, "user:bo": 1}


def test_a_longer_list_of_keys_asks_the_database_no_more_questions(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def issue(name: str) -> None:
        desk.add(name, roles=())
        issue_api_key(desk.tools, TENANT, PrincipalId(name), by=ADMIN, at=desk.start)
        _, lost = issue_api_key(desk.tools, TENANT, PrincipalId(name), by=ADMIN, at=desk.start)
        revoke_api_key(desk.tools, TENANT, lost.prefix, reason="lost", by=ADMIN, at=desk.at(minutes=1))

    def questions(of: PrincipalId | None) -> int:
        # Entries are read once and kept.
        _list(desk, of)
        return questions_of(monkeypatch, lambda: _list(desk, of))

    issue("user:bo")
    one, own = questions(None), questions(PrincipalId("user:bo"))
    for number in range(4):
        issue(f"user:n{number}")
    assert (questions(None), questions(PrincipalId("user:bo"))) == (one, own)
    listed = _list(desk, None)
    assert sorted(key.live for key in listed) == [False] * 5 + [True] * 5
    assert _list(desk, PrincipalId("user:nobody")) == ()


def _list(desk: Desk, of: PrincipalId | None) -> tuple[ListedApiKey, ...]:
    return keys(desk.tools, acting(TENANT, ADMIN, at=desk.at(minutes=2)), ListKeys(principal_id=of)).items
