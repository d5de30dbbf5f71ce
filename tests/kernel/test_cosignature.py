"""Cosignatures: how many witnesses saw the same log."""

import json
from pathlib import Path

import pytest

from assay.kernel.checkpoint import add_signatures, parse_checkpoint
from assay.kernel.cosignature import (
    CosignatureTimeError,
    MissingCosignaturesError,
    cosignature_line,
    cosignature_message,
    parse_cosignature_time,
    verify_cosignatures,
    witness_key,
)
from assay.kernel.errors import CheckpointError
from assay.kernel.instant import parse_instant, render_instant
from assay.kernel.note import (
    BadNoteSignatureError,
    NoteSignature,
    RepeatedSignatureError,
    note_signature,
    parse_signature_lines,
    render_signature_line,
)
from tests.kernel._signing import LOG, SECOND_WITNESS, WITNESS, cosign, head, signed

VECTORS = json.loads((Path(__file__).parent.parent / "vectors/merkle/signed-notes.json").read_text())
NOTE = signed(head([b"a", b"b", b"c"]))
WITNESSES = {"w.example/1": WITNESS.public, "w.example/2": SECOND_WITNESS.public}
FIRST = cosign(NOTE, "w.example/1", WITNESS)
SECOND = cosign(NOTE, "w.example/2", SECOND_WITNESS, "2026-03-01T12:01:00Z")
COSIGNED = add_signatures(NOTE, [FIRST, SECOND])


def test_the_example_of_the_cosignature_format_has_its_time() -> None:
    """1679315147, in the first eight bytes of the signature."""
    note = parse_checkpoint(VECTORS["cosigned"]["note"].encode())
    at = parse_cosignature_time(note.note.signatures[1])
    assert at.timestamp() == VECTORS["cosigned"]["cosigned_at"]
    expected = b"cosignature/v1\ntime 1679315147\nexample.com/behind-the-sofa\n20852163\n"
    assert cosignature_message(note.note.body, at).startswith(expected)


def test_witnesses_that_cosigned_are_counted_with_their_times() -> None:
    """Those that did not are simply missing."""
    found = verify_cosignatures(COSIGNED, WITNESSES, 2)
    assert [(c.name, render_instant(c.cosigned_at)) for c in found] == [
        ("w.example/1", "2026-03-01T12:00:05Z"),
        ("w.example/2", "2026-03-01T12:01:00Z"),
    ]
    assert len(verify_cosignatures(add_signatures(NOTE, [FIRST]), WITNESSES, 1)) == 1
    assert verify_cosignatures(NOTE, WITNESSES, 0) == ()


def test_too_few_witnesses_are_refused() -> None:
    """The threshold is the verifier's."""
    with pytest.raises(MissingCosignaturesError) as caught:
        verify_cosignatures(add_signatures(NOTE, [FIRST]), WITNESSES, 2)
    assert caught.value.code == "checkpoint.cosignatures"
    with pytest.raises(MissingCosignaturesError):
        verify_cosignatures(COSIGNED, {}, 1)


def test_one_key_under_two_names_is_one_witness() -> None:
    """The message does not name the witness, so a second name costs nothing to make."""
    twice = add_signatures(NOTE, [FIRST, cosign(NOTE, "w.example/alias", WITNESS)])
    names = {"w.example/1": WITNESS.public, "w.example/alias": WITNESS.public}
    assert len(verify_cosignatures(twice, names, 1)) == 1
    with pytest.raises(MissingCosignaturesError):
        verify_cosignatures(twice, names, 2)


def test_every_changed_byte_of_a_cosignature_is_refused() -> None:
    """Key hash, time and signature alike; with an unknown hash the witness is missing."""
    raw = FIRST.key_hash + FIRST.signature
    for place in range(len(raw)):
        bent = raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :]
        line = NoteSignature(name=FIRST.name, key_hash=bent[:4], signature=bent[4:])
        with pytest.raises(CheckpointError):
            verify_cosignatures(add_signatures(NOTE, [line]), WITNESSES, 1)


def test_a_cosignature_of_another_checkpoint_is_refused() -> None:
    """A replayed line does not fit a new text."""
    grown = signed(head([b"a", b"b", b"c", b"d"]))
    with pytest.raises(BadNoteSignatureError):
        verify_cosignatures(add_signatures(grown, [FIRST]), WITNESSES, 1)


def test_a_plain_signature_of_a_witness_is_not_a_cosignature() -> None:
    """Without its time and header it says something else."""
    key = witness_key("w.example/1", WITNESS.public)
    plain = note_signature(key, WITNESS.sign(NOTE.note.body))
    with pytest.raises(BadNoteSignatureError):
        verify_cosignatures(add_signatures(NOTE, [plain]), WITNESSES, 1)


def test_a_witness_cosigns_once() -> None:
    """Two times cannot both be meant."""
    again = cosign(NOTE, "w.example/1", WITNESS, "2026-03-01T13:00:00Z")
    with pytest.raises(RepeatedSignatureError):
        verify_cosignatures(add_signatures(NOTE, [FIRST, again]), WITNESSES, 1)


def test_the_answer_of_a_witness_is_read_as_lines() -> None:
    """One or more signature lines and nothing else."""
    answer = render_signature_line(FIRST) + render_signature_line(SECOND)
    assert parse_signature_lines(answer) == (FIRST, SECOND)


@pytest.mark.parametrize("text", ["1969-12-31T23:59:59Z", "2026-03-01T12:00:00.5Z"])
def test_a_time_that_is_not_whole_seconds_since_1970_is_refused(text: str) -> None:
    """There is no room for it in the message."""
    at = parse_instant(text)
    with pytest.raises(CosignatureTimeError):
        cosignature_message(NOTE.note.body, at)
    with pytest.raises(CosignatureTimeError):
        cosignature_line("w.example/1", WITNESS.public, at, b"x" * 64)


@pytest.mark.parametrize("seconds", [2**63, 2**64 - 1, 253_402_300_800])
def test_a_time_that_no_calendar_shows_is_refused(seconds: int) -> None:
    """A coded refusal, not an overflow."""
    stamped = seconds.to_bytes(8) + LOG.sign(b"")
    line = note_signature(witness_key("w.example/1", WITNESS.public), stamped)
    with pytest.raises(CosignatureTimeError) as caught:
        verify_cosignatures(add_signatures(NOTE, [line]), WITNESSES, 1)
    assert caught.value.code == "checkpoint.cosignature_time"
