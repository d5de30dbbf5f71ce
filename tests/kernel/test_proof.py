"""Proofs as text: written as the format says, read strictly, believed only when everything fits."""

import pytest
from msgspec.structs import replace

from assay.kernel.errors import CheckpointError, Error, MerkleError
from assay.kernel.merkle import RootMismatchError, leaf_hash
from assay.kernel.note import MAX_NOTE_BYTES
from assay.kernel.proof import (
    MalformedProofTextError,
    TlogProof,
    parse_tlog_proof,
    render_tlog_proof,
    verify_tlog_proof,
)
from assay.kernel.tile import inclusion_path
from tests.kernel._signing import LOG, ORIGIN, OTHER, head, signed
from tests.kernel._store import stored

RECORDS = [b"record %d" % number for number in range(300)]
TILES = stored([leaf_hash(record) for record in RECORDS])
INDEX = 123
PROOF = TlogProof(index=INDEX, path=inclusion_path(INDEX, 300, TILES.read), checkpoint=signed(head(RECORDS)))
TEXT = render_tlog_proof(PROOF)


def test_a_proof_reads_back_and_verifies() -> None:
    """First line, index line, one hash per line, a blank line, the checkpoint as it was signed."""
    lines = TEXT.decode().split("\n")
    assert lines[:2] == ["c2sp.org/tlog-proof@v1", "index 123"]
    assert lines[11:13] == ["", ORIGIN]
    assert parse_tlog_proof(TEXT) == PROOF
    assert verify_tlog_proof(PROOF, RECORDS[INDEX], ORIGIN, [LOG.public]) == LOG.key_id


def test_extra_bytes_travel_along_and_prove_nothing() -> None:
    """They stand on the second line, and nobody has signed them."""
    proof = replace(PROOF, extra=b"opaque")
    text = render_tlog_proof(proof)
    assert text.split(b"\n")[1] == b"extra b3BhcXVl"
    assert parse_tlog_proof(text) == proof
    assert parse_tlog_proof(render_tlog_proof(replace(PROOF, extra=b""))).extra == b""


def test_a_tree_of_one_leaf_has_an_empty_path() -> None:
    """The leaf is the root."""
    proof = TlogProof(index=0, path=(), checkpoint=signed(head(RECORDS[:1])))
    assert parse_tlog_proof(render_tlog_proof(proof)) == proof
    verify_tlog_proof(proof, RECORDS[0], ORIGIN, [LOG.public])


def test_every_changed_byte_of_a_proof_is_refused() -> None:
    """No byte of the text is free: header, index, each hash, checkpoint, signature."""
    for place in range(len(TEXT)):
        for bit in (0, 5):
            changed = TEXT[:place] + bytes([TEXT[place] ^ 1 << bit]) + TEXT[place + 1 :]
            with pytest.raises((CheckpointError, MerkleError)):
                verify_tlog_proof(parse_tlog_proof(changed), RECORDS[INDEX], ORIGIN, [LOG.public])


def test_every_cut_of_a_proof_is_refused() -> None:
    """A truncated file never proves less than it says; it proves nothing."""
    for end in range(len(TEXT)):
        with pytest.raises(Error):
            verify_tlog_proof(parse_tlog_proof(TEXT[:end]), RECORDS[INDEX], ORIGIN, [LOG.public])


def test_lines_left_out_doubled_or_swapped_are_refused() -> None:
    """In the head of the proof."""
    lines = TEXT.split(b"\n")
    for place in range(11):
        for changed in (
            lines[:place] + lines[place + 1 :],
            lines[: place + 1] + lines[place:],
            [*lines[:place], lines[place + 1], lines[place], *lines[place + 2 :]],
        ):
            with pytest.raises(Error):
                verify_tlog_proof(parse_tlog_proof(b"\n".join(changed)), RECORDS[INDEX], ORIGIN, [LOG.public])


def test_a_proof_is_good_for_one_record_one_log_and_its_keys() -> None:
    """Another record, another log and another key are three different refusals."""
    with pytest.raises(RootMismatchError):
        verify_tlog_proof(PROOF, RECORDS[INDEX + 1], ORIGIN, [LOG.public])
    with pytest.raises(CheckpointError):
        verify_tlog_proof(PROOF, RECORDS[INDEX], "example.org/elsewhere", [LOG.public])
    with pytest.raises(CheckpointError):
        verify_tlog_proof(PROOF, RECORDS[INDEX], ORIGIN, [OTHER.public])


def test_a_replayed_checkpoint_of_another_size_is_refused() -> None:
    """Old and new trees need other paths."""
    for size in (299, 200, 124):
        stale = replace(PROOF, checkpoint=signed(head(RECORDS[:size])))
        with pytest.raises(MerkleError):
            verify_tlog_proof(stale, RECORDS[INDEX], ORIGIN, [LOG.public])


NOTE = PROOF.checkpoint.note.received


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"c2sp.org/tlog-proof@v1",
        b"c2sp.org/tlog-proof@v2\nindex 0\n\n" + NOTE,
        b"c2sp.org/tlog-proof@v1\n\n" + NOTE,
        b"c2sp.org/tlog-proof@v1\nextra AAAA\n\n" + NOTE,
        b"c2sp.org/tlog-proof@v1\nindex 01\n\n" + NOTE,
        b"c2sp.org/tlog-proof@v1\nindex -1\n\n" + NOTE,
        b"c2sp.org/tlog-proof@v1\nindex 0\nextra AAAA\n\n" + NOTE,
        b"c2sp.org/tlog-proof@v1\nextra AAA\nindex 0\n\n" + NOTE,
        b"c2sp.org/tlog-proof@v1\nindex 0\nAAAA\n\n" + NOTE,
        b"c2sp.org/tlog-proof@v1\r\nindex 0\n\n" + NOTE,
        b"c2sp.org/tlog-proof@v1\nindex 0\n\xff\n\n" + NOTE,
        b"c2sp.org/tlog-proof@v1\nindex 0\n" + TEXT.split(b"\n")[3] + b"\n" + b"A" * 43 + b"=\n" * 64 + b"\n" + NOTE,
        b"c2sp.org/tlog-proof@v1\nindex 0\n" + (b"A" * 43 + b"=\n") * 64 + b"\n" + NOTE,
        b"x" * (MAX_NOTE_BYTES + 1),
    ],
)
def test_a_text_that_is_no_proof_is_refused(text: bytes) -> None:
    """Each with the same code."""
    with pytest.raises(MalformedProofTextError) as caught:
        parse_tlog_proof(text)
    assert caught.value.code == "checkpoint.proof_form"
