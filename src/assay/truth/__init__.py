"""Truth: observations in, a signed truth state out.

contract (YAML) + observations + snapshot + votes + scores -> compile -> state -> seal
May import: review, identity, kernel. Must not import: other rooms, trust, ports, adapters, any clock, any I/O.

The names here are those that a library user needs; each is loaded from its module when it is first asked for. A module
has its function's name where it is one step, as `parse_contract` has: such a function is imported from there.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.truth.address import address_observation
    from assay.truth.canonical import canonical_hash, canonical_json, canonicalize
    from assay.truth.compile import compile_truth_state
    from assay.truth.contract import Contract
    from assay.truth.errors import ContractError
    from assay.truth.key import TruthKey, build_truth_key, parse_truth_key, render_truth_key
    from assay.truth.observation import Observation, hash_observation, observation_hash, parse_observation
    from assay.truth.parse_contract import check_contract
    from assay.truth.seal import seal_truth_state, signing_bytes, verify_truth_state
    from assay.truth.snapshot import TrustSnapshot, parse_snapshot
    from assay.truth.state import TruthState, parse_truth_state, render_truth_state, semantic_hash, state_hash
    from assay.truth.time import NaiveDatetimeError, bucket_datetime, format_bucket
    from assay.truth.validation import SchemaValidationError, validate_claim_payload
    from assay.truth.vote import Vote, parse_vote

__all__ = [
    "Contract",
    "ContractError",
    "NaiveDatetimeError",
    "Observation",
    "SchemaValidationError",
    "TrustSnapshot",
    "TruthKey",
    "TruthState",
    "Vote",
    "address_observation",
    "bucket_datetime",
    "build_truth_key",
    "canonical_hash",
    "canonical_json",
    "canonicalize",
    "check_contract",
    "compile_truth_state",
    "format_bucket",
    "hash_observation",
    "observation_hash",
    "parse_observation",
    "parse_snapshot",
    "parse_truth_key",
    "parse_truth_state",
    "parse_vote",
    "render_truth_key",
    "render_truth_state",
    "seal_truth_state",
    "semantic_hash",
    "signing_bytes",
    "state_hash",
    "validate_claim_payload",
    "verify_truth_state",
]

# Module of this room -> what it gives to library users.
_HOMES = {
    "address": ("address_observation",),
    "canonical": ("canonical_hash", "canonical_json", "canonicalize"),
    "compile": ("compile_truth_state",),
    "contract": ("Contract",),
    "errors": ("ContractError",),
    "key": ("TruthKey", "build_truth_key", "parse_truth_key", "render_truth_key"),
    "observation": ("Observation", "hash_observation", "observation_hash", "parse_observation"),
    "parse_contract": ("check_contract",),
    "seal": ("seal_truth_state", "signing_bytes", "verify_truth_state"),
    "snapshot": ("TrustSnapshot", "parse_snapshot"),
    "state": ("TruthState", "parse_truth_state", "render_truth_state", "semantic_hash", "state_hash"),
    "time": ("NaiveDatetimeError", "bucket_datetime", "format_bucket"),
    "validation": ("SchemaValidationError", "validate_claim_payload"),
    "vote": ("Vote", "parse_vote"),
}
_MODULE_OF = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    """Whoever needs only a key does not load the compiler."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__]
