"""People and keys from Python: shown once, scoped, rotated with an overlap, ended, and erased."""

import pytest

from assay.flows.errors.identity import NotSignedInError
from assay.kernel.errors import Error
from assay.node.facade import Node
from assay.review.errors import ReviewError
from tests.node._home import PASSWORD
from tests.raising import raises


def test_a_key_is_scoped_rotated_with_an_overlap_and_revoked(node: Node) -> None:
    """During the overlap both prove the same principal with the same scopes; what is revoked proves nobody."""
    node.add_principal("ai:scout", kind="agent", roles=("operator",), action_tier=2)
    first = str(node.issue_key("ai:scout", scopes=["log:write"]).api_key)
    prefix = first.partition(".")[0]
    second = str(node.rotate_key(prefix, overlap_seconds=3600).api_key)
    listed = list(node.keys(principal_id="ai:scout"))
    assert [(one.scopes, one.live) for one in listed] == [(("log:write",), True)] * 2
    assert all(secret not in str(listed) for secret in (first.partition(".")[2], second.partition(".")[2]))
    for key in (first, second):
        assert node.acting(key).append({"said": "hello"}).sequence_number
    node.revoke_key(prefix, reason="lost")
    with pytest.raises(NotSignedInError):
        node.acting(first).append({"said": "hello"})
    assert node.acting(second).append({"said": "again"}).sequence_number


def test_who_is_disabled_or_logged_out_does_nothing_more(node: Node) -> None:
    node.add_principal("user:temp", kind="person", password=PASSWORD, name="T. Emp", roles=("operator",))
    node.set_password("user:temp", password=PASSWORD + " two")
    token = str(node.log_in("user:temp", password=PASSWORD + " two").session_token)
    node.acting(token).append({"said": "hello"})
    node.acting(token).log_out()
    with pytest.raises(NotSignedInError):
        node.acting(token).append({"said": "hello"})
    node.amend_principal("user:temp", roles=("auditor",))
    assert not node.disable_principal("user:temp").is_active(node.tools.clock.now())
    with pytest.raises(Error):
        str(node.log_in("user:temp", password=PASSWORD + " two").session_token)
    node.erase_principal("user:temp", reason="asked to")
    shown = node.principal("user:temp")
    assert (shown.active, len(shown.history), "T. Emp" in str(shown)) == (False, 3, False)
    assert "user:temp" in {one.id for one in node.principals()}
    assert node.audit(full=True).holds


@pytest.mark.clause("forja", "FRJ-015")
def test_a_tier_is_asked_for_by_one_person_and_authorised_by_another(node: Node) -> None:
    for name in ("user:first", "user:second"):
        node.add_principal(name, kind="person", password=PASSWORD, roles=("admin",))
    first, second = (str(node.log_in(name, password=PASSWORD).session_token) for name in ("user:first", "user:second"))
    node.add_principal("ai:clerk", kind="agent")
    asked = node.acting(first).request_tier("ai:clerk", 2, reason="it has to write")
    with raises(ReviewError.own_request):
        node.acting(first).answer_ticket(asked.id, "authorise", seen=asked.shown_hash, reason="mine")
    assert node.principal("ai:clerk").principal.action_tier == 0
    node.acting(second).answer_ticket(asked.id, "authorise", seen=asked.shown_hash, reason="it does")
    assert node.principal("ai:clerk").principal.action_tier == 2


def test_what_can_be_erased_is_erased_and_its_entry_stays(node: Node) -> None:
    receipt = node.append({"who": "Ann", "what": "left"}, personal=["/who"])
    node.erase(receipt.sequence_number, reason="asked to")
    entry = node.entry(receipt.sequence_number)
    assert entry.entry_hash == receipt.entry_hash
    assert node.audit(full=True).holds
