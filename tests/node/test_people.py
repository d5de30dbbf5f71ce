"""People and keys from Python: shown once, scoped, rotated with an overlap, ended, and erased."""

from datetime import timedelta

import pytest

from assay.flows.errors.identity import NotSignedInError
from assay.identity.principal import PrincipalChange
from assay.kernel.errors import Error
from assay.node.facade import Node
from assay.review.errors import OwnRequestError
from tests.node._home import PASSWORD


def test_a_key_is_scoped_rotated_with_an_overlap_and_revoked(node: Node) -> None:
    """During the overlap both prove the same principal with the same scopes; what is revoked proves nobody."""
    node.add_principal("ai:scout", kind="agent")
    first = node.issue_key("ai:scout", scopes=["truth:read"])
    prefix = first.partition(".")[0]
    second = node.rotate_key(prefix, overlap=timedelta(hours=1))
    listed = node.keys("ai:scout")
    assert [(one.scopes, one.live) for one in listed] == [(("truth:read",), True)] * 2
    assert all(secret not in str(listed) for secret in (first.partition(".")[2], second.partition(".")[2]))
    for key in (first, second):
        assert node.append({"said": "hello"}, credential=key).sequence_number
    node.revoke_key(prefix, reason="lost")
    with pytest.raises(NotSignedInError):
        node.append({"said": "hello"}, credential=first)
    assert node.append({"said": "again"}, credential=second).sequence_number


def test_who_is_disabled_or_logged_out_does_nothing_more(node: Node) -> None:
    node.add_principal("user:temp", password=PASSWORD, name="T. Emp")
    node.set_password("user:temp", PASSWORD + " two")
    token = node.log_in("user:temp", PASSWORD + " two")
    node.append({"said": "hello"}, credential=token)
    node.log_out(credential=token)
    with pytest.raises(NotSignedInError):
        node.append({"said": "hello"}, credential=token)
    node.amend_principal("user:temp", PrincipalChange(roles=("auditor",)))
    assert not node.disable_principal("user:temp").is_active(node.tools.clock.now())
    with pytest.raises(Error):
        node.log_in("user:temp", PASSWORD + " two")
    node.erase_principal("user:temp", reason="asked to")
    shown = node.principal("user:temp")
    assert (shown.active, len(shown.history), "T. Emp" in str(shown)) == (False, 3, False)
    assert "user:temp" in {one.id for one in node.principals()}
    assert node.audit(full=True).holds


@pytest.mark.clause("forja", "FRJ-015")
def test_a_tier_is_asked_for_by_one_person_and_authorised_by_another(node: Node) -> None:
    for name in ("user:first", "user:second"):
        node.add_principal(name, password=PASSWORD, granted=PrincipalChange(roles=("admin",)))
    first, second = (node.log_in(name, PASSWORD) for name in ("user:first", "user:second"))
    node.add_principal("ai:clerk", kind="agent")
    asked = node.request_tier("ai:clerk", 2, reason="it has to write", credential=first)
    with pytest.raises(OwnRequestError):
        node.answer_ticket(asked.id, "authorise", seen=asked.shown_hash, reason="mine", credential=first)
    assert node.principal("ai:clerk").principal.action_tier == 0
    node.answer_ticket(asked.id, "authorise", seen=asked.shown_hash, reason="it does", credential=second)
    assert node.principal("ai:clerk").principal.action_tier == 2


def test_what_can_be_erased_is_erased_and_its_entry_stays(node: Node) -> None:
    receipt = node.append({"who": "Ann", "what": "left"}, personal=["/who"])
    node.erase(receipt.sequence_number, reason="asked to")
    (entry,) = node.entries(first=receipt.sequence_number, limit=1)
    assert entry.entry_hash == receipt.entry_hash
    assert node.audit(full=True).holds
