"""The fields of a `codex.json`, and what must agree among them."""

import re
from collections.abc import Mapping

from assay.kernel.errors import Error
from assay.kernel.ids import KeyId
from assay.kernel.json_text import JsonValue
from assay.registry._read import Fields, Reader
from assay.registry.action import ACTION_FORM, Action, ActionType, RollbackDescriptor, RollbackMethod, Tier
from assay.registry.bits import READ, WRITE
from assay.registry.manifest import SERVICE_FORM, DocumentSignature, Knowledge, Manifest
from assay.registry.permission import MaskSchema, mask_of, missing_bits, parse_mask
from assay.registry.problem import ManifestProblemCode, Path

REQUIRED_FIELDS = ("service", "port", "domain", "version", "can_answer", "can_do")
KNOWN_FIELDS = (
    *REQUIRED_FIELDS, "emits", "depends_on", "forja_state", "forja_trust", "forja_sense", "forja_proof",
    "forja_version", "name", "description", "owner", "base_url", "permission_schema", "capability_mask", "actions",
    "knowledge", "proof_config", "signature",
)  # fmt: skip
URL_FORM = re.compile(r"https?://[!-~]{1,255}", re.ASCII)
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+-]{0,63}", re.ASCII)
_PATH = re.compile(r"/[!-~]{0,255}", re.ASCII)
_HEX = re.compile(r"[0-9a-f]{128}", re.ASCII)
_KEY_ID = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)
_ACTION_FIELDS = ("tier", "needs", "type", "description", "rollback", "restricted")
_MAX_COUNT = 2**53 - 1


def read_manifest(reader: Reader, fields: Fields, schemas: Mapping[str, MaskSchema]) -> Manifest | None:
    service = reader.text(fields, "service", (), SERVICE_FORM) or ""
    answers = reader.names(fields, "can_answer", (), ACTION_FORM)
    does = reader.names(fields, "can_do", (), ACTION_FORM)
    asked = frozenset(answers)
    for index, name in enumerate(does):
        if name in asked:
            message = f"`{name}` is in can_answer too: a query is no action"
            reader.complain(("can_do", index), ManifestProblemCode.INCONSISTENT, message)
    schema_id = reader.text(fields, "permission_schema", ()) or "ankr-32bit-v1"
    schema = schemas.get(schema_id)
    if schema is None:
        reader.choice(schema_id, schemas, ("permission_schema",))
        return None
    actions = _actions(reader, fields, schema, answers, does)
    mask = _capability(reader, fields, schema, actions)
    optional = _optional(reader, fields)
    common = {
        "service": service,
        "port": reader.integer(fields, "port", (), low=1, high=65535) or 0,
        "domain": reader.text(fields, "domain", (), SERVICE_FORM) or "",
        "version": reader.text(fields, "version", (), _VERSION) or "",
        "name": reader.text(fields, "name", ()) or service,
        "description": reader.text(fields, "description", ()) or f"{service} of {fields.get('domain')}",
    }
    if reader.problems:
        return None
    return Manifest(
        **common,  # type: ignore[arg-type]  # each as its field says
        **optional,  # type: ignore[arg-type]  # the same
        can_answer=answers,
        can_do=does,
        permission_schema=schema_id,
        capability_mask=mask,
        actions=actions,
    )


def _optional(reader: Reader, fields: Fields) -> dict[str, object]:
    read: dict[str, object] = {
        "emits": reader.names(fields, "emits", (), ACTION_FORM),
        "depends_on": reader.names(fields, "depends_on", (), SERVICE_FORM),
        "forja_version": reader.text(fields, "forja_version", (), _VERSION),
        "owner": reader.text(fields, "owner", ()),
        "base_url": reader.text(fields, "base_url", (), URL_FORM),
    }
    for name in ("forja_state", "forja_trust", "forja_sense", "forja_proof"):
        read[name] = reader.text(fields, name, (), _PATH)
    if "knowledge" in fields:
        read["knowledge"] = _knowledge(reader, reader.members(fields["knowledge"], ("knowledge",)))
    if "proof_config" in fields:
        read["proof_threshold"] = _threshold(reader, reader.members(fields["proof_config"], ("proof_config",)))
    return {name: value for name, value in read.items() if value is not None}


def _knowledge(reader: Reader, fields: Fields) -> Knowledge:
    path = ("knowledge",)
    reader.refuse_unknown(fields, ("rule_count", "certified_count", "last_updated"), path)
    total = reader.integer(fields, "rule_count", path, low=0, high=_MAX_COUNT) or 0
    certified = reader.integer(fields, "certified_count", path, low=0, high=_MAX_COUNT) or 0
    if certified > total:
        message = f"expected at most {total} certified rules, got {certified}"
        reader.complain((*path, "certified_count"), ManifestProblemCode.INCONSISTENT, message)
    reader.instant(fields, "last_updated", path)
    updated = fields.get("last_updated")
    return Knowledge(
        rule_count=total, certified_count=certified, last_updated=updated if isinstance(updated, str) else None
    )


def _threshold(reader: Reader, fields: Fields) -> float | None:
    path = ("proof_config",)
    reader.refuse_unknown(fields, ("coverage_pct", "threshold_pct"), path)
    for name, value in fields.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:  # noqa: PLR2004  per cent
            reader.complain((*path, name), ManifestProblemCode.RANGE, f"expected 0 to 100 per cent, got `{value}`")
    threshold = fields.get("threshold_pct")
    return float(threshold) if isinstance(threshold, int | float) else None


