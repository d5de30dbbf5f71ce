"""What a witness answers: it cosigns what continues, and never anything else."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from assay.kernel.checkpoint import SignedCheckpoint, log_key
from assay.kernel.errors import CheckpointError
from assay.kernel.merkle import leaf_hash
from assay.kernel.note import parse_verifier_key
from assay.kernel.tile import consistency_path
from assay.kernel.witness import (
    Known,
    MalformedRequestError,
    WitnessRequest,
    WitnessStatus,
    judge_request,
    parse_request,
    render_request,
)
from tests.kernel._signing import LOG, ORIGIN, OTHER, head, signed
from tests.kernel._store import stored

VECTORS = json.loads((Path(__file__).parent.parent / "vectors/merkle/signed-notes.json").read_text())
RECORDS = [b"record %d" % number for number in range(20)]
TILES = stored([leaf_hash(record) for record in RECORDS])
KEYS = {ORIGIN: [log_key(ORIGIN, LOG.public)]}
OLD = head(RECORDS[:13])
KNOWN = Known(size=OLD.size, root=OLD.root)


def _request(old: int = 13, checkpoint: SignedCheckpoint | None = None) -> WitnessRequest:
    path = consistency_path(old, 20, TILES.read)
    return WitnessRequest(old_size=old, path=path, signed=checkpoint or signed(head(RECORDS)))


def test_a_request_reads_back() -> None:
    """`old N`, one hash per line, a blank line, the checkpoint as it was signed."""
    text = render_request(_request())
    assert text.startswith(b"old 13\n")
    assert parse_request(text) == _request()
    assert parse_request(render_request(_request(0))) == _request(0)


def test_a_checkpoint_that_continues_what_is_known_is_cosigned() -> None:
    """The verdict says what to store before signing."""
    verdict = judge_request(_request(), KNOWN, KEYS)
    assert verdict.status is WitnessStatus.COSIGN
    assert verdict.accepted == Known(size=20, root=head(RECORDS).root)


def test_the_first_checkpoint_of_a_known_log_is_cosigned() -> None:
    """From size 0, with nothing to be consistent with."""
    assert judge_request(_request(0), None, KEYS).status is WitnessStatus.COSIGN


def test_the_same_checkpoint_again_is_cosigned_again() -> None:
    """A log that lost the answer may ask once more."""
    known = Known(size=20, root=head(RECORDS).root)
    assert judge_request(_request(20), known, KEYS).accepted == known


def test_an_unknown_log_is_404() -> None:
    """Also one whose list of keys is empty."""
    assert judge_request(_request(), KNOWN, {}).status is WitnessStatus.UNKNOWN_LOG
    assert judge_request(_request(), KNOWN, {ORIGIN: []}).status is WitnessStatus.UNKNOWN_LOG


def test_a_checkpoint_not_signed_by_the_log_is_403() -> None:
    """By a stranger, or changed on the way; known state is not even looked at."""
    forged = _request(checkpoint=signed(head(RECORDS), OTHER))
    assert judge_request(forged, KNOWN, KEYS).status is WitnessStatus.UNSIGNED
    text = render_request(_request()).replace(b"\n20\n", b"\n21\n")
    assert judge_request(parse_request(text), KNOWN, KEYS).status is WitnessStatus.UNSIGNED


def test_an_old_size_beyond_the_checkpoint_is_400() -> None:
    """It cannot be what the log meant."""
    beyond = replace(_request(), old_size=21)
    assert judge_request(beyond, KNOWN, KEYS).status is WitnessStatus.MALFORMED


@pytest.mark.parametrize(("old", "known"), [(13, None), (0, KNOWN), (12, KNOWN), (14, KNOWN)])
def test_an_old_size_that_is_not_the_known_one_is_409_and_says_the_known_one(old: int, known: Known | None) -> None:
    """So that the log can ask again with the right proof; a stale or replayed request ends here too."""
    verdict = judge_request(_request(old), known, KEYS)
    assert verdict.status is WitnessStatus.CONFLICT
    assert verdict.known_size == (known.size if known else 0)
    assert verdict.accepted is None


def test_a_smaller_checkpoint_is_never_cosigned() -> None:
    """An old checkpoint, truly signed, shown again to roll the log back."""
    stale = WitnessRequest(old_size=13, path=(), signed=signed(OLD))
    verdict = judge_request(stale, Known(size=20, root=head(RECORDS).root), KEYS)
    assert verdict.status is WitnessStatus.CONFLICT
    assert verdict.known_size == 20


def test_another_root_of_the_known_size_is_409() -> None:
    """Two trees of one size, both signed: the log has forked."""
    other = signed(head([b"changed", *RECORDS[1:]]))
    verdict = judge_request(_request(20, other), Known(size=20, root=head(RECORDS).root), KEYS)
    assert verdict.status is WitnessStatus.CONFLICT
    assert "forked" in verdict.reason


def test_a_proof_that_does_not_hold_is_422() -> None:
    """A rewritten past, a path cut short, a path where none belongs."""
    rewritten = _request(checkpoint=signed(head([b"changed", *RECORDS[1:]])))
    cut = replace(_request(), path=_request().path[1:])
    surplus = replace(_request(0), path=_request().path)
    for request, known in ((rewritten, KNOWN), (cut, KNOWN), (surplus, None)):
        assert judge_request(request, known, KEYS).status is WitnessStatus.INCONSISTENT


def test_a_log_may_sign_under_a_name_that_is_not_its_origin() -> None:
    """As the Go checksum database does; the witness is told the key with its name."""
    case = VECTORS["notes"][1]
    key = parse_verifier_key(case["vkey"])
    request = parse_request(b"old 0\n\n" + case["note"].encode())
    assert judge_request(request, None, {"go.sum database tree": [key]}).status is WitnessStatus.COSIGN


NOTE = signed(head(RECORDS)).note.received


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"old 13\n",
        b"\n\n" + NOTE,
        b"new 13\n\n" + NOTE,
        b"old 013\n\n" + NOTE,
        b"old 13 \n\n" + NOTE,
        b"old 13\nAAAA\n\n" + NOTE,
        b"old 13\n" + (b"A" * 43 + b"=\n") * 64 + b"\n" + NOTE,
    ],
)
def test_a_body_that_is_no_request_is_refused(body: bytes) -> None:
    """This refusal is the protocol's 400."""
    with pytest.raises(MalformedRequestError) as caught:
        parse_request(body)
    assert caught.value.code == "checkpoint.witness_request"


def test_a_request_around_no_checkpoint_is_refused() -> None:
    """With the code of the note that could not be read."""
    with pytest.raises(CheckpointError):
        parse_request(b"old 13\n\nnot a note\n")
