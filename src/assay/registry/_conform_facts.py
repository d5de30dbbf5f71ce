"""What was fetched of a service, read once."""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, Struct

from assay.kernel.conformance import Fetched
from assay.registry.documents import (
    ActionTier,
    CodexState,
    ProofDocument,
    SenseDocument,
    StateDocument,
    TrustDocument,
    parse_document,
)
from assay.registry.errors import InvalidManifestError
from assay.registry.manifest import Manifest
from assay.registry.open_manifest import open_manifest
from assay.registry.permission import ANKR_32BIT_V1, MaskSchema
from assay.registry.problem import ManifestProblem

_OK = 200
_Shape = TypeVar("_Shape", bound=Struct)


class _ToldTier(ActionTier, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The protocol asks for a rollback descriptor and says nothing of its shape: others write theirs."""

    rollback_descriptor: Any = UNSET


class _ToldTrust(TrustDocument, frozen=True, kw_only=True, forbid_unknown_fields=True):
    action_tiers: tuple[_ToldTier, ...]


class _ToldState(CodexState, frozen=True, kw_only=True, forbid_unknown_fields=False):
    """The lists, the knowledge block and the dependencies are what the protocol names; the rest is each service's."""

    status: str = ""
    trust_mask: int | str = 0


class Facts(Struct, frozen=True, kw_only=True):
    """The documents that could be read; `faults` says of the others why not."""

    manifest: Manifest | None
    manifest_problems: tuple[ManifestProblem, ...]
    state: StateDocument | None
    codex_state: CodexState | None
    trust: TrustDocument | None
    sense: SenseDocument | None
    proof: ProofDocument | None
    schema: MaskSchema
    # What codex.json says itself: a reader fills in the rest, and no other document need agree with that.
    declared_tiers: frozenset[str]
    declares_bits: bool
    faults: dict[str, str]
    statuses: dict[str, int | None]


def gather(
    *,
    codex: Fetched | None,
    state: Fetched | None,
    trust: Fetched | None,
    sense: Fetched | None,
    proof: Fetched | None,
    schemas: Mapping[str, MaskSchema],
) -> Facts:
    """Read everything strictly; what cannot be read is noted and never raises."""
    faults: dict[str, str] = {}
    manifest, problems = _manifest(codex, schemas, faults)
    contract = _read("state", state, StateDocument, faults)
    flat = None if contract is not None else _read("codex_state", state, _ToldState, faults)
    if flat is not None:
        faults.pop("state", None)
    said = {} if manifest is None or codex is None else msgspec.json.decode(codex.content)
    actions = said.get("actions", {})
    fetched = {"codex": codex, "state": state, "trust": trust, "sense": sense, "proof": proof}
    return Facts(
        manifest=manifest,
        manifest_problems=problems,
        state=contract,
        codex_state=flat,
        trust=_read("trust", trust, _ToldTrust, faults),
        sense=_read("sense", sense, SenseDocument, faults),
        proof=_read("proof", proof, ProofDocument, faults),
        schema=ANKR_32BIT_V1 if manifest is None else schemas[manifest.permission_schema],
        declared_tiers=frozenset(name for name, one in actions.items() if "tier" in one or "restricted" in one),
        declares_bits="capability_mask" in said or any("needs" in one for one in actions.values()),
        faults=faults,
        statuses={name: None if one is None else one.status for name, one in fetched.items()},
    )


def _manifest(
    codex: Fetched | None, schemas: Mapping[str, MaskSchema], faults: dict[str, str]
) -> tuple[Manifest | None, tuple[ManifestProblem, ...]]:
    if codex is None or codex.status != _OK:
        faults["codex"] = _absent(codex)
        return None, ()
    try:
        return open_manifest(codex.content, schemas=schemas).manifest, ()
    except InvalidManifestError as error:
        faults["codex"] = str(error)
        return None, error.problems


def _read(name: str, fetched: Fetched | None, shape: type[_Shape], faults: dict[str, str]) -> _Shape | None:
    if fetched is None or fetched.status != _OK:
        faults[name] = _absent(fetched)
        return None
    try:
        return parse_document(fetched.content, shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        faults[name] = str(error)[:300]
        return None


def _absent(fetched: Fetched | None) -> str:
    return "expected status 200, got nothing" if fetched is None else f"expected status 200, got {fetched.status}"
