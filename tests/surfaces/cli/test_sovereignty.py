"""`assay sovereignty`: shown under a signature, and verified by somebody who has only keys."""

import json
import re
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.adapters.egress.guard import ProcessEgressGuard
from assay.adapters.egress.perimeter import Perimeter
from assay.adapters.keyfile import create_key_file, load_key_file, public_path
from assay.adapters.tpm import TpmMeasuredBoot
from assay.flows.verdicts.sovereignty import note_egress
from assay.kernel.canonical import canonicalize
from assay.kernel.digest import Digest
from assay.kernel.dsse import render_envelope, seal_envelope
from assay.kernel.ids import TenantId
from assay.kernel.intoto import (
    PAYLOAD_TYPE,
    BuildDefinition,
    Builder,
    Provenance,
    ResourceDescriptor,
    RunDetails,
    make_statement,
    render_statement,
)
from assay.kernel.key import parse_public_key
from assay.kernel.signature import SignedKind, signing_message
from assay.verdicts.build import BUILD_TYPE
from assay.wiring import _evaluation, open_node
from tests.software_tpm import running_tpm
from tests.surfaces.cli._desk import opened_shell
from tests.surfaces.cli.running import Answer, ask

COMMIT = "c0ffee" + "0" * 34


@pytest.fixture
def builder(tmp_path: Path) -> Path:
    create_key_file(tmp_path / "builder.key")
    return public_path(tmp_path / "builder.key")


