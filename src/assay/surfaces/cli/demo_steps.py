"""The demonstration, step by step; each step does what a user would do and says whether it went as it should.

ledger -> truth -> verdicts -> claims -> delivery -> registry -> an auditor who has none of these nodes
"""

import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from assay.flows.ledger.append_record import append_record
from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.ledger.erase_record import erase_record
from assay.flows.ledger.prove_record import prove_record
from assay.flows.ledger.report_page import ReportForm, render_form
from assay.flows.ledger.report_period import ReportScope, report_period
from assay.flows.ledger.sign_checkpoint import sign_checkpoint
from assay.flows.tools import Tools
from assay.kernel.bundle import render_bundle
from assay.kernel.ids import PrincipalId, TenantId
from assay.kernel.instant import parse_instant
from assay.kernel.json_text import JsonValue
from assay.surfaces.cli.demo_claims import run_claims
from assay.surfaces.cli.demo_delivery import run_delivery
from assay.surfaces.cli.demo_energy import run_energy
from assay.surfaces.cli.demo_flood import run_flood
from assay.surfaces.cli.demo_registry import run_registry
from assay.surfaces.cli.demo_step import HELD, REFUSED, Chapter, Step, run_elsewhere
from assay.wiring import init_node, open_node

_TENANT = TenantId("default")
_ENTRIES, _THREADS = 1000, 8
_FOUNDING = 3  # a node's first entries record its keys
_CHAPTERS = {
    "The ledger": "What is acknowledged is on disk, in order, and nobody changes it unseen.",
    "Truth": "A claim about the world is compiled from what people saw, and on what is critical people decide.",
    "Verdicts": "Telemetry is judged against the law by a model on this machine; what is grave waits for a person.",
    "Claims": "What an agent wants to do passes five gates, and what cannot be undone waits for an approval.",
    "Delivery": "An answer says how much stands behind it, and its failures lead back to the rule that caused them.",
    "Registry": "A service's actions run for whoever may, and stop by themselves when too much goes wrong.",
}
_NODES = {
    "The ledger": "node",
    "Truth": "flood",
    "Verdicts": "energy",
    "Claims": "claims",
    "Delivery": "delivery",
    "Registry": "registry",
}
# Where one character is changed, and how the place is found in the bundle's text.
_PLACES = (
    ("a word of the entry", '\\"answer\\":\\"c'),
    ("the entry's hash", '"entry_hash": "sha256:'),
    ("its place in the tree", '"leaf_index": '),
    ("a hash on the way to the root", '"inclusion_path": [\n    "'),
    ("the signed root", None),
    ("the signature", "— "),
)


_EVER = parse_instant("1970-01-01T00:00:00Z")


def verify_everything(nodes: Mapping[str, Path], auditor: Path) -> Iterator[Step]:
    """Every entry that any step has left, by title of its chapter; in processes that have no node."""
    auditor.mkdir()
    total, held = 0, 0
    for title, node in nodes.items():
        name, entries = node.name, _hand_over(node, auditor)
        total += entries
        code, finding = run_elsewhere(auditor, "verify", f"{name}.json", "--trust", f"{name}.pub")
        words = f"{name}.json and {name}.pub: {entries} entries, each proven and told as its text says, exit {code}"
        is_right = code == HELD and finding["holds"] is True
        held += is_right
        yield Step(title, words, is_right)
    words = f"{total} entries, verified without any node: {held} of {len(nodes)} ledgers hold"
    yield Step("In all", words, held == len(nodes))


def _hand_over(node: Path, auditor: Path) -> int:
    """A report of all that is on record, and the public key; how many entries it tells of."""
    with open_node(node) as (tools, _):
        sign_checkpoint(tools, _TENANT, at=tools.clock.now())
        scope = ReportScope(from_at=_EVER, until=tools.clock.now(), every_kind=True)
        report = report_period(tools, _TENANT, scope, at=tools.clock.now())
    (auditor / f"{node.name}.json").write_bytes(render_form(report, ReportForm.JSON))
    shutil.copy(node / "keys" / "ledger.key.pub", auditor / f"{node.name}.pub")
    return len(report.rows)


def run_demo(folder: Path) -> Iterator[Chapter | Step]:
    """Run in a new folder; each chapter has a node of its own, and the steps come as they are done."""
    nodes = {title: folder / name for title, name in _NODES.items()}
    rooms = (
        _run_ledger(nodes["The ledger"], folder),
        run_flood(nodes["Truth"], folder / "flood-auditor"),
        run_energy(nodes["Verdicts"], folder / "energy-auditor"),
        run_claims(nodes["Claims"]),
        run_delivery(nodes["Delivery"]),
        run_registry(nodes["Registry"]),
    )
    for (title, words), steps in zip(_CHAPTERS.items(), rooms, strict=True):
        yield Chapter(title, words)
        yield from steps
    yield Chapter("The auditor", "Everything that was recorded above, from a file and a key of each node, offline.")
    yield from verify_everything(nodes, folder / "everything")


