"""`assay ledger prove --format`: what others' tools read, and what `assay verify` says about it offline."""

import json
from base64 import b64decode, b64encode
from pathlib import Path

import cbor2
import pytest

import assay
from assay.claims.parse_bundle import Reading, check_bundle
from assay.kernel.digest import digest_of
from assay.wiring import open_node
from tests.node._home import RULE, SLUG, copied, record, report
from tests.raising import raises
from tests.surfaces.cli.running import Answer, ask, note

_FORMS = ("dsse", "scitt", "receipt")


@pytest.fixture
def proofs(home: Path, tmp_path: Path) -> Path:
    """A folder with a proof of entry 4 in each form, and the entry's own text; the entry holds a personal value."""
    ask("--home", home, "ledger", "append", note(tmp_path), "--personal", "/asked_by")
    for form in _FORMS:
        output = tmp_path / f"proof.{form}"
        assert ask("--home", home, "ledger", "prove", "4", "--format", form, "--output", output).code == 0
    (tmp_path / "entry.json").write_text(ask("--home", home, "ledger", "text", "4").out)
    return tmp_path


def _verify(proofs: Path, form: str, *more: str | Path) -> Answer:
    entry = ("--entry", proofs / "entry.json") if form == "receipt" else ()
    return ask("verify", proofs / f"proof.{form}", *entry, *more, "--json")


def _key(home: Path) -> Path:
    return home / "keys" / "ledger.key.pub"


@pytest.mark.parametrize("form", _FORMS)
def test_each_form_holds_offline_for_whoever_trusts_the_key(form: str, proofs: Path, home: Path) -> None:
    answer = _verify(proofs, form, "--trust", _key(home), "--origin", "example.com/log/default")
    assert (answer.code, answer.json["holds"]) == (0, True)
    key_id = ask("--home", home, "key", "list", "--json").json[0]["key_id"]
    assert _verify(proofs, form, "--trust", key_id).code == 0
    assert "Ada" not in (proofs / f"proof.{form}").read_bytes().decode(errors="replace")


@pytest.mark.parametrize("form", _FORMS)
def test_exit_1_when_nobody_you_trust_vouches_for_it(form: str, proofs: Path) -> None:
    answer = _verify(proofs, form)
    assert (answer.code, answer.json["code"]) == (1, "proof.untrusted_signer")


@pytest.mark.parametrize("form", _FORMS)
def test_exit_3_when_the_signed_part_was_changed(form: str, proofs: Path, home: Path) -> None:
    path = proofs / f"proof.{form}"
    content = path.read_bytes()
    if form == "dsse":
        document = json.loads(content)
        payload = b64decode(document["payload"]).replace(b'\\"answer\\":\\"clear\\"', b'\\"answer\\":\\"later\\"')
        path.write_text(json.dumps({**document, "payload": b64encode(payload).decode()}))
    else:
        path.write_bytes(content.replace(b"example.com/log", b"example.org/log"))
    assert _verify(proofs, form, "--trust", _key(home)).code == 3


def test_a_receipt_is_about_one_text_alone(proofs: Path, home: Path) -> None:
    text = proofs / "entry.json"
    text.write_text(text.read_text().replace("clear", "later"))
    assert _verify(proofs, "receipt", "--trust", _key(home)).code == 3


def test_a_receipt_without_its_text_is_wrong_usage(proofs: Path, home: Path) -> None:
    answer = ask("verify", proofs / "proof.receipt", "--trust", _key(home), "--json")
    assert (answer.code, answer.error_code) == (2, "proof.no_entry_text")


def test_witnesses_cannot_be_asked_of_a_form_without_their_word(proofs: Path, home: Path) -> None:
    answer = _verify(proofs, "scitt", "--trust", _key(home), "--threshold", "1")
    assert (answer.code, answer.error_code) == (2, "proof.no_witnesses")


def test_a_statement_is_read_by_another_implementation(proofs: Path) -> None:
    """The entry's text is the payload, its receipt lies in header 394."""
    message = cbor2.loads((proofs / "proof.scitt").read_bytes())
    assert message.tag == 18
    _, unprotected, payload, _ = message.value
    assert payload == (proofs / "entry.json").read_bytes()
    assert cbor2.loads(unprotected[394][0]).tag == 18