def _actions(
    reader: Reader, fields: Fields, schema: MaskSchema, answers: tuple[str, ...], does: tuple[str, ...]
) -> tuple[Action, ...]:
    declared = reader.members(fields.get("actions", {}), ("actions",))
    known = frozenset((*answers, *does))
    for name in declared:
        if name not in known:
            message = f"expected a member of can_do or can_answer, got `{name[:80]}`"
            reader.complain(("actions", name), ManifestProblemCode.INCONSISTENT, message)
    read = [_action(reader, declared, schema, name, ActionType.READ) for name in answers]
    read += [_action(reader, declared, schema, name, ActionType.WRITE) for name in does]
    return tuple(action for action in read if action is not None)


def _action(reader: Reader, declared: Fields, schema: MaskSchema, name: str, usual: ActionType) -> Action | None:
    """Queries read and need READ unless they say otherwise; an action that says nothing is off.

    One that is on and names no bits needs that of its own name, else WRITE: silence never asks for nothing.
    """
    if ACTION_FORM.fullmatch(name) is None:
        return None
    path: Path = ("actions", name)
    fields = reader.members(declared.get(name, {}), path)
    reader.refuse_unknown(fields, _ACTION_FIELDS, path)
    reads = usual is ActionType.READ
    asked = reader.integer(fields, "tier", path, low=Tier.OFF, high=Tier.FULL)
    tier = (Tier.READ if reads else Tier.OFF) if asked is None else asked
    kind = reader.choice(reader.text(fields, "type", path), ActionType, (*path, "type"))
    needs = _mask(reader, fields, "needs", schema, path)
    action = Action(
        id=name,
        type=usual if kind is None else ActionType(kind),
        tier=tier,
        needs=_usual_needs(name, tier, schema, reads=reads) if needs is None else needs,
        description=reader.text(fields, "description", path),
        rollback=_rollback(reader, fields, path),
        restricted=reader.text(fields, "restricted", path),
    )
    if action.tier >= Tier.LOW_RISK_WRITE and "rollback" not in fields:
        message = f"FRJ-008: expected a rollback descriptor for tier {action.tier}, got nothing"
        reader.complain((*path, "rollback"), ManifestProblemCode.REQUIRED, message)
    return action


def _usual_needs(name: str, tier: int, schema: MaskSchema, *, reads: bool) -> int:
    if reads:
        return READ
    return 0 if tier == Tier.OFF else _own_bit(name, schema) or WRITE


def _own_bit(name: str, schema: MaskSchema) -> int:
    return mask_of([name], schema) if name in schema.names else 0


def _rollback(reader: Reader, fields: Fields, path: Path) -> RollbackDescriptor | None:
    if "rollback" not in fields:
        return None
    where = (*path, "rollback")
    before = len(reader.problems)
    members = reader.members(fields["rollback"], where)
    reader.refuse_unknown(members, ("method", "description", "action_id"), where)
    method = reader.choice(reader.required(members, "method", where), RollbackMethod, (*where, "method"))
    description = reader.required(members, "description", where)
    action_id = reader.text(members, "action_id", where, ACTION_FORM)
    if method is None or len(reader.problems) > before:
        return None
    try:
        return RollbackDescriptor(method=RollbackMethod(method), description=description, action_id=action_id)
    except Error as error:
        reader.complain(where, ManifestProblemCode.INCONSISTENT, str(error))
        return None


def _capability(reader: Reader, fields: Fields, schema: MaskSchema, actions: tuple[Action, ...]) -> int:
    """As declared, else what the actions need and are called; one that needs more than is declared could never run."""
    needed = 0
    for action in actions:
        needed |= action.needs | (0 if action.type is ActionType.READ else _own_bit(action.id, schema))
    mask = _mask(reader, fields, "capability_mask", schema, ())
    for action in actions:
        if mask is not None and missing_bits(mask, action.needs):
            message = f"`{action.id}` needs bits {hex(missing_bits(mask, action.needs))} outside of capability_mask"
            reader.complain(("actions", action.id, "needs"), ManifestProblemCode.INCONSISTENT, message)
    return needed if mask is None else mask


def _mask(reader: Reader, fields: Fields, name: str, schema: MaskSchema, path: Path) -> int | None:
    """A number, `0x…` text where the schema is wide, or an array of names."""
    if name not in fields:
        return None
    value: JsonValue = fields[name]
    try:
        if isinstance(value, list):
            return mask_of([str(one) for one in value], schema)
        return parse_mask(value, schema)
    except Error as error:
        reader.complain((*path, name), ManifestProblemCode.FORM, str(error))
        return None


def read_signature(reader: Reader, fields: Fields) -> DocumentSignature | None:
    """The `signature` member of a document, or None where it has none."""
    if "signature" not in fields:
        return None
    path = ("signature",)
    members = reader.members(fields["signature"], path)
    reader.refuse_unknown(members, ("algorithm", "key_id", "value_hex"), path)
    reader.choice(reader.required(members, "algorithm", path), ("ed25519",), (*path, "algorithm"))
    key_id = reader.required(members, "key_id", path, _KEY_ID)
    return DocumentSignature(key_id=KeyId(key_id), value_hex=reader.required(members, "value_hex", path, _HEX))
