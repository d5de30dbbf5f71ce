"""A manifest is read strictly: all mistakes at once, each with its JSON pointer."""

from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from assay.kernel.digest import digest_of
from assay.kernel.key import key_id_of
from assay.kernel.signature import InvalidSignatureError
from assay.registry.action import ActionType, RollbackMethod
from assay.registry.bits import ALERT_ACK, BOOK, READ, WRITE
from assay.registry.errors import InvalidManifestError, RegistryError
from assay.registry.manifest import power_of
from assay.registry.open_manifest import check_manifest, open_manifest, sign_manifest, verify_manifest
from assay.registry.permission import DEFAULT_SCHEMAS, make_schema
from assay.registry.tier import Refusal, decide
from tests.raising import raises
from tests.registry.codex import PORTWATCH, codex, make_manifest
from tests.registry.fleet import ask, make_grant

_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
_RAW = _KEY.public_key().public_bytes_raw()


def _pointers(content: bytes | str) -> dict[str, str]:
    return {problem.pointer: problem.code.value for problem in check_manifest(content)}


@pytest.mark.clause("forja", "codex")
def test_the_protocols_own_example_is_a_manifest() -> None:
    manifest = open_manifest(PORTWATCH).manifest
    assert (manifest.service, manifest.port, manifest.domain) == ("portwatch-backend", 4080, "maritime-port")
    assert manifest.can_answer == ("vessel.ukc-status", "vessel.cpa-alert", "berth.availability")
    assert manifest.depends_on == ("mari8x-backend", "ankr-codex")
    assert (manifest.name, manifest.capability_mask) == ("portwatch-backend", READ | ALERT_ACK)


@pytest.mark.clause("forja", "FRJ-005")
def test_an_action_without_a_tier_is_off_and_a_query_reads() -> None:
    """The example declares no tiers: its queries are open to readers, its actions to nobody."""
    power = power_of(open_manifest(PORTWATCH).manifest, active_tier=3)
    grant = make_grant(2**30 - 1, 3)
    assert decide(grant, power, ask("berth.availability")).allowed
    assert decide(grant, power, ask("BERTH_ASSIGN")).refusal is Refusal.UNDECLARED
    assert decide(make_grant(WRITE, 3), power, ask("berth.availability")).refusal is Refusal.BITS_MISSING


def test_actions_have_tiers_bits_and_rollbacks() -> None:
    actions = {action.id: action for action in make_manifest().actions}
    ack = actions["ALERT_ACK"]
    assert (ack.tier, ack.needs, ack.type) == (2, ALERT_ACK | WRITE, ActionType.WRITE)
    assert ack.rollback is not None
    assert ack.rollback.method is RollbackMethod.MANUAL
    assert actions["MOVEMENT_AUTHORITY"].restricted == "a harbour master's decision"
    assert make_manifest().capability_mask == READ | WRITE | ALERT_ACK


_UNDO = {"method": "manual", "description": "by hand"}


@pytest.mark.clause("forja", "trust-bitmask")
@pytest.mark.parametrize(
    ("name", "said", "needs"),
    [
        ("BOOK", {}, BOOK),
        ("BERTH_ASSIGN", {}, WRITE),
        ("BOOK", {"needs": ["WRITE"]}, WRITE),
        ("BOOK", {"needs": []}, 0),
    ],
)
def test_an_action_that_names_no_bits_needs_its_own_or_write(name: str, said: dict[str, Any], needs: int) -> None:
    """An agent without a single bit may not run what merely forgot to say which; to need nothing has to be said."""
    action = {"tier": 2, "rollback": _UNDO, **said}
    power = power_of(make_manifest(can_do=[name], actions={name: action}), active_tier=3)
    assert power.actions[name].needs == needs
    assert decide(make_grant(0, 3), power, ask(name)).allowed is (needs == 0)
    assert decide(make_grant(needs, 3), power, ask(name)).allowed


@pytest.mark.clause("forja", "discovery")
def test_an_action_called_as_a_bit_shows_that_bit_unless_a_mask_is_declared() -> None:
    """`can_do: ["BOOK"]` is found by whoever asks for BOOK, on or off; a mask of the service's own stands as it is."""
    assert make_manifest(can_do=["BOOK"], actions={}).capability_mask == READ | BOOK
    assert make_manifest(can_do=["BOOK"], actions={}, capability_mask=READ).capability_mask == READ


