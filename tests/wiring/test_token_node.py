"""A node whose keys are on a token: founded, used, rotated and verified like any other."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pkcs11
import pytest

from assay.wiring import load_config, open_keys, open_node
from tests.surfaces.cli.running import ask, note

_MODULE = Path("/usr/lib/softhsm/libsofthsm2.so")
_PIN = "271828"


@pytest.fixture(scope="module")
def _token(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """SoftHSM with one token; the library reads its settings once per process."""
    folder = tmp_path_factory.mktemp("softhsm")
    (folder / "tokens").mkdir()
    config = folder / "softhsm2.conf"
    config.write_text(f"directories.tokendir = {folder}/tokens\nobjectstore.backend = file\nlog.level = ERROR\n")
    command = ["softhsm2-util", "--init-token", "--free", "--label", "node", "--pin", _PIN, "--so-pin", "31415926"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOFTHSM2_CONF", str(config))
        patch.setenv("ASSAY_PKCS11_PIN", _PIN)
        subprocess.run(command, check=True, capture_output=True, env=dict(os.environ))
        yield
        pkcs11.unload(str(_MODULE))


@pytest.fixture
def home(_token: None, tmp_path: Path) -> Path:
    folder = tmp_path / "node"
    answer = ask("init", folder, "--pkcs11-module", _MODULE, "--token", "node")
    assert answer.code == 0, answer.err
    return folder


def test_a_node_on_a_token_is_used_rotated_and_verified_offline(home: Path, tmp_path: Path) -> None:
    """Whoever trusts the first key can verify what the second one signs; no private key is in the folder."""
    assert list((home / "keys").iterdir()) == []
    founder = load_config(home).node.founder
    assert ask("--home", home, "ledger", "append", note(tmp_path)).code == 0
    assert ask("--home", home, "ledger", "checkpoint").code == 0
    rotated = ask("--home", home, "key", "rotate", "ledger", "--json").json
    assert rotated["replaces"] == founder
    assert load_config(home).keys.ledger == rotated["file"]
    assert rotated["file"].endswith("-ledger-2")
    assert ask("--home", home, "ledger", "append", note(tmp_path)).code == 0
    assert ask("--home", home, "ledger", "prove", "7", "--output", tmp_path / "bundle.json").code == 0
    finding = ask("verify", tmp_path / "bundle.json", "--trust", founder, "--json")
    assert (finding.code, finding.json["signer"]) == (0, rotated["key_id"])
    assert ask("--home", home, "ledger", "verify", "--full").code == 0
    assert ask("--home", home, "doctor").code == 0


def test_a_token_is_opened_once_for_all_keys_and_closed_with_the_node(home: Path) -> None:
    config = load_config(home)
    for _ in range(2):
        with open_node(home) as (tools, _config):
            names = {tools.ledger_signer.key_id, tools.review_signer.key_id, tools.transcript_signer.key_id}
            assert len(names) == 3
    with open_keys(home, config) as keys, open_node(home, keys=keys) as (tools, _config):
        assert keys.load(config.keys.ledger).key_id == tools.ledger_signer.key_id


def test_two_nodes_may_share_a_token(home: Path, tmp_path: Path) -> None:
    assert ask("init", tmp_path / "second", "--pkcs11-module", _MODULE, "--token", "node").code == 0
    assert load_config(home).node.founder != load_config(tmp_path / "second").node.founder


@pytest.mark.parametrize("given", [["--token", "node"], ["--pkcs11-module", "/nowhere.so"]])
def test_a_token_and_its_module_are_given_together(given: list[str], tmp_path: Path) -> None:
    assert ask("init", tmp_path / "node", *given).code == 2
    assert not (tmp_path / "node").exists()