@pytest.fixture
def built_home(home: Path, builder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A node of a built package, with an anchor of the operator: every check of strict mode is met."""
    _set(home, "anchors = []", f'anchors = ["{_hex_of(builder)}"]')
    package = tmp_path / "package"
    package.mkdir()
    source = ResourceDescriptor(name="source", digest={"gitCommit": COMMIT})
    provenance = Provenance(
        build_definition=BuildDefinition(
            build_type=BUILD_TYPE, external_parameters={}, resolved_dependencies=(source,)
        ),
        run_details=RunDetails(builder=Builder(id="urn:example:builder")),
    )
    signer = load_key_file(tmp_path / "builder.key")
    payload = render_statement(make_statement({"assay/a.py": "0" * 64}, provenance))
    envelope = render_envelope(seal_envelope(PAYLOAD_TYPE, payload, [(signer.key_id, signer.sign)]))
    (package / "_build.json").write_bytes(canonicalize({"commit": COMMIT, "provenance": json.loads(envelope)}))
    monkeypatch.setattr(_evaluation, "files", lambda _name: package)
    return home


def _hex_of(public: Path) -> str:
    return parse_public_key(public.read_text()).hex()


def _set(home: Path, old: str, new: str) -> None:
    file = home / "assay.toml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def _shown(home: Path, folder: Path) -> Path:
    answer = ask("--home", home, "sovereignty", "show", "--json")
    assert answer.code == 0, answer
    file = folder / "document.json"
    file.write_text(answer.out)
    return file


def _verified(file: Path, deployment: Path, *more: str | Path) -> Answer:
    return ask("sovereignty", "verify", "--document", file, "--deployment-key", deployment, *more, "--json")


@pytest.mark.clause("ski", "6.4")
def test_a_document_is_verified_elsewhere_by_the_keys_of_deployment_and_builder(
    built_home: Path, builder: Path, tmp_path: Path
) -> None:
    """All fields of the specification, one signature over them, and the statement inside by the builder's key."""
    file = _shown(built_home, tmp_path)
    document = json.loads(file.read_text())
    specified = {
        "model_weight_hash",
        "kg_version_hash",
        "codebase_commit_hash",
        "build_provenance_attestation",
        "signed_at",
    }
    assert specified <= document.keys()
    answer = _verified(file, built_home / "keys/ledger.key.pub", "--builder-key", builder)
    assert (answer.code, answer.json["holds"], answer.json["document"]["codebase_commit_hash"]) == (0, True, COMMIT)
    assert answer.json["build"] is None


@pytest.mark.parametrize("field", ["model_weight_hash", "codebase_commit_hash", "mode", "egress_attempts_total"])
def test_a_document_that_was_changed_is_untrusted(built_home: Path, builder: Path, tmp_path: Path, field: str) -> None:
    file = _shown(built_home, tmp_path)
    document: dict[str, Any] = json.loads(file.read_text())
    document[field] = 7 if isinstance(document[field], int) else "advisory"
    file.write_text(json.dumps(document))
    answer = _verified(file, built_home / "keys/ledger.key.pub", "--builder-key", builder)
    assert (answer.code, answer.error_code) == (3, "signature.invalid")


def test_a_document_by_another_deployment_or_builder_is_untrusted(
    built_home: Path, builder: Path, tmp_path: Path
) -> None:
    file, key = _shown(built_home, tmp_path), built_home / "keys/ledger.key.pub"
    assert _verified(file, builder, "--builder-key", builder).error_code == "signature.invalid"
    assert _verified(file, key, "--builder-key", key).error_code == "dsse.untrusted"
    unvouched = _verified(file, key)
    assert (unvouched.code, unvouched.json["holds"]) == (1, False)
    assert ask("sovereignty", "verify", "--document", file).code == 2


@pytest.mark.parametrize(
    ("text", "code"),
    [("[]", "sovereignty.document"), ("{}", "signature.malformed"), ('{"signature_hex": "00"}', "signature.length")],
)
def test_what_is_no_document_is_untrusted(builder: Path, tmp_path: Path, text: str, code: str) -> None:
    file = tmp_path / "document.json"
    file.write_text(text)
    answer = _verified(file, builder)
    assert (answer.code, answer.error_code) == (3, code)


def test_a_signed_text_that_is_no_document_is_untrusted(tmp_path: Path, builder: Path) -> None:
    signer = load_key_file(tmp_path / "builder.key")
    signature = signer.sign(signing_message(SignedKind.SOVEREIGNTY, b"{}"))
    file = tmp_path / "document.json"
    file.write_text(json.dumps({"key_id": signer.key_id, "signature_hex": signature.hex()}))
    assert _verified(file, builder).error_code == "sovereignty.document"


def test_a_checkout_that_runs_in_place_is_shown_and_told(home: Path, tmp_path: Path) -> None:
    """Unmet checks are shown, not hidden behind a refusal, and no build is a no."""
    answer = ask("--home", home, "sovereignty", "show")
    assert answer.code == 1
    assert "NOT MET 3 anchor" in answer.out
    assert "none: this code was not built" in answer.out
    file = tmp_path / "document.json"
    file.write_text(ask("--home", home, "sovereignty", "show", "--json").out)
    told = ask("sovereignty", "verify", "--document", file, "--deployment-key", home / "keys/ledger.key.pub")
    assert told.code == 1
    assert "NOT MET build: the deployment names none" in told.out


@pytest.fixture(scope="module")
def tcti(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_tpm(tmp_path_factory.mktemp("tpm")) as place:
        yield place


@pytest.mark.clause("ski", "9.3")
def test_a_quote_of_the_node_is_verified_offline(home: Path, tcti: str, tmp_path: Path) -> None:
    (home / "assay.toml").write_text((home / "assay.toml").read_text() + f'\n[ski]\ntpm = "{tcti}"\n')
    refused = ask("--home", home, "sovereignty", "quote", "--nonce", "0011", "--json")
    assert (refused.code, refused.error_code) == (4, "sovereignty.measured_other")
    shown = ask("--home", home, "sovereignty", "show", "--json").json
    weights = Digest(shown["model_weight_hash"])
    TpmMeasuredBoot(tcti, register=13).measure(weights)
    quote, key = tmp_path / "quote.json", tmp_path / "key.pem"
    answer = ask("--home", home, "sovereignty", "quote", "--nonce", "0011", "--json")
    quote.write_text(answer.out)
    key.write_text(answer.json["attestation_key"])
    about = ("sovereignty", "verify", "--quote", quote, "--attestation-key", key)
    assert ask(*about, "--nonce", "0011", "--weights", weights).code == 0
    assert "may be an old one" in ask(*about).out
    assert ask(*about, "--nonce", "0012", "--json").error_code == "quote.mismatch"
    assert ask(*about, "--weights", f"sha256:{'0' * 64}", "--json").error_code == "quote.mismatch"


@pytest.mark.parametrize(
    "arguments",
    [
        ("verify", "--builder-key", "no key"),
        ("verify", "--quote", "FILE"),
        ("verify", "--quote", "FILE", "--attestation-key", "FILE", "--weights", "none"),
        ("verify", "--quote", "FILE", "--attestation-key", "FILE", "--nonce", "xy"),
        ("quote",),
    ],
    ids=" ".join,
)
def test_wrong_usage_is_told_as_such(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    file = tmp_path / "file"
    file.write_text("{}")
    assert ask("sovereignty", *(re.sub("^FILE$", str(file), one) for one in arguments)).code == 2


def test_a_file_that_is_no_quote_is_untrusted(tmp_path: Path, builder: Path) -> None:
    file = tmp_path / "quote.json"
    file.write_text("{}")
    answer = ask("sovereignty", "verify", "--quote", file, "--attestation-key", builder, "--json")
    assert (answer.code, answer.error_code) == (3, "quote.malformed")


def test_a_node_without_a_tpm_quotes_nothing(home: Path) -> None:
    answer = ask("--home", home, "sovereignty", "quote", "--nonce", "00", "--json")
    assert (answer.code, answer.error_code) == (1, "flow.not_found")


def test_a_ledger_without_measured_verdicts_does_not_pass_an_audit(home: Path, builder: Path) -> None:
    answer = ask("--home", home, "sovereignty", "audit", "--attestation-key", builder, "--json")
    assert (answer.code, answer.json) == (1, {"verdicts": 0, "measurements": 0, "problems": []})


@pytest.mark.clause("ski", "6.3")
def test_attempts_to_leave_are_cleared_by_an_operator_in_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Once for what is on record: with nothing to clear it is an honest no."""
    shell = opened_shell(tmp_path, monkeypatch, capsys)
    shell.person("user:olga", "operator")
    shell.person("user:rita", "reviewer")
    guard = ProcessEgressGuard(Perimeter(), is_strict=False)
    with guard.watching(), suppress(OSError):
        socket.getaddrinfo("example.invalid", 443)
    with open_node(shell.home) as (tools, _):
        note_egress(replace(tools, guard=guard), TenantId("default"), at=tools.clock.now())
    clear = ("sovereignty", "clear", "--reason", "a test of the firewall", "--json")
    assert shell(*clear, session=shell.login("user:rita")).refusal == (1, "identity.role")
    done = shell(*clear, session=shell.login("user:olga"))
    assert (done.code, done.json["tenant_id"]) == (0, "default")
    assert shell(*clear, session=shell.login("user:olga")).refusal == (1, "flow.not_found")
