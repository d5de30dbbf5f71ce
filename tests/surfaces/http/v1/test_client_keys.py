"""A person with a key of their own works at the desk through `assay.Client`: prepared there, signed here."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from assay.adapters.keyfile import create_key_file
from assay.kernel.errors import SignatureError
from assay.ports.signer import Signer
from assay.review.answer import SignedWith
from assay.review.errors import ReviewError
from assay.surfaces.client import AsyncClient, Client
from assay.surfaces.http.app import create_app
from assay.wiring import load_config
from tests.raising import raises
from tests.surfaces.http.v1._whole import Whole

_URL = "http://testserver.local"


def _own_key(whole: Whole, name: str, folder: Path) -> tuple[Signer, str]:
    """Somebody with a registered key, and their session: the node has no key of theirs."""
    own = create_key_file(folder / "own.key")
    assert own.public_key is not None
    whole.desk.add(name, roles=("reviewer",), public_key=own.public_key.hex())
    return own, whole.desk.session(name)


def test_a_persons_own_key_signs_through_the_client(whole: Whole, tmp_path: Path) -> None:
    """The node refuses to sign in their place, and it refuses their signature over anything else."""
    own, session = _own_key(whole, "user:kim", tmp_path)
    kim, asked = Client(_URL, key=session, http=whole.client), whole.desk.ticket(eligible_roles=("reviewer",))
    prepared = kim.prepare_answer(asked.id, "reject", seen=asked.shown_hash, reason="too low")
    signature, at = own.sign(bytes.fromhex(prepared.message)).hex(), prepared.answered_at
    before = whole.entries()
    with raises(ReviewError.reviewer_key):
        kim.answer_ticket(asked.id, "reject", seen=asked.shown_hash, reason="too low")
    with pytest.raises(SignatureError):
        kim.answer_ticket(
            asked.id, "approve", seen=asked.shown_hash, reason="too low", signature=signature, answered_at=at
        )
    assert whole.entries() == before
    done = kim.answer_ticket(
        asked.id, "reject", seen=asked.shown_hash, reason="too low", signature=signature, answered_at=at
    )
    answer = done.answered.answer
    assert (answer.signed_with, answer.signature) == (SignedWith.REVIEWER_KEY, signature)
    assert (answer.signing_key_id, answer.by) == (own.key_id, "user:kim")


def test_the_same_awaited(whole: Whole, tmp_path: Path) -> None:
    app: Any = create_app(whole.tools, load_config(whole.folder / "node"))
    own, session = _own_key(whole, "user:lena", tmp_path)
    asked = whole.desk.ticket(eligible_roles=("reviewer",))

    async def answered() -> str:
        http = httpx.AsyncClient(transport=httpx.ASGITransport(app))
        async with AsyncClient(_URL, key=session, http=http) as lena:
            prepared = await lena.prepare_answer(asked.id, "approve", seen=asked.shown_hash)
            signature = own.sign(bytes.fromhex(prepared.message)).hex()
            done = await lena.answer_ticket(
                asked.id, "approve", seen=asked.shown_hash, signature=signature, answered_at=prepared.answered_at
            )
            return done.answered.answer.signing_key_id

    assert asyncio.run(answered()) == own.key_id
