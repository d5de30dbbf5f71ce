"""The end of the demonstration: an auditor gets a file and a key from each node, and verifies every entry of it."""

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from assay.flows.ledger.report_page import ReportForm, render_form
from assay.flows.ledger.report_period import ReportScope, report_period
from assay.flows.ledger.sign_checkpoint import sign_checkpoint
from assay.kernel.ids import TenantId
from assay.kernel.instant import parse_instant
from assay.surfaces.cli.demo_step import HELD, Step, run_elsewhere
from assay.wiring import open_node

_TENANT = TenantId("default")
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
