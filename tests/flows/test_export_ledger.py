"""Exports: one state of the ledger, in forms that others read."""

from pathlib import Path

import pytest

from assay.flows.errors.ledger import NoCheckpointError
from assay.flows.ledger.append_record import append_record
from assay.flows.ledger.export_ledger import ExportForm, export_ledger
from assay.flows.ledger.sign_checkpoint import sign_checkpoint
from assay.kernel.bundle import parse_bundle
from assay.kernel.check_bundle import check_bundle
from assay.kernel.commitment import ReservedKeyError
from assay.kernel.key import TrustAnchors
from assay.kernel.ledger import EmptyBodyError
from tests.flows._node import TENANT, append_notes, new_node, opened

_Files = dict[str, bytes]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return new_node(tmp_path)


def _exported(home: Path, form: ExportForm, **ends: int) -> _Files:
    files: _Files = {}

    def put(name: str, content: bytes) -> None:
        files[name] = files.get(name, b"") + content

    with opened(home, writable=False) as tools:
        export_ledger(tools, TENANT, form, put, **ends)
    return files


def test_every_exported_bundle_proves_its_entry(home: Path) -> None:
    with opened(home) as tools:
        append_notes(tools, 5)
        sign_checkpoint(tools, TENANT, at=tools.clock.now())
        key = tools.ledger_signer.public_key
        assert key is not None
    files = _exported(home, ExportForm.BUNDLE, first=2, last=7)
    assert len(files) == 6
    anchors = TrustAnchors(public_keys=frozenset([key]))
    assert all(check_bundle(parse_bundle(content), anchors).holds for content in files.values())


def test_what_needs_a_checkpoint_says_so(home: Path) -> None:
    with pytest.raises(NoCheckpointError):
        _exported(home, ExportForm.BUNDLE)


def test_a_record_that_is_no_object_or_looks_sealed_is_not_appended(home: Path) -> None:
    """`$commitment` is written by sealing alone: nobody passes off a commitment of his own."""
    with opened(home) as tools:
        with pytest.raises(EmptyBodyError):
            append_record(tools, TENANT, [1], at=tools.clock.now())
        with pytest.raises(ReservedKeyError):
            append_record(tools, TENANT, {"a": {"$commitment": "sha256:00"}}, at=tools.clock.now())
