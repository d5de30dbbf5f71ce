"""SKI 9.1 by commands alone: what a node that was just made and given a graph does."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from assay.verdicts.envelope import Verdict
from assay.verdicts.graph.obligation_type import ObligationType
from tests.surfaces.cli._verdicts import JUDGED, VerdictShell, opened_verdict_shell

REQUIRED = {
    "verdict",
    "reasoning",
    "kg_citations",
    "formalizable_assertions",
    "verifier_result",
    "model_provenance",
    "transcript_ref",
}
ATTESTED = {
    "model_weight_hash",
    "kg_version_hash",
    "codebase_commit_hash",
    "build_provenance_attestation",
    "signed_at",
}


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> VerdictShell:
    return opened_verdict_shell(tmp_path, monkeypatch, capsys, is_judged=True)


@pytest.mark.clause("ski", "9.1")
def test_only_the_five_verdicts_in_whole_envelopes_by_typed_obligations_are_served(shell: VerdictShell) -> None:
    """Every envelope has the fields of SKI 4.2, and every rule behind one has a typed obligation in its slice."""
    pages: list[dict[str, Any]] = [shell.done("verdict", "show", name) for name in JUDGED]
    served = [one["envelope"] for page in pages for one in page["decided"]["verdicts"] if one["envelope"]]
    assert {one["verdict"] for one in served} == {one.value for one in Verdict}
    assert all(one.keys() >= REQUIRED for one in served)
    rules = [one for page in pages for one in page["explained"] if one["rule_id"]]
    types = {kind.value for kind in ObligationType}
    assert all(one["obligations"] for one in rules)
    assert {part["predicate"] for one in rules for part in one["obligations"]} <= types


@pytest.mark.clause("ski", "9.1")
def test_the_node_is_strict_its_graph_signed_its_ledger_append_only_and_it_says_so_signed(shell: VerdictShell) -> None:
    """Nothing of it was configured but the key that the operator trusts for graphs."""
    told = shell.done("sovereignty", "show")
    document = told.get("document", told)
    assert document["mode"] == "strict"
    assert [one["is_met"] for one in document["findings"]] == [True] * 5
    assert document.keys() >= ATTESTED
    (flag,) = shell.items("verdict", "list", "--verdict", "FLAG")
    assert document["kg_version_hash"] == flag["outcome"]["envelope"]["model_provenance"]["kg_version_hash"]
    assert shell("ledger", "verify", "--full").code == 0
    with (
        sqlite3.connect(shell.shell.home / "assay.db") as connection,
        pytest.raises(sqlite3.IntegrityError, match="append-only"),
    ):
        connection.execute("UPDATE ledger SET verdict = 'CLEAR' WHERE verdict = 'FLAG'")
    connection.close()
