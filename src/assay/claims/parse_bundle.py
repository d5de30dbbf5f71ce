"""A claim bundle from JSON: everything wrong with it is told at once, each with its pointer and its code.

JSON text -> members -> ClaimBundle | problems
"""

import re
from enum import StrEnum
from typing import Any

from msgspec import Struct

from assay.claims._read import Members, Reader
from assay.claims.bundle import (
    HEX_DIGITS,
    AuditTrail,
    Claim,
    ClaimBundle,
    ClaimType,
    Decision,
    EvidencePointer,
    GateName,
    HumanApproval,
    HumanDecision,
    Recommendation,
    Uncertainty,
    UncertaintyMethod,
    bundle_hash,
    is_full_hash,
)
from assay.claims.errors import BundleError
from assay.claims.parse_passages import take_passages
from assay.claims.passage import Passage
from assay.claims.problem import ClaimProblem, ClaimProblemCode
from assay.identity.problem import shortened
from assay.identity.risk import RiskTier
from assay.kernel.errors import CanonicalError, JsonError
from assay.kernel.json_text import Limits, parse_json

_LIMITS = Limits(max_bytes=1024 * 1024, max_depth=16)
_MAX_CLAIMS, _MAX_POINTERS, _MAX_NAMES = 256, 256, 256
_NAME, _TEXT = 512, 16 * 1024
# A legacy hash is hex of any even length up to that of SHA-256; shorter than 64 bits nothing is told apart.
_HASH = re.compile(r"(?:[0-9a-f]{2}){8,32}", re.ASCII)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
_GATES = {str(gate): gate for gate in GateName}


class Reading(StrEnum):
    """How a document is read.

    STRICT wants a bundle as it is written today. LEGACY also reads evidence hashes that are shorter than SHA-256,
    bundle ids that are no UUID, and names of gates that we do not have; what it reads can never do better than DEFER
    where the hash is short.
    """

    STRICT = "strict"
    LEGACY = "legacy"