def _run_ledger(node: Path, folder: Path) -> Iterator[Step]:
    auditor = folder / "auditor"
    init_node(node, origin="demo.example/log")
    yield Step("A node", f"{node}: keys of its own, an SQLite database, the first entries", is_right=True)
    with open_node(node) as (tools, _):
        yield _append(tools, 1, _ENTRIES // 2)
        yield _checkpoint(tools)
        yield _append(tools, _ENTRIES // 2 + 1, _ENTRIES)
        personal = _append_personal(tools)
        yield Step("A personal value", f"entry {personal} holds a name as a salted commitment", is_right=True)
        yield _checkpoint(tools)
        yield _prove(tools, node, auditor, personal)
    yield _verify_elsewhere(auditor)
    yield from _tamper(auditor)
    yield from _erase(node, auditor, personal)
    yield _audit(node)
    yield _rewrite(node, folder / "rewritten")


def _append(tools: Tools, first: int, last: int) -> Step:
    def append(number: int) -> int:
        body: dict[str, JsonValue] = {"answer": "clear", "question": number}
        return append_record(tools, _TENANT, body, at=tools.clock.now()).result().sequence_number

    with ThreadPoolExecutor(_THREADS) as threads:
        places = sorted(threads.map(append, range(first, last + 1)))
    before = tools.database.facts()
    is_right = places == list(range(places[0], places[0] + last - first + 1))
    words = (
        f"{len(places)} entries from {_THREADS} threads, each acknowledged after it was on disk;"
        f" {before.writes} writes shared {before.commits} commits so far"
    )
    return Step("Append", words, is_right)


def _append_personal(tools: Tools) -> int:
    body: dict[str, JsonValue] = {"answer": "clear", "asked_by": "Ada Lovelace"}
    pending = append_record(tools, _TENANT, body, personal=["/asked_by"], at=tools.clock.now())
    return pending.result().sequence_number


def _checkpoint(tools: Tools) -> Step:
    signed = sign_checkpoint(tools, _TENANT, at=tools.clock.now()).checkpoint
    return Step("Checkpoint", f"signed: {signed.origin} has {signed.size} entries under one root", is_right=True)


def _prove(tools: Tools, node: Path, auditor: Path, number: int) -> Step:
    auditor.mkdir()
    bundle = prove_record(tools, _TENANT, number)
    (auditor / "bundle.json").write_bytes(render_bundle(bundle))
    shutil.copy(node / "keys" / "ledger.key.pub", auditor / "ledger.pub")
    words = f"entry {number} of {bundle.tree_size}: {len(bundle.inclusion_path)} hashes lead to the signed root"
    return Step("Prove", words, is_right=True)


def _verify_elsewhere(auditor: Path) -> Step:
    code, finding = _verify(auditor, "bundle.json")
    files = ", ".join(sorted(path.name for path in auditor.iterdir()))
    passed = sum(check["outcome"] == "ok" for check in finding["checks"])
    words = f"another process, which has only {files}: {passed} checks passed, exit {code}"
    return Step("Verify offline", words, code == HELD and finding["holds"] is True)


def _tamper(auditor: Path) -> Iterator[Step]:
    text = (auditor / "bundle.json").read_text()
    for title, before in _PLACES:
        at = text.index("\\n", text.index('"checkpoint": "')) + 10 if before is None else _after(text, before)
        changed = text[:at] + _another(text[at]) + text[at + 1 :]
        (auditor / "forged.json").write_text(changed)
        code, finding = _verify(auditor, "forged.json")
        refusal = finding.get("code") or finding.get("error", {}).get("code")
        yield Step("Tamper", f"one character changed in {title}: refused, {refusal}, exit {code}", code == REFUSED)
    (auditor / "forged.json").unlink()


def _after(text: str, before: str) -> int:
    """The place to change; a signature line is changed in its base64, well after the key's hash."""
    at = text.index(before) + len(before)
    return at + 60 if before == "— " else at


def _another(character: str) -> str:
    """Another character of the same sort, so that the change is not caught as a misspelling."""
    if character.isdigit():
        return str((int(character) + 1) % 10)
    return "b" if character in "aA" else "a"


def _erase(node: Path, auditor: Path, number: int) -> Iterator[Step]:
    with open_node(node) as (tools, _):
        shown = len(prove_record(tools, _TENANT, number, disclose=True).disclosures)
        by, now = PrincipalId("operator:demo"), tools.clock.now()
        erase_record(tools, _TENANT, number, by=by, reason="asked by the person", at=now)
        left = prove_record(tools, _TENANT, number, disclose=True)
    yield Step("Erase", f"{shown} value and its salt deleted from entry {number}", (shown, left.disclosures) == (1, ()))
    (auditor / "after.json").write_bytes(render_bundle(left))
    code, _ = _verify(auditor, "after.json")
    yield Step("Verify again", f"the entry is proven as before, without the value: exit {code}", code == HELD)


def _audit(node: Path) -> Step:
    with open_node(node, writable=False) as (tools, _):
        report = audit_ledger(tools, _TENANT, full=True)
    words = f"{report.entries_checked} entries and {report.checkpoints_checked} checkpoints read and verified"
    return Step("Verify the ledger", words, report.holds)


def _rewrite(node: Path, copy: Path) -> Step:
    """Somebody with full rights on the database's file changes one entry behind the program's back."""
    shutil.copytree(node, copy)
    target = _FOUNDING + _ENTRIES // 2 + 200
    with sqlite3.connect(copy / "assay.db") as connection:
        connection.execute("DROP TRIGGER ledger_no_update")
        connection.execute(
            "UPDATE ledger SET text = CAST(replace(CAST(text AS TEXT), 'clear', 'CLEAR') AS BLOB)"
            " WHERE sequence_number = ?",
            (target,),
        )
    connection.close()
    with open_node(copy, writable=False) as (tools, _):
        report = audit_ledger(tools, _TENANT, full=True)
    words = (
        f"entry {target} changed in a copy of the database: found at entry {report.first_bad_entry},"
        f" {report.code}; the checkpoint over {report.last_good_checkpoint} entries still holds"
    )
    return Step("Rewrite", words, report.first_bad_entry == target and report.last_good_checkpoint is not None)


def _verify(auditor: Path, name: str) -> tuple[int, dict[str, Any]]:
    return run_elsewhere(auditor, "verify", name, "--trust", "ledger.pub")
