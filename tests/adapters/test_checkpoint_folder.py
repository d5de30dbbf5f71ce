"""The checkpoint remembered outside the database never goes back."""

from pathlib import Path

import pytest

from assay.adapters.checkpoint_folder import CheckpointFolder
from assay.kernel.checkpoint import Checkpoint, ShrunkLogError, log_key, render_checkpoint_body, seal_checkpoint
from assay.kernel.errors import CheckpointError
from assay.kernel.ids import TenantId
from assay.kernel.note import note_signature
from tests.kernel._seed_signer import SeedSigner

_ACME, _OTHER = TenantId("acme"), TenantId("other")
_KEY = SeedSigner(3)


def _note(size: int) -> bytes:
    checkpoint = Checkpoint(origin="log.example/acme", size=size, root=bytes([size]) * 32)
    signature = _KEY.sign(render_checkpoint_body(checkpoint))
    line = note_signature(log_key(checkpoint.origin, _KEY.public_key), signature)
    return seal_checkpoint(checkpoint, [line]).note.received


def test_a_smaller_checkpoint_is_refused_and_the_larger_one_stays(tmp_path: Path) -> None:
    """Also for whoever opens the folder anew; another tenant's is compared with its own alone."""
    memory = CheckpointFolder(tmp_path)
    memory.store(_ACME, _note(8))
    with pytest.raises(ShrunkLogError, match="at least 8 entries, got one over 3"):
        CheckpointFolder(tmp_path).store(_ACME, _note(3))
    memory.store(_OTHER, _note(3))
    assert (memory.load(_ACME), memory.load(_OTHER)) == (_note(8), _note(3))
    memory.store(_ACME, _note(8))
    memory.store(_ACME, _note(9))
    assert memory.load(_ACME) == _note(9)


def test_what_is_no_checkpoint_is_not_remembered(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError):
        CheckpointFolder(tmp_path).store(_ACME, b"nothing")
    assert CheckpointFolder(tmp_path).tenants() == ()
