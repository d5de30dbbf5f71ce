"""Signed notes against published ones, and against everything the format forbids."""

import json
from pathlib import Path

import pytest

from assay.kernel.errors import CheckpointError, Error
from assay.kernel.note import (
    MAX_NOTE_BYTES,
    MAX_SIGNATURES,
    BadNoteSignatureError,
    KeyNameError,
    MalformedNoteError,
    MalformedVerifierKeyError,
    NoteSignature,
    RepeatedSignatureError,
    SignatureType,
    UnsignedNoteError,
    VerifierKey,
    note_signature,
    parse_base64,
    parse_note,
    parse_signature_lines,
    parse_verifier_key,
    render_note,
    render_signature_line,
    render_verifier_key,
    verify_note,
)
from tests.kernel._signing import LOG, OTHER

VECTORS = json.loads((Path(__file__).parent.parent / "vectors/merkle/signed-notes.json").read_text())
KEY = VerifierKey(name="example.org/log", public_key=LOG.public)
TEXT = "first line\n\nthird, after an empty one\n"
LINE = note_signature(KEY, LOG.sign(TEXT.encode()))
NOTE = render_note(TEXT.encode(), [LINE])


@pytest.mark.parametrize("case", VECTORS["notes"], ids=lambda case: case["name"])
def test_published_notes_verify_under_their_published_keys(case: dict[str, str]) -> None:
    """And they come back byte for byte."""
    key = parse_verifier_key(case["vkey"])
    note = parse_note(case["note"].encode())
    assert verify_note(note, [key]) == (key,)
    assert render_note(note.body, note.signatures) == case["note"].encode() == note.received
    assert render_verifier_key(key) == case["vkey"]


@pytest.mark.parametrize("case", VECTORS["notes"], ids=lambda case: case["name"])
def test_every_changed_character_of_a_published_note_is_refused(case: dict[str, str]) -> None:
    """In its text, its key name, its key hash and its signature."""
    key = parse_verifier_key(case["vkey"])
    received = case["note"].encode()
    for place in range(len(received)):
        changed = received[:place] + bytes([received[place] ^ 1]) + received[place + 1 :]
        with pytest.raises(CheckpointError):
            verify_note(parse_note(changed), [key])


@pytest.mark.parametrize("case", VECTORS["notes"], ids=lambda case: case["name"])
def test_every_cut_or_changed_verifier_key_is_refused(case: dict[str, str]) -> None:
    """The key hash covers the name, the type and the key."""
    text = case["vkey"]
    changed = [text[:place] + chr(ord(text[place]) ^ 1) + text[place + 1 :] for place in range(len(text))]
    for bad in [*changed, *(text[:end] for end in range(len(text))), *(text[start:] for start in range(1, len(text)))]:
        with pytest.raises(Error):
            parse_verifier_key(bad)


@pytest.mark.parametrize("case", VECTORS["refused_verifier_keys"], ids=lambda case: case["why"])
def test_verifier_keys_that_others_refuse_are_refused(case: dict[str, str]) -> None:
    """A hash that fits does not make a key of the wrong length or type good."""
    with pytest.raises(MalformedVerifierKeyError) as caught:
        parse_verifier_key(case["vkey"])
    assert caught.value.code == "checkpoint.verifier_key"


def test_a_cosigning_key_has_another_hash_and_does_not_sign_texts() -> None:
    """One key may serve two kinds of signature without one passing for the other."""
    cosigning = VerifierKey(name=KEY.name, public_key=KEY.public_key, type=SignatureType.COSIGNATURE)
    assert cosigning.key_hash != KEY.key_hash
    assert parse_verifier_key(render_verifier_key(cosigning)) == cosigning
    with pytest.raises(UnsignedNoteError):
        verify_note(parse_note(NOTE), [cosigning])


def test_the_text_ends_at_the_last_empty_line() -> None:
    """A text may hold empty lines of its own."""
    note = parse_note(NOTE)
    assert note.text == TEXT
    assert note.received == NOTE


