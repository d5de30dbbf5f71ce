"""Checkpoints: what a log says about itself, and what it may never say after that."""

import json
from pathlib import Path

import pytest

from assay.kernel.checkpoint import (
    Checkpoint,
    ForkedLogError,
    MalformedCheckpointError,
    OriginError,
    ShrunkLogError,
    add_signatures,
    log_key,
    parse_checkpoint,
    render_checkpoint_body,
    seal_checkpoint,
    verify_checkpoint,
    verify_growth,
)
from assay.kernel.errors import CheckpointError
from assay.kernel.instant import parse_instant
from assay.kernel.merkle import EMPTY_ROOT, leaf_hash
from assay.kernel.note import BadNoteSignatureError, UnsignedNoteError, note_signature, render_note
from assay.kernel.tile import consistency_path
from tests.kernel._signing import LOG, ORIGIN, OTHER, SIGNED_AT, head, log_line, signed
from tests.kernel._store import stored

VECTORS = json.loads((Path(__file__).parent.parent / "vectors/merkle/signed-notes.json").read_text())
RECORDS = [b"%d" % number for number in range(20)]
TILES = stored([leaf_hash(record) for record in RECORDS])
ROOT = EMPTY_ROOT


def _note(text: str) -> bytes:
    """A note with this text, signed as if it were a checkpoint of ours."""
    return render_note(text.encode(), [note_signature(log_key(ORIGIN, LOG.public), LOG.sign(text.encode()))])


def test_the_example_of_the_checkpoint_format_is_read() -> None:
    """Origin, size, root, and the lines of a log and of a witness."""
    note = parse_checkpoint(VECTORS["cosigned"]["note"].encode())
    assert (note.checkpoint.origin, note.checkpoint.size) == ("example.com/behind-the-sofa", 20_852_163)
    assert note.checkpoint.root.hex() == "0ac5186a91863e8e1d90c808014aa89bf5da8e3ee1d9f07630f0378f68f1ab62"
    assert (note.checkpoint.signed_at, note.checkpoint.extensions) == (None, ())
    assert [line.name for line in note.note.signatures] == ["example.com/behind-the-sofa", "witness.example.com/w1"]
    assert render_checkpoint_body(note.checkpoint) == note.note.body


def test_a_signed_checkpoint_reads_back_and_names_its_signer() -> None:
    """`signed_at` is our one extension line; the signature covers it."""
    checkpoint = head(RECORDS)
    note = signed(checkpoint)
    assert parse_checkpoint(note.note.received) == note
    assert note.checkpoint == checkpoint
    assert note.note.text.splitlines()[3] == "signed_at 2026-03-01T12:00:00Z"
    assert verify_checkpoint(note, ORIGIN, [OTHER.public, LOG.public]) == LOG.key_id


def test_extension_lines_of_others_are_kept_and_covered_by_the_signature() -> None:
    """We may not understand them, but nobody can change them."""
    text = f"{ORIGIN}\n0\n{_b64(ROOT)}\nfuture line\nsigned_at 2026-03-01T12:00:00Z\nanother\n"
    note = parse_checkpoint(_note(text))
    assert note.checkpoint.extensions == ("future line", "another")
    assert note.checkpoint.signed_at == SIGNED_AT
    verify_checkpoint(note, ORIGIN, [LOG.public])
    bent = parse_checkpoint(note.note.received.replace(b"future line", b"changed line"))
    with pytest.raises(BadNoteSignatureError):
        verify_checkpoint(bent, ORIGIN, [LOG.public])


def _b64(raw: bytes) -> str:
    return render_checkpoint_body(Checkpoint(origin="x", size=0, root=raw)).decode().splitlines()[2]


@pytest.mark.parametrize(
    "text",
    [
        "origin\n0\n",
        f"origin\n0\n{_b64(ROOT)}\n\nextension\n",
        f"\n0\n{_b64(ROOT)}\n",
        f"origin\n00\n{_b64(ROOT)}\n",
        f"origin\n-1\n{_b64(ROOT)}\n",
        f"origin\n+1\n{_b64(ROOT)}\n",
        f"origin\n1 \n{_b64(ROOT)}\n",
        f"origin\n٣\n{_b64(ROOT)}\n",
        f"origin\n9223372036854775808\n{_b64(ROOT)}\n",
        f"origin\n99999999999999999999\n{_b64(ROOT)}\n",
        f"origin\n0\n{_b64(ROOT)[:-1]}\n",
        "origin\n0\nAAAA\n",
        f"origin\n0\n{_b64(ROOT)[:-2]}V=\n",
        f"origin\n0\n{_b64(ROOT)}\nsigned_at yesterday\n",
        f"origin\n0\n{_b64(ROOT)}\nsigned_at 2026-03-01T13:00:00+01:00\n",
        f"origin\n0\n{_b64(ROOT)}\nsigned_at 2026-03-01T12:00:00.000Z\n",
        f"origin\n0\n{_b64(ROOT)}\nsigned_at 2026-03-01T12:00:00Z\nsigned_at 2026-03-01T12:00:00Z\n",
    ],
)
def test_a_text_that_is_no_checkpoint_is_refused(text: str) -> None:
    """Each line has exactly one way to be written."""
    with pytest.raises(MalformedCheckpointError) as caught:
        parse_checkpoint(_note(text))
    assert caught.value.code == "checkpoint.form"