class BundleFinding(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The bundle is there exactly when there are no problems.

    `passages` are by claim id: what the pointers quote. They are an extension, and no part of the bundle.
    """

    bundle: ClaimBundle | None
    problems: tuple[ClaimProblem, ...]
    passages: dict[str, tuple[Passage, ...]] = {}


def parse_bundle(document: bytes | str | dict[str, Any], *, reading: Reading = Reading.LEGACY) -> ClaimBundle:
    """The bundle, or a `BundleError` with every problem in it; a bundle without claims is none."""
    finding = check_bundle(document, reading=reading)
    if finding.bundle is None:
        raise BundleError(finding.problems)
    return finding.bundle


def check_bundle(document: bytes | str | dict[str, Any], *, reading: Reading = Reading.LEGACY) -> BundleFinding:
    """As `parse_bundle`, with problems as values; takes JSON text or its value."""
    reader = Reader()
    try:
        value = document if isinstance(document, dict) else parse_json(document, limits=_LIMITS)
    except JsonError as error:
        reader.tell("", ClaimProblemCode.SYNTAX, str(error))
        return BundleFinding(bundle=None, problems=tuple(reader.problems))
    plain, passages = take_passages(reader, value)
    bundle = _read_bundle(reader, plain, reading)
    if bundle is not None and not reader.problems:
        _require_hashable(reader, bundle)
    problems = tuple(sorted(reader.problems, key=lambda problem: (problem.pointer, problem.code)))
    return BundleFinding(bundle=None if problems else bundle, problems=problems, passages={} if problems else passages)


def _require_hashable(reader: Reader, bundle: ClaimBundle) -> None:
    """A bundle given as a value may hold what no JSON text can: half a surrogate pair, for one."""
    try:
        bundle_hash(bundle)
    except CanonicalError as error:
        reader.tell("", ClaimProblemCode.FORM, str(error))


def _read_bundle(reader: Reader, value: object, reading: Reading) -> ClaimBundle | None:
    members = reader.members(value, "", ClaimBundle.__struct_fields__)
    if members is None:
        return None
    fields: dict[str, Any] = {
        "id": _bundle_id(reader, members, reading),
        "timestamp": members.instant("timestamp"),
        "origin_agent": members.text("origin_agent", longest=_NAME),
        "claims": _claims(reader, members, reading),
    }
    fields |= _decided(reader, members, reading)
    return None if reader.problems else ClaimBundle(**fields)


def _bundle_id(reader: Reader, members: Members, reading: Reading) -> str | None:
    text = members.text("id", longest=_NAME)
    if text is not None and reading is Reading.STRICT and _UUID.fullmatch(text) is None:
        reader.tell(members.at("id"), ClaimProblemCode.FORM, f"expected a UUID, got `{shortened(text)}`")
    return text


def _claims(reader: Reader, members: Members, reading: Reading) -> tuple[Claim, ...] | None:
    def read(reader: Reader, value: object, pointer: str) -> Claim | None:
        return _read_claim(reader, value, pointer, reading)

    before = len(reader.problems)
    claims = members.items("claims", read, most=_MAX_CLAIMS)
    if claims == () and len(reader.problems) == before:
        reader.tell(members.at("claims"), ClaimProblemCode.EMPTY, "expected at least one claim, got none")
    names = [claim.id for claim in claims or ()]
    for name in sorted({name for name in names if names.count(name) > 1}):
        message = f"expected each id once, got `{shortened(name)}` again"
        reader.tell(members.at("claims"), ClaimProblemCode.DUPLICATE, message)
    return claims


def _decided(reader: Reader, members: Members, reading: Reading) -> dict[str, Any]:
    """What gates and people wrote, where they did."""
    fields: dict[str, Any] = {}
    if members.has("decision"):
        fields["decision"] = members.choice("decision", Decision)
    if members.has("reason"):
        fields["reason"] = members.text("reason", longest=_TEXT, least=0)
    if members.says("required_approvals"):
        fields["required_approvals"] = members.items("required_approvals", _read_name, most=_MAX_NAMES)
    if members.says("audit_trail"):
        fields["audit_trail"] = _read_trail(reader, members.raw("audit_trail"), members.at("audit_trail"), reading)
    return fields


def _read_name(reader: Reader, value: object, pointer: str) -> str | None:
    if isinstance(value, str) and 0 < len(value.strip()) <= len(value) <= _NAME:
        return value
    reader.tell(pointer, ClaimProblemCode.TYPE, f"expected a name of 1 to {_NAME} characters, got something else")
    return None


def _read_claim(reader: Reader, value: object, pointer: str, reading: Reading) -> Claim | None:
    members = reader.members(value, pointer, Claim.__struct_fields__)
    if members is None:
        return None

    def read_pointer(reader: Reader, value: object, pointer: str) -> EvidencePointer | None:
        return _read_pointer(reader, value, pointer, reading)

    before = len(reader.problems)
    fields: dict[str, Any] = {
        "id": members.text("id", longest=_NAME),
        "statement": members.text("statement", longest=_TEXT),
        "claim_type": members.choice("claim_type", ClaimType),
        "uncertainty": _read_uncertainty(reader, members.raw("uncertainty"), members),
        "risk_tier": members.choice("risk_tier", RiskTier),
    }
    if members.says("evidence_pointers"):
        fields["evidence_pointers"] = members.items("evidence_pointers", read_pointer, most=_MAX_POINTERS)
    if members.has("if_wrong_cost"):
        fields["if_wrong_cost"] = members.text("if_wrong_cost", longest=_TEXT, least=0)
    return Claim(**fields) if len(reader.problems) == before else None


def _read_pointer(reader: Reader, value: object, pointer: str, reading: Reading) -> EvidencePointer | None:
    members = reader.members(value, pointer, EvidencePointer.__struct_fields__)
    if members is None:
        return None
    before = len(reader.problems)
    fields: dict[str, Any] = {
        "source": members.text("source", longest=_TEXT),
        "source_confidence": members.number("source_confidence"),
    }
    if members.says("evidence_hash"):
        fields["evidence_hash"] = _evidence_hash(reader, members, reading)
    if members.says("retrieved_at"):
        fields["retrieved_at"] = members.instant("retrieved_at")
    return EvidencePointer(**fields) if len(reader.problems) == before else None


def _evidence_hash(reader: Reader, members: Members, reading: Reading) -> str | None:
    text = members.text("evidence_hash", longest=_NAME)
    if text is None:
        return None
    if _HASH.fullmatch(text) is None or (reading is Reading.STRICT and not is_full_hash(text)):
        message = f"expected {HEX_DIGITS} lower-case hex digits, got `{shortened(text)}`"
        reader.tell(members.at("evidence_hash"), ClaimProblemCode.FORM, message)
    return text


def _read_uncertainty(reader: Reader, value: object, claim: Members) -> Uncertainty | None:
    if not claim.has("uncertainty"):
        return None
    members = reader.members(value, claim.at("uncertainty"), Uncertainty.__struct_fields__)
    if members is None:
        return None
    before = len(reader.problems)
    fields: dict[str, Any] = {
        "method": members.choice("method", UncertaintyMethod),
        "value": members.number("value"),
    }
    if members.has("interpretation"):
        fields["interpretation"] = members.text("interpretation", longest=_TEXT, least=0)
    if members.has("gate_recommendation"):
        fields["gate_recommendation"] = members.choice("gate_recommendation", Recommendation)
    return Uncertainty(**fields) if len(reader.problems) == before else None


def _read_trail(reader: Reader, value: object, pointer: str, reading: Reading) -> AuditTrail | None:
    members = reader.members(value, pointer, AuditTrail.__struct_fields__)
    if members is None:
        return None

    def read_gate(reader: Reader, value: object, pointer: str) -> str | None:
        return _read_gate(reader, value, pointer, reading)

    fields: dict[str, Any] = {
        name: members.items(name, read_gate, most=_MAX_NAMES)
        for name in ("gates_passed", "gates_failed")
        if members.has(name)
    }
    if members.has("human_approvals"):
        fields["human_approvals"] = members.items("human_approvals", _read_approval, most=_MAX_NAMES)
    return None if None in fields.values() else AuditTrail(**fields)


def _read_gate(reader: Reader, value: object, pointer: str, reading: Reading) -> str | None:
    """Both spellings become one: "Evidence Gate" is `evidence_gate`."""
    name = _read_name(reader, value, pointer)
    if name is None:
        return None
    spelled = "_".join(name.lower().split())
    if spelled in _GATES:
        return _GATES[spelled]
    if reading is Reading.LEGACY:
        return name
    reader.tell(pointer, ClaimProblemCode.CHOICE, f"expected one of {', '.join(GateName)}, got `{shortened(name)}`")
    return None


def _read_approval(reader: Reader, value: object, pointer: str) -> HumanApproval | None:
    members = reader.members(value, pointer, HumanApproval.__struct_fields__)
    if members is None:
        return None
    before = len(reader.problems)
    fields: dict[str, Any] = {
        "approver": members.text("approver", longest=_NAME),
        "timestamp": members.instant("timestamp"),
        "decision": members.choice("decision", HumanDecision),
    }
    if members.has("reason"):
        fields["reason"] = members.text("reason", longest=_TEXT, least=0)
    return HumanApproval(**fields) if len(reader.problems) == before else None