@pytest.mark.parametrize(
    "received",
    [
        b"",
        b"text only\n",
        b"text\n\n",
        NOTE[:-1],
        NOTE + b"\n",
        NOTE + b"trailing\n",
        NOTE.replace("— ".encode(), b"- "),
        NOTE.replace("— example.org/log ".encode(), "— example.org/log\n".encode()),
        b"\x00" + NOTE,
        NOTE.replace(b"\n", b"\r\n"),
        b"\xff" + NOTE,
        b"text\n\n\xe2\x80\x94 name AAAA\n",
        b"text\n\n\xe2\x80\x94 name AAAAAA==\n",
        b"text\n\n\xe2\x80\x94 name AAAAAA=\n",
        b"text\n\n\xe2\x80\x94 name AAAA AAAA\n",
        b"text\n\n\xe2\x80\x94 name AAAAAAB=\n",
        b"x" * MAX_NOTE_BYTES + NOTE,
        TEXT.encode() + b"\n" + render_signature_line(LINE).encode() * (MAX_SIGNATURES + 1),
    ],
)
def test_what_the_format_forbids_is_refused(received: bytes) -> None:
    """Missing parts, control characters, loose base64, too much of anything."""
    with pytest.raises(MalformedNoteError) as caught:
        parse_note(received)
    assert caught.value.code == "checkpoint.note_form"


@pytest.mark.parametrize("name", ["", "a b", "a+b", "a\u00a0b", "a\u2003b"])
def test_a_key_name_holds_no_space_and_no_plus(name: str) -> None:
    """Also none of the wider Unicode spaces."""
    with pytest.raises(KeyNameError):
        VerifierKey(name=name, public_key=LOG.public)
    with pytest.raises(CheckpointError):
        parse_signature_lines(f"— {name} AAAAAAAA\n")


def test_lines_of_unknown_keys_are_passed_over_even_when_a_name_or_a_hash_is_known() -> None:
    """Only name and hash together name a key."""
    same_name = NoteSignature(name=KEY.name, key_hash=b"\0\0\0\0", signature=b"x")
    same_hash = NoteSignature(name="example.org/other", key_hash=KEY.key_hash, signature=b"y")
    note = parse_note(render_note(TEXT.encode(), [same_name, same_hash, LINE]))
    assert verify_note(note, [KEY]) == (KEY,)


def test_a_note_that_no_known_key_signed_is_refused() -> None:
    """However many others did."""
    with pytest.raises(UnsignedNoteError) as caught:
        verify_note(parse_note(NOTE), [VerifierKey(name=KEY.name, public_key=OTHER.public)])
    assert caught.value.code == "checkpoint.unsigned"


def test_one_bad_signature_of_a_known_key_refuses_the_whole_note() -> None:
    """Even beside a good one."""
    other = VerifierKey(name="example.org/other", public_key=OTHER.public)
    bad = note_signature(other, LOG.sign(TEXT.encode()))
    with pytest.raises(BadNoteSignatureError):
        verify_note(parse_note(render_note(TEXT.encode(), [LINE, bad])), [KEY, other])


def test_a_known_key_signs_once() -> None:
    """Two lines of one key cannot both be meant."""
    with pytest.raises(RepeatedSignatureError):
        verify_note(parse_note(render_note(TEXT.encode(), [LINE, LINE])), [KEY])


def test_a_text_that_could_not_be_read_back_is_not_rendered() -> None:
    """Without its line feed, the last line would run into the signatures."""
    with pytest.raises(MalformedNoteError):
        render_note(b"no line feed", [LINE])
    with pytest.raises(MalformedNoteError):
        render_note("text\n\n— x AAAAAAAA".encode(), [LINE])


def test_base64_that_is_not_ascii_is_refused() -> None:
    """And does not escape as some other error."""
    with pytest.raises(MalformedNoteError):
        parse_base64("ÄÄÄÄ")