def test_personal_values_are_for_bundles(home: Path) -> None:
    refused = ask("--home", home, "ledger", "prove", "1", "--format", "scitt", "--disclose", "--json")
    assert (refused.code, refused.error_code) == (3, "http.fields")


def test_a_checkpoint_that_was_never_signed_is_signed_in_no_form(home: Path, tmp_path: Path) -> None:
    """A database that somebody changed must not get the ledger's key to vouch for it."""
    from msgspec.structs import replace

    from assay.flows.errors.ledger import LedgerFlowError
    from assay.flows.ledger.export_proof import ProofForm, render_proof
    from assay.flows.ledger.prove_record import prove_record
    from assay.kernel.ids import TenantId

    ask("--home", home, "ledger", "append", note(tmp_path))
    ask("--home", home, "ledger", "checkpoint")
    with open_node(home, writable=False) as (tools, _):
        bundle = prove_record(tools, TenantId("default"), 4)
        forged = replace(bundle, checkpoint=bundle.checkpoint.replace("\n4\n", "\n5\n"), tree_size=5)
        for form in _FORMS:
            with raises(LedgerFlowError.proof_not_own):
                render_proof(tools, forged, ProofForm(form), at=tools.clock.now())


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A node that answered a question, judged a record and compiled a key; each by the name of it."""
    home = copied(tmp_path_factory.mktemp("said"))
    with assay.open(home.folder) as node:
        node.answers(SLUG, rules=[RULE])(lambda _question: "clear")
        answer = node.acting(home.keys["amira"]).ask(SLUG, {"ship": "Ada"})
        judged = node.acting(home.keys["sensor"]).evaluate(record("t-1"))
        seen = node.acting(home.keys["gateway"]).observe(report("user:ada"))
        node.compile_state(seen.truthkey)
    return home.folder, {"answer": answer.answer_id, "verdict": judged.telemetry_id, "state": seen.truthkey}


_EXPORTS = {
    "answer": ("answers", "claims"),
    "verdict": ("claims", "export", "verdict"),
    "state": ("claims", "export", "state"),
}


@pytest.mark.parametrize(("what", "kind"), [("answer", "INFERENCE"), ("verdict", "INFERENCE"), ("state", "FACT")])
def test_what_the_node_said_is_written_as_claims_that_any_gate_reads(
    said: tuple[Path, dict[str, str]], what: str, kind: str
) -> None:
    home, names = said
    for form in ((), ("--json",)):
        written = ask("--home", home, *_EXPORTS[what], names[what], *form)
        assert written.code == 0
        assert {one["claim_type"] for one in written.json["claims"]} == {kind}
        assert check_bundle(written.out.encode(), reading=Reading.STRICT).problems == ()
    assert ask("--home", home, *_EXPORTS[what], "nothing", "--json").code == 1


def test_an_answer_is_proven_with_its_output_and_no_other_output_passes(
    said: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    home, names = said
    proof = tmp_path / "answer.json"
    with assay.open(home) as node:
        proof.write_bytes(node.prove_answer(names["answer"]))
    assert ask("verify", proof, "--trust", _key(home)).code == 0
    document = json.loads(proof.read_bytes())
    [attached] = document["attachments"]
    assert b64decode(attached["content_base64"]) == b'"clear"'
    other = b'"shallow"'
    attached |= {"content_base64": b64encode(other).decode(), "sha256": digest_of(other)}
    proof.write_text(json.dumps(document))
    assert ask("verify", proof, "--trust", _key(home)).code == 3


@pytest.mark.clause("kaori", "law 6")
def test_a_state_is_proven_with_what_it_was_compiled_from_and_nothing_else_passes(
    said: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    home, names = said
    proof = tmp_path / "state.json"
    assert ask("--home", home, "truth", "prove", names["state"], "--output", proof).code == 0
    assert ask("verify", proof, "--trust", _key(home)).code == 0
    document = json.loads(proof.read_bytes())
    attached = next(one for one in document["attachments"] if b"1.25" in b64decode(one["content_base64"]))
    other = b64decode(attached["content_base64"]).replace(b"1.25", b"9.25")
    attached |= {"content_base64": b64encode(other).decode(), "sha256": digest_of(other)}
    proof.write_text(json.dumps(document))
    refused = ask("verify", proof, "--trust", _key(home), "--json")
    assert (refused.code, refused.json["code"]) == (3, "proof.attachment")
