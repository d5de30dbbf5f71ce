"""Every call of `/api/v1`: each function takes what its route takes, and names the type of its answer."""

from typing import Any

from assay.flows.truth.observe import Observed
from assay.surfaces.client.call import Call, Given, Lines, Listing, content_of, path, query
from assay.surfaces.http.v1 import contract_shapes, shapes
from assay.surfaces.http.v1.key_shapes import Why

OBSERVATION_LINES = Lines(path=path("observations:bulk"), most=500)


def _get(answer: Any, *parts: str | int, **asked: object) -> Call[Any]:  # noqa: ANN401 - any type
    return Call(method="GET", path=path(*parts), answer=answer, query=query(**asked))


def _post(answer: Any, given: Given | None, *parts: str | int, **headers: str) -> Call[Any]:  # noqa: ANN401 - any type
    content = None if given is None else content_of(given)
    return Call(method="POST", path=path(*parts), answer=answer, content=content, headers=headers)


def _match(if_match: str | None) -> dict[str, str]:
    return {} if if_match is None else {"if-match": if_match}


def contracts(*, limit: int = 100) -> Listing[contract_shapes.ShownContract]:
    """Every released contract, by claim type."""
    return Listing(path=path("contracts"), page=contract_shapes.ContractPage, query=query(limit=limit))


def contract(claim_type: str) -> Call[contract_shapes.WholeContract]:
    """One contract with its canonical text."""
    return _get(contract_shapes.WholeContract, "contracts", claim_type)


def release_contract(text: str, schema: bytes | None = None) -> Call[contract_shapes.ShownContract]:
    """Release a contract, as an operator; `schema` is the one that it refers to, if it does."""
    schema_text = None if schema is None else schema.decode()
    wanted = contract_shapes.ContractRequest(document=text, schema_text=schema_text)
    return _post(contract_shapes.ShownContract, wanted, "contracts")


def observations(
    *, truthkey: str | None = None, reporter_id: str | None = None, limit: int = 100
) -> Listing[shapes.ObservationItem]:
    """What was seen, in the order it was recorded."""
    asked = query(truthkey=truthkey, reporter_id=reporter_id, limit=limit)
    return Listing(path=path("observations"), page=shapes.ObservationPage, query=asked)


def observation(observation_id: str) -> Call[shapes.ObservationItem]:
    """One observation by its id."""
    return _get(shapes.ObservationItem, "observations", observation_id)


def observe(given: Given) -> Call[Observed]:
    """Record what was seen."""
    return _post(Observed, given, "observations")


def states(*, claim_type: str | None = None, at: str | None = None, limit: int = 100) -> Listing[shapes.StateItem]:
    """The latest state of each key, or what was known at an instant."""
    return Listing(path=path("states"), page=shapes.StatePage, query=query(claim_type=claim_type, at=at, limit=limit))


def state(truthkey: str, *, at: str | None = None) -> Call[shapes.StateItem]:
    """The latest state of a key, or what was known of it at an instant."""
    return _get(shapes.StateItem, "states", truthkey, at=at)


def versions(truthkey: str, *, limit: int = 100) -> Listing[shapes.StateItem]:
    """Every state of a key, the oldest first."""
    return Listing(path=path("states", truthkey, "versions"), page=shapes.StatePage, query=query(limit=limit))


def prove_state(truthkey: str) -> Call[dict[str, Any]]:
    """The latest state of a key as a proof bundle with every entry it was compiled from."""
    return _get(dict[str, Any], "states", truthkey, "proof")


def compile_state(truthkey: str) -> Call[shapes.CompiledState]:
    """Compile a key now, as an operator."""
    return _post(shapes.CompiledState, None, "states", truthkey, "compile")


def why(action: str, *, on: str | None = None, who: str | None = None) -> Call[Why]:
    """Why one may, or may not, do this now: every requirement, and what would change it."""
    return Call(method="GET", path=path("why"), answer=Why, query=query(action=action, on=on, who=who))
