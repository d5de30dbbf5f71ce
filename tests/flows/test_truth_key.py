"""The key that states are signed with: on record before its first use, added to a node that has none, replaced."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from assay.adapters.hmac_secret import HmacSigner
from assay.adapters.keyfile import create_key_file
from assay.config import BadConfigError
from assay.flows.errors.ledger import LedgerFlowError
from assay.flows.errors.truth import TruthFlowError
from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.ledger.examine_node import examine_node
from assay.flows.ledger.own_keys import has_key_for, own_key_ring
from assay.flows.ledger.rotate_key import rotate_key
from assay.flows.truth.check_truth import check_truth
from assay.flows.truth.replay_truth import replay_truth
from assay.flows.truth.truth_key import get_truth_signer, introduce_truth_key
from assay.kernel.errors import KeyUseError
from assay.kernel.key import KeyPurpose
from assay.kernel.ledger import EntryKind
from assay.truth.state import TruthState, render_truth_state
from assay.wiring import init_node, load_config, open_node
from tests.flows._node import TENANT, new_node, opened
from tests.flows._truth import TruthDesk, opened_truth
from tests.raising import raises


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[TruthDesk]:
    with opened_truth(tmp_path) as one:
        one.people()
        one.observe("user:ann")
        yield one


def test_a_node_that_compiles_nothing_has_no_truth_key_on_record(tmp_path: Path) -> None:
    """The key file is there from the beginning; the ledger speaks of it when it is first needed, and once."""
    home = new_node(tmp_path)
    with opened(home) as tools:
        assert not has_key_for(own_key_ring(tools), KeyPurpose.TRUTH)
        at = tools.clock.now()
        for _ in range(2):
            introduce_truth_key(tools, TENANT, at=at)
        assert has_key_for(own_key_ring(tools), KeyPurpose.TRUTH)
        assert tools.database.read(lambda unit: unit.ledger.head(TENANT)).sequence_number == 4
    with opened(home) as tools:
        assert audit_ledger(tools, TENANT, leave_mark=False).holds


def test_a_node_from_before_opens_without_a_truth_key_and_says_what_is_missing(tmp_path: Path) -> None:
    home = new_node(tmp_path)
    config = home / "assay.toml"
    config.write_text("\n".join(line for line in config.read_text().splitlines() if not line.startswith("truth =")))
    with open_node(home) as (tools, _):
        assert tools.truth_signer is None
        with raises(TruthFlowError.key_no_truth_key, match="assay key rotate truth"):
            get_truth_signer(tools)
        assert [one.name for one in examine_node(tools, at=tools.clock.now()) if "truth" in one.name] == []


def test_another_key_than_the_one_on_record_does_not_sign(desk: TruthDesk, tmp_path: Path) -> None:
    """Neither does a node open with it for writing."""
    other = create_key_file(tmp_path / "other.key")
    stranger = replace(desk, tools=replace(desk.tools, truth_signer=other))
    with pytest.raises(KeyUseError):
        stranger.compile()
    assert desk.entries(EntryKind.TRUTH_STATE) == []


def test_states_of_the_old_key_still_replay_after_it_was_replaced(desk: TruthDesk, tmp_path: Path) -> None:
    desk.compile("12:40")
    successor = create_key_file(tmp_path / "truth-2.key")
    rotate_key(
        desk.tools,
        TENANT,
        old=get_truth_signer(desk.tools),
        new=successor,
        purpose=KeyPurpose.TRUTH,
        overlap=timedelta(minutes=5),
        at=desk.now("12:50"),
    )
    desk.tools = replace(desk.tools, truth_signer=successor)
    later = desk.compile("13:00", force=True)
    assert later.state.security is not None
    assert later.state.security.key_id == successor.key_id
    findings = [replay_truth(desk.tools, TENANT, truthkey=desk.truthkey, version=version) for version in (1, 2)]
    assert [one.problems for one in findings] == [(), ()]


def test_the_old_key_cannot_sign_after_its_end(desk: TruthDesk, tmp_path: Path) -> None:
    successor = create_key_file(tmp_path / "truth-2.key")
    rotate_key(
        desk.tools,
        TENANT,
        old=get_truth_signer(desk.tools),
        new=successor,
        purpose=KeyPurpose.TRUTH,
        overlap=timedelta(0),
        at=desk.now("12:50"),
    )
    with pytest.raises(KeyUseError):
        desk.compile("13:00")


def test_a_node_whose_truth_key_is_foreign_does_not_open_for_writing(tmp_path: Path) -> None:
    home = new_node(tmp_path)
    with opened(home) as tools:
        introduce_truth_key(tools, TENANT, at=tools.clock.now())
    create_key_file(home / "keys" / "other.key")
    config = home / "assay.toml"
    config.write_text(config.read_text().replace('truth = "keys/truth.key"', 'truth = "keys/other.key"'))
    with raises(LedgerFlowError.key_not_own, match="the truth key"), opened(home):
        pass


class _Liar(HmacSigner):
    """The right name and another signature."""

    def sign(self, message: bytes) -> bytes:
        return super().sign(message + b"!")


def test_a_shared_secret_signs_and_a_replay_says_that_nobody_else_can_check_it(tmp_path: Path) -> None:
    """`local_hmac` of the specification: only its holder can tell, so a replay never calls it checked."""
    with opened_truth(tmp_path, signer=HmacSigner(b"s" * 32)) as desk:
        desk.people()
        desk.observe("user:ann")
        state = desk.compile("12:40").state
        assert state.security is not None
        assert state.security.signing_method == "local_hmac"
        assert replay_truth(desk.tools, TENANT, truthkey=desk.truthkey).holds
        elsewhere = replace(desk.tools, truth_signer=None)
        finding = replay_truth(elsewhere, TENANT, truthkey=desk.truthkey)
        assert {problem.code for problem in finding.problems} == {"replay.not_checked"}
        liar = replace(desk.tools, truth_signer=_Liar(b"s" * 32))
        finding = replay_truth(liar, TENANT, truthkey=desk.truthkey)
        assert {problem.code for problem in finding.problems} == {"signature.invalid"}


def test_a_node_signs_with_the_secret_that_its_configuration_names(tmp_path: Path) -> None:
    """The whole way: secret, states, checks where it is held; elsewhere it is said that nobody else can tell."""
    init_node(tmp_path / "node")
    secret = tmp_path / "node" / "keys" / "truth.hmac"
    secret.write_bytes(bytes(range(32)))
    secret.chmod(0o600)
    config = tmp_path / "node" / "assay.toml"
    config.write_text(config.read_text().replace('truth = "keys/truth.key"', 'truth = "hmac:keys/truth.hmac"'))
    with opened_truth(tmp_path, is_founded=True) as desk:
        desk.people()
        desk.observe("user:ann")
        state = desk.compile("12:40").state
        assert state.security is not None
        assert state.security.signing_method == "local_hmac"
        assert replay_truth(desk.tools, TENANT, truthkey=desk.truthkey).holds
        assert check_truth(desk.tools, TENANT, render_truth_state(state)).holds
        forged = state_with(state, signature="00" * 32)
        (wrong,) = [one for one in check_truth(desk.tools, TENANT, forged).checks if one.name == "signature"]
        assert (wrong.holds, wrong.code) == (False, "signature.invalid")
        elsewhere = check_truth(replace(desk.tools, truth_signer=None), TENANT, render_truth_state(state))
        (untold,) = [one for one in elsewhere.checks if one.holds is None]
        assert (untold.name, elsewhere.holds) == ("signature", False)
        assert "only who holds the secret" in untold.message


def test_only_truth_may_be_signed_by_a_shared_secret(tmp_path: Path) -> None:
    """Whatever else a node signs is for strangers to verify."""
    init_node(tmp_path / "node")
    config = tmp_path / "node" / "assay.toml"
    config.write_text(config.read_text().replace('review = "keys/review.key"', 'review = "hmac:keys/review.hmac"'))
    with pytest.raises(BadConfigError, match="`review`, got a secret"):
        load_config(tmp_path / "node")


def state_with(state: TruthState, **security: str) -> bytes:
    assert state.security is not None
    return render_truth_state(
        msgspec.structs.replace(state, security=msgspec.structs.replace(state.security, **security))
    )