@pytest.mark.clause("forja", "codex")
@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"service": None}, {"/service": "required"}),
        ({"service": "Port Watch"}, {"/service": "form"}),
        ({"service": 7}, {"/service": "type"}),
        ({"port": 0}, {"/port": "range"}),
        ({"port": True}, {"/port": "type"}),
        ({"port": "4080"}, {"/port": "type"}),
        ({"port": 80.5}, {"/port": "type"}),
        ({"colour": "red", "a/b~c": 1}, {"/a~1b~0c": "unknown_field", "/colour": "unknown_field"}),
        ({"can_answer": "x", "actions": {}}, {"/can_answer": "type"}),
        ({"emits": ["a", "a", 3, "b c"]}, {"/emits/1": "duplicate", "/emits/2": "type", "/emits/3": "form"}),
        ({"can_do": ["x.y"], "can_answer": ["x.y"], "actions": {}}, {"/can_do/0": "inconsistent"}),
        ({"forja_state": "state"}, {"/forja_state": "form"}),
        ({"base_url": "ftp://x"}, {"/base_url": "form"}),
        ({"description": "  "}, {"/description": "form"}),
        ({"permission_schema": "mine-v9"}, {"/permission_schema": "choice"}),
        ({"capability_mask": 1 << 31}, {"/capability_mask": "form"}),
        ({"capability_mask": ["READ", "FLY"]}, {"/capability_mask": "form"}),
        ({"actions": {"FLY": {}}}, {"/actions/FLY": "inconsistent"}),
        ({"actions": {"ALERT_ACK": 3}}, {"/actions/ALERT_ACK": "type"}),
        ({"actions": {"ALERT_ACK": {"tier": 4}}}, {"/actions/ALERT_ACK/tier": "range"}),
        ({"actions": {"ALERT_ACK": {"tier": 2}}}, {"/actions/ALERT_ACK/rollback": "required"}),
        ({"actions": {"ALERT_ACK": {"type": "fly"}}}, {"/actions/ALERT_ACK/type": "choice"}),
        ({"actions": {"ALERT_ACK": {"needs": 1.5}}}, {"/actions/ALERT_ACK/needs": "form"}),
        ({"actions": {"ALERT_ACK": {"nedes": 1}}}, {"/actions/ALERT_ACK/nedes": "unknown_field"}),
        (
            {"actions": {"ALERT_ACK": {"tier": 1, "needs": 4}}, "capability_mask": 1},
            {"/actions/ALERT_ACK/needs": "inconsistent"},
        ),
        (
            {"actions": {"ALERT_ACK": {"tier": 2, "rollback": {**_UNDO, "action_id": "X"}}}},
            {"/actions/ALERT_ACK/rollback": "inconsistent"},
        ),
        (
            {"actions": {"ALERT_ACK": {"rollback": {"method": "magic"}}}},
            {
                "/actions/ALERT_ACK/rollback/method": "choice",
                "/actions/ALERT_ACK/rollback/description": "required",
            },
        ),
        ({"knowledge": {"rule_count": 1, "certified_count": 2}}, {"/knowledge/certified_count": "inconsistent"}),
        ({"knowledge": {"rule_count": -1}}, {"/knowledge/rule_count": "range"}),
        ({"knowledge": {"last_updated": "now"}}, {"/knowledge/last_updated": "form"}),
        ({"can_do": ["b c"], "actions": {}}, {"/can_do/0": "form"}),
        ({"proof_config": {"coverage_pct": 101}}, {"/proof_config/coverage_pct": "range"}),
        ({"signature": {"algorithm": "rsa"}}, {
            "/signature/algorithm": "choice", "/signature/key_id": "required", "/signature/value_hex": "required",
        }),
    ],
)  # fmt: skip
def test_every_mistake_has_its_pointer(changes: dict[str, Any], expected: dict[str, str]) -> None:
    assert _pointers(codex(**changes)) == expected


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(InvalidManifestError) as caught:
        open_manifest(codex(service=None, port=0, colour="red"))
    assert [problem.pointer for problem in caught.value.problems] == ["/service", "/colour", "/port"]
    assert str(caught.value).startswith("/service: expected `service`, got nothing; ")
    assert caught.value.code == "registry.manifest"


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b'{"a":1,"a":2}', b"\xff", '{"e\u0301":1,"\u00e9":2}'.encode()])
def test_what_is_no_strict_json_object_is_refused(content: bytes) -> None:
    """A key twice would mean two things to two readers."""
    problems = check_manifest(content)
    assert problems
    assert problems[-1].pointer == ""


def test_optional_members_are_kept() -> None:
    manifest = make_manifest(
        knowledge={"rule_count": 9, "certified_count": 3, "last_updated": "2026-01-07T12:00:00Z"},
        proof_config={"coverage_pct": 95.5, "threshold_pct": 80},
        owner="harbour office",
        base_url="https://port.example",
    )
    assert (manifest.knowledge.rule_count, manifest.proof_threshold) == (9, 80.0)
    assert (manifest.owner, manifest.base_url) == ("harbour office", "https://port.example")


def test_a_schema_of_ones_own_names_the_needs() -> None:
    bank = make_schema("bank-v1", {8: "LEND"})
    actions = {"LOAN": {"tier": 1, "needs": ["LEND"]}}
    content = codex(permission_schema="bank-v1", can_do=["LOAN"], actions=actions)
    manifest = open_manifest(content, schemas={**DEFAULT_SCHEMAS, bank.id: bank}).manifest
    assert manifest.capability_mask == 1 << 8 | READ


def _signed(content: bytes) -> bytes:
    return sign_manifest(content, key_id=key_id_of(_RAW), sign=_KEY.sign)


def test_a_known_key_vouches_for_a_manifest() -> None:
    """Whatever the order of its members: the signature covers canonical bytes."""
    opened = open_manifest(_signed(codex()))
    assert verify_manifest(opened, [_RAW]) == key_id_of(_RAW)
    assert opened.content_hash == digest_of(opened.canonical) == open_manifest(codex()).content_hash
    assert _signed(_signed(codex())) == _signed(codex())


def test_an_unsigned_or_strange_or_changed_manifest_is_not_believed() -> None:
    other = Ed25519PrivateKey.from_private_bytes(bytes(32)).public_key().public_bytes_raw()
    for opened, keys in ((open_manifest(codex()), [_RAW]), (open_manifest(_signed(codex())), [other])):
        with raises(RegistryError.unsigned):
            verify_manifest(opened, keys)
    changed = _signed(codex()).replace(b'"port":4080', b'"port":4081')
    with pytest.raises(InvalidSignatureError):
        verify_manifest(open_manifest(changed), [_RAW])
