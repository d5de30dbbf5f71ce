"""The consumer's side: what somebody else's annotation is worth here (PRAMANA 8, 13.3, 14.1).

their annotation + their STATE -> open_annotation -> check_claim -> Recognised
their annotation + output + the keys agreed on + what was asked -> check_seal -> nothing, or why none of it counts
A level that is missing is PRAMANA-0; so is one that does not fit the strands its producer declares.
"""

from collections.abc import Collection, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from assay.delivery._read import read_object, shape
from assay.delivery.annotate import AnnotationSignature, ComponentLevel, annotation_message
from assay.delivery.errors import DeliveryError
from assay.delivery.level import Level, assess, rank_of, read_level
from assay.delivery.strand import CORE, StrandId, is_private, is_strand_id
from assay.kernel.canonical import canonical_digest
from assay.kernel.digest import Digest
from assay.kernel.errors import Error
from assay.kernel.json_text import JsonValue
from assay.kernel.key import key_id_of
from assay.kernel.signature import parse_signature_hex, verify_ed25519

_MOST_STRANDS = 32


class Asking(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was asked, as the annotation of its answer must name it.

    `nonce` is of this one asking: without it, a sealed answer to the same question could be given again for ever.
    """

    question_hash: Digest
    query_type: str
    nonce: str


class Claim(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a producer claims of one output. Members beyond the protocol are left unread."""

    level: Level
    level_given: bool
    strands_present: tuple[StrandId, ...] = ()
    strands_missing: tuple[StrandId, ...] = ()
    slm_plugin_id: str | None = None
    slm_rules_applied: tuple[str, ...] = ()


class ProducerState(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a producer's STATE declares, as far as a level depends on it."""

    service: str
    strands_supported: tuple[StrandId, ...]


class Recognised(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The level that counts here, and why it is another than the claimed one."""

    level: Level
    claimed: Level
    reason: str

    @property
    def is_downgraded(self) -> bool:
        return self.level is not self.claimed


class _Sealed(Struct, frozen=True, kw_only=True):
    signature: AnnotationSignature


def open_annotation(fields: Mapping[str, Any]) -> Claim:
    """Read leniently: whatever is missing or strange claims nothing."""
    text = fields.get("authenticity_level")
    plugin = fields.get("slm_plugin_id")
    present = _texts(fields.get("strands_present")) or _texts([fields.get("strand_present")])
    # The array is the whole; the single one may be that of a component (PRAMANA 13.3).
    missing = _texts(fields.get("strands_missing", [fields.get("strand_missing")]))
    return Claim(
        level=read_level(text),
        level_given=text in list(Level),
        strands_present=tuple(map(StrandId, present)),
        strands_missing=tuple(map(StrandId, missing)),
        slm_plugin_id=plugin if isinstance(plugin, str) and plugin else None,
        slm_rules_applied=_texts(fields.get("slm_rules_applied")),
    )


def read_state(content: bytes | str) -> ProducerState:
    """Only what is needed here; a STATE that declares no strands supports none."""
    fields = read_object(content, DeliveryError.annotation)
    service = fields.get("service")
    if not isinstance(service, str):
        raise DeliveryError.annotation("expected a STATE with `service`")
    return ProducerState(
        service=service, strands_supported=tuple(map(StrandId, _texts(fields.get("strands_supported"))))
    )


def check_claim(claim: Claim, state: ProducerState | None, *, agreed: Collection[str] = ()) -> Recognised:
    """Never raises: a claim that does not fit its producer's STATE is PRAMANA-0 (PRAMANA 14.1).

    `agreed` are the `x-` strands that both sides agreed on; others count for nothing here (PRAMANA 15).
    """
    problem = _unfounded(claim)
    if problem is not None:
        return Recognised(level=Level.UNVERIFIED, claimed=claim.level, reason=problem)
    if state is None:
        told = "the producer's STATE could not be read"
        return Recognised(level=Level.UNVERIFIED, claimed=claim.level, reason=told)
    foreign = [one for one in claim.strands_present if one not in state.strands_supported]
    if foreign:
        told = f"the producer does not support {', '.join(foreign)[:200]}"
        return Recognised(level=Level.UNVERIFIED, claimed=claim.level, reason=told)
    return _weighed(claim, state, agreed)


def component_of(source: str, recognised: Recognised, *, missing: tuple[StrandId, ...] = ()) -> ComponentLevel:
    """For a composite: the recognised level goes in, never the claimed one; where they differ, it says why.

    `missing` are the strands that it lacks (`missing_of`).
    """
    found = ComponentLevel(source=source, level=recognised.level, strands_missing=missing)
    if not recognised.is_downgraded:
        return found
    return replace(found, claimed=recognised.claimed, reason=recognised.reason)


def missing_of(claim: Claim, state: ProducerState | None) -> tuple[StrandId, ...]:
    """The strands that are not behind this output: as its producer says, else those defined and not present."""
    defined = dict.fromkeys((*CORE, *(() if state is None else state.strands_supported)))
    named = claim.strands_missing or [one for one in defined if one not in claim.strands_present]
    return tuple(filter(is_strand_id, named))[:_MOST_STRANDS]


def check_seal(fields: Mapping[str, Any], output: JsonValue, *, keys: Collection[bytes], asked: Asking) -> str | None:
    """Why this annotation does not vouch for this output as the answer to that asking; None where it does.

    Never raises: whatever cannot be verified was not verified.
    """
    if not keys:
        return "no key was agreed on to verify its signature with"
    if "signature" not in fields:
        return "it is not signed"
    try:
        _verify_seal(dict(fields), keys=keys, question_hash=asked.question_hash)
        told = canonical_digest(output)
    except Error as error:
        return f"its signature does not hold: {error}"[:300]
    return _unbound(fields, None if output is None and fields.get("withheld") is True else told, asked)


def _verify_seal(fields: dict[str, Any], *, keys: Collection[bytes], question_hash: Digest) -> None:
    """Raise unless one of these keys signed it for this question; a key in the document itself vouches for nothing."""
    signature = shape(fields, _Sealed, DeliveryError.annotation).signature
    public = {key_id_of(key): key for key in keys}.get(signature.key_id)
    if public is None:
        raise DeliveryError.annotation(f"expected a known key, got `{signature.key_id[:80]}`")
    verify_ed25519(public, annotation_message(fields), parse_signature_hex(signature.value_hex))
    if fields.get("question_hash") != question_hash:
        got = str(fields.get("question_hash", "none"))[:80]
        raise DeliveryError.annotation(f"expected the answer to question {question_hash}, got {got}")


def _unbound(fields: Mapping[str, Any], output_hash: Digest | None, asked: Asking) -> str | None:
    """Why a sealed annotation does not belong to this question and output; None where it does.

    `output_hash` is None where the output was withheld: then the annotation must name no output either.
    """
    if fields.get("query_type") != asked.query_type:
        return "its signature is for another kind of question"
    if fields.get("nonce") != asked.nonce:
        return "its signature is not for this asking, and may have been given before"
    return None if fields.get("output_hash") == output_hash else "its signature is for another output"


def _unfounded(claim: Claim) -> str | None:
    """Why a claim cannot be believed, looking at nothing but the claim; None where it can be."""
    if not claim.level_given:
        return "the output carries no authenticity level"
    if claim.level is Level.UNVERIFIED:
        return "the producer itself says so"
    if claim.level is Level.INFERRED and (claim.slm_plugin_id is None or not claim.slm_rules_applied):
        return "PRAMANA-3+ names no plugin or no rules that it applied"
    both = sorted(set(claim.strands_present) & set(claim.strands_missing))
    if both:
        return f"the same strand is present and missing: {', '.join(both)[:200]}"
    return None


def _weighed(claim: Claim, state: ProducerState, agreed: Collection[str]) -> Recognised:
    """The level by the strands that count between us. All strands of the producer only decide which reason is given."""
    here = _level(claim, [one for one in state.strands_supported if _counts(one, agreed)])
    if rank_of(here) >= rank_of(claim.level):
        return Recognised(level=claim.level, claimed=claim.level, reason="the claim fits the declared strands")
    if rank_of(_level(claim, state.strands_supported)) >= rank_of(claim.level):
        return Recognised(level=here, claimed=claim.level, reason="the claim counts x- strands without an agreement")
    told = f"{claim.level} does not follow from the strands {', '.join(claim.strands_present)[:200] or 'none'}"
    return Recognised(level=Level.UNVERIFIED, claimed=claim.level, reason=told)


def _level(claim: Claim, defined: Collection[StrandId]) -> Level:
    return assess(claim.strands_present, defined, slm=claim.level is Level.INFERRED).level


def _counts(strand: StrandId, agreed: Collection[str]) -> bool:
    return not is_private(strand) or strand in agreed


def _texts(value: object) -> tuple[str, ...]:
    found = [one for one in value if isinstance(one, str)] if isinstance(value, list | tuple) else []
    return tuple(found)
