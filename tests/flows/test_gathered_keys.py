"""What is kept in memory between two compilations of a key changes nothing but the time they take."""

from random import Random

from assay.flows.truth.compile_job import GatheredKeys, StoredText
from assay.truth.contract import Contract
from assay.truth.errors import TruthError
from assay.truth.gather import Gathered
from assay.truth.observation import render_observation
from assay.truth.state import render_truth_state
from tests.raising import raises
from tests.truth.compiling import KEY, at, compiled, flood, observed, trusted

CONTRACT = flood()
NAMES = [f"r{number:02}" for number in range(40)]
TRUST = trusted(**dict.fromkeys(NAMES, "silver"))


def _stored(name: str, *, received: str = "12:20") -> StoredText:
    hashed = observed(f"user:{name}", {"severity": "high", "water_level_meters": int(name[1:]) / 20})
    return StoredText(render_observation(hashed.observation).decode(), hashed.observation_hash, at(received))


STORED = tuple(sorted(map(_stored, NAMES), key=lambda one: one.hash))


def _bytes(gathered: Gathered, contract: Contract = CONTRACT) -> bytes:
    return render_truth_state(compiled(contract, gathered, TRUST))


def _anew(stored: tuple[StoredText, ...], contract: Contract = CONTRACT) -> bytes:
    return _bytes(GatheredKeys().gather(contract, KEY, stored), contract)


def test_a_key_that_grows_compiles_to_the_bytes_of_one_that_is_read_anew() -> None:
    """By one, by many, in any order, by nothing, and when it shrinks."""
    memory, any_order = GatheredKeys(), Random(7)  # noqa: S311  any order will do
    for count in (1, 2, 3, 3, 4, 30, 31, 40, 40, 5, 0, 6):
        stored = tuple(any_order.sample(STORED, count))
        assert _bytes(memory.gather(CONTRACT, KEY, stored)) == _anew(stored)
    for count in range(1, 41):
        stored = STORED[:count]
        assert _bytes(memory.gather(CONTRACT, KEY, stored)) == _anew(stored)


def test_what_is_in_memory_is_not_made_ready_again() -> None:
    """The texts are equal and other objects, as a store gives them."""
    memory = GatheredKeys()
    first = memory.gather(CONTRACT, KEY, STORED[:30])
    again = memory.gather(CONTRACT, KEY, tuple(StoredText(f"{one.text} "[:-1], *one[1:]) for one in STORED[:30]))
    assert again is first
    for more in (memory.gather(CONTRACT, KEY, STORED[:31]), memory.gather(CONTRACT, KEY, STORED)):
        assert {id(row) for row in first.rows} <= {id(row) for row in more.rows}


def test_another_text_or_receipt_under_the_same_hash_is_read_anew() -> None:
    """Memory goes by all that was stored, not by what it is called."""
    memory = GatheredKeys()
    memory.gather(CONTRACT, KEY, STORED)
    later = tuple(one._replace(received_at=at("12:25")) for one in STORED)
    assert {row.hashed.received_at for row in memory.gather(CONTRACT, KEY, later).rows} == {at("12:25")}
    forged = (STORED[0]._replace(text=STORED[1].text), *STORED[1:])
    with raises(TruthError.observation_hash):
        memory.gather(CONTRACT, KEY, forged)


def test_each_contract_has_its_own() -> None:
    other = flood({"truthkey.time_bucket": "PT4H"})
    memory = GatheredKeys()
    one, two = (memory.gather(contract, KEY, STORED) for contract in (CONTRACT, other))
    assert (one.claim_type_hash, two.claim_type_hash) == (CONTRACT.claim_type_hash, other.claim_type_hash)
    assert memory.gather(CONTRACT, KEY, STORED) is one


def test_memory_has_a_bound_and_forgets_the_key_that_was_asked_for_longest_ago() -> None:
    memory = GatheredKeys(most=25)
    first = memory.gather(CONTRACT, "a", STORED[:10])
    second = memory.gather(CONTRACT, "b", STORED[:10])
    assert memory.gather(CONTRACT, "a", STORED[:10]) is first
    memory.gather(CONTRACT, "c", STORED[:10])
    assert len(memory) == 20
    assert memory.gather(CONTRACT, "a", STORED[:10]) is first
    assert memory.gather(CONTRACT, "b", STORED[:10]) is not second
    memory.gather(CONTRACT, "b", STORED)  # more than there is room for: not kept, and nothing else is forgotten
    assert len(memory) == 10