@pytest.mark.parametrize(
    ("origin", "size", "root", "extensions"),
    [
        ("", 0, ROOT, ()),
        ("two\nlines", 0, ROOT, ()),
        ("log", -1, ROOT, ()),
        ("log", 2**63, ROOT, ()),
        ("log", 0, ROOT[:-1], ()),
        ("log", 0, ROOT, ("",)),
        ("log", 0, ROOT, ("a\nb",)),
    ],
)
def test_a_checkpoint_that_has_no_text_cannot_be_made(
    origin: str, size: int, root: bytes, extensions: tuple[str, ...]
) -> None:
    """What cannot be read back is not signed."""
    with pytest.raises(MalformedCheckpointError):
        Checkpoint(origin=origin, size=size, root=root, extensions=extensions)


def test_every_changed_bit_of_a_signed_checkpoint_is_refused() -> None:
    """Origin, size, root, time, key name, key hash and signature: no byte is free."""
    received = signed(head(RECORDS)).note.received
    for place in range(len(received)):
        for bit in (0, 3, 6):
            changed = received[:place] + bytes([received[place] ^ 1 << bit]) + received[place + 1 :]
            with pytest.raises(CheckpointError):
                verify_checkpoint(parse_checkpoint(changed), ORIGIN, [LOG.public])


def test_a_checkpoint_of_another_log_or_by_another_key_is_refused() -> None:
    """A key that serves two logs does not let one stand in for the other."""
    elsewhere = signed(head(RECORDS, origin="example.org/assay/other"))
    with pytest.raises(OriginError) as caught:
        verify_checkpoint(elsewhere, ORIGIN, [LOG.public])
    assert caught.value.code == "checkpoint.origin"
    with pytest.raises(UnsignedNoteError):
        verify_checkpoint(signed(head(RECORDS), OTHER), ORIGIN, [LOG.public])
    with pytest.raises(UnsignedNoteError):
        verify_checkpoint(signed(head(RECORDS)), ORIGIN, [])


def test_more_signatures_do_not_change_the_text() -> None:
    """During a rotation both keys sign; whoever trusts either is served."""
    checkpoint = head(RECORDS)
    first = signed(checkpoint)
    both = add_signatures(first, [log_line(checkpoint, OTHER)])
    assert both.note.body == first.note.body
    assert verify_checkpoint(both, ORIGIN, [OTHER.public]) == OTHER.key_id
    assert verify_checkpoint(both, ORIGIN, [LOG.public]) == LOG.key_id
    assert seal_checkpoint(checkpoint, both.note.signatures) == both


def test_a_log_that_grows_honestly_may_go_on() -> None:
    """From nothing, by nothing, and by anything consistent."""
    verify_growth(None, head([]), [])
    verify_growth(None, head(RECORDS), [])
    verify_growth(head(RECORDS), head(RECORDS, signed_at=parse_instant("2026-03-02T00:00:00Z")), [])
    for size in range(1, 20):
        verify_growth(head(RECORDS[:size]), head(RECORDS), consistency_path(size, 20, TILES.read))


def test_a_smaller_tree_is_never_signed() -> None:
    """A stale or replayed checkpoint is one that shrinks."""
    with pytest.raises(ShrunkLogError) as caught:
        verify_growth(head(RECORDS), head(RECORDS[:19]), [])
    assert caught.value.code == "checkpoint.shrinks"


def test_a_tree_that_contradicts_the_last_one_is_never_signed() -> None:
    """Another root at the same size, a rewritten past, a path that belongs elsewhere."""
    rewritten = head([b"changed", *RECORDS[1:]])
    path = consistency_path(13, 20, TILES.read)
    for previous, following, way in (
        (head(RECORDS), rewritten, ()),
        (head(RECORDS[:13]), rewritten, path),
        (head(RECORDS[:13]), head(RECORDS), path[1:]),
        (head(RECORDS[:13]), head(RECORDS), ()),
        (None, Checkpoint(origin=ORIGIN, size=0, root=leaf_hash(b"")), ()),
    ):
        with pytest.raises(ForkedLogError) as caught:
            verify_growth(previous, following, way)
        assert caught.value.code == "checkpoint.forks"


def test_a_log_does_not_continue_another() -> None:
    """Origins are compared before anything else."""
    with pytest.raises(OriginError):
        verify_growth(head(RECORDS), head(RECORDS, origin="example.org/assay/other"), [])
