"""The annotation: what every answer carries, for machines and for people (PRAMANA 8).

facts of the answer + strands -> annotate -> Annotation
(+ a floor above it, or a gate that does not publish it) -> withhold -> AnswerBody without output
An annotation binds the answer's id, its rules with versions, the hashes of question and output, and the asker's nonce;
`seal_annotation` signs it, so that none can be put beside another answer, under another question, or before whoever
asks the same once more.
"""

from collections.abc import Callable
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from assay.delivery._read import is_text
from assay.delivery._wording import disclose, held_text, lowered_text, once_withheld_text, withheld_text
from assay.delivery.errors import DeliveryError
from assay.delivery.level import Assessment, Level, LevelCap, assess, is_below, rank_of
from assay.delivery.rule import RuleId, RuleRef
from assay.delivery.strand import CORE_REGISTRY, KNOWLEDGE, StrandId, StrandRegistry, StrandReport
from assay.kernel.canonical import canonical_digest, canonicalize
from assay.kernel.digest import Digest
from assay.kernel.ids import KeyId
from assay.kernel.instant import Instant
from assay.kernel.json_text import JsonValue
from assay.kernel.signature import SignedKind, signing_message

PRAMANA_VERSION: Final = "1.0"
HEADER: Final = "Pramana-Authenticity"
_HIGHEST_FLOOR = 3
_LONGEST_PLUGIN = 200
_PUBLISH = "PUBLISH"
_encoder = msgspec.json.Encoder()


class SlmContribution(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A plugin's share in an answer: for which rules it inferred something."""

    plugin_id: str
    rules_applied: tuple[RuleId, ...]


class ComponentLevel(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An answer of somebody else inside this one, at the level that we recognise.

    Where they claimed another, `claimed` is that one and `reason` says why it does not count here. `strands_missing` is
    what it lacks by their own account.
    """

    source: str
    level: Level
    strands_missing: tuple[StrandId, ...] = ()
    claimed: Level | UnsetType = UNSET
    reason: str | UnsetType = UNSET


class GateMark(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the gates decided about an output: with anything but PUBLISH it is not given out.

    `caveats` belong beside the output. `bundle_hash` names the claims that wait for people, where they do.
    """

    decision: str
    reason: str
    policy_hash: Digest
    caveats: tuple[str, ...] = ()
    bundle_hash: Digest | None = None

    @property
    def is_published(self) -> bool:
        return self.decision == _PUBLISH


class AnswerFacts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is known of an answer before it is marked; `rules` are all that contributed, and never none."""

    answer_id: str
    query_type: str
    service: str
    rules: tuple[RuleRef, ...]
    output_hash: Digest
    answered_at: Instant
    question_hash: Digest | None = None
    nonce: str | None = None
    slm: SlmContribution | None = None
    components: tuple[ComponentLevel, ...] = ()
    gate: GateMark | None = None


class AnnotationSignature(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Ed25519 over all other members, in canonical bytes (`ski-3.0`)."""

    algorithm: Literal["ed25519"] = "ed25519"
    key_id: KeyId
    value_hex: str


class Annotation(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Read by machines; `disclosure` is for people. Members that do not apply are left out."""

    pramana_version: Literal["1.0"] = PRAMANA_VERSION
    authenticity_level: Level
    disclosure: str
    human_review_required: bool
    strands_present: tuple[StrandId, ...]
    strands_missing: tuple[StrandId, ...]
    strand_present: StrandId | UnsetType = UNSET
    strand_missing: StrandId | UnsetType = UNSET
    level_cap: LevelCap | UnsetType = UNSET
    slm_plugin_id: str | UnsetType = UNSET
    slm_rules_applied: tuple[RuleId, ...] | UnsetType = UNSET
    components: tuple[ComponentLevel, ...] | UnsetType = UNSET
    gate: GateMark | UnsetType = UNSET
    withheld: bool | UnsetType = UNSET
    computed_level: Level | UnsetType = UNSET
    authenticity_level_floor: int | UnsetType = UNSET
    answer_id: str
    query_type: str
    service: str
    rules: tuple[RuleRef, ...]
    # None where the output is withheld: its hash would let a reader confirm a guess of it.
    output_hash: Digest | None
    question_hash: Digest | UnsetType = UNSET
    nonce: str | UnsetType = UNSET
    answered_at: Instant
    signature: AnnotationSignature | UnsetType = UNSET


class AnswerBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a surface sends: the output with its annotation; none below the floor, and none that a gate holds back."""

    # Any JSON; the recursive alias is one that msgspec cannot read back.
    output: Any
    withheld: bool
    authenticity_level: Level
    disclosure: str
    human_review_required: bool
    computed_level: Level | UnsetType = UNSET
    authenticity_level_floor: int | UnsetType = UNSET
    annotation: Annotation


def annotate(facts: AnswerFacts, strands: StrandReport, *, registry: StrandRegistry = CORE_REGISTRY) -> Annotation:
    """Mark an answer; refuses one that names no rule, since its outcome could be led back to nothing."""
    _require_rules(facts)
    if len(strands.results) != len(registry.types):
        raise DeliveryError.annotation(f"expected {len(registry.types)} strands settled, got {len(strands.results)}")
    present, missing = strands.present, strands.missing
    own = assess(present, registry.ids(), slm=facts.slm is not None)
    weakest = _lowering(own, facts.components)
    found = own if weakest is None else _capped(own, weakest)
    # What our own strands do not lack, a component may: then that is the strand to name.
    lacking = () if weakest is None else weakest.strands_missing
    level = found.level
    slm = facts.slm
    return Annotation(
        authenticity_level=level,
        disclosure=_disclosure(facts, registry, present, found, lacking),
        human_review_required=level is Level.UNVERIFIED,
        strands_present=present,
        strands_missing=missing,
        strand_present=present[0] if level is Level.SINGLE_SOURCE and present else UNSET,
        strand_missing=_the_missing(missing or lacking) if level is Level.PARTIAL and (missing or lacking) else UNSET,
        level_cap=UNSET if found.cap is None else found.cap,
        slm_plugin_id=UNSET if slm is None else slm.plugin_id,
        slm_rules_applied=UNSET if slm is None else slm.rules_applied,
        components=facts.components or UNSET,
        gate=facts.gate or UNSET,
        answer_id=facts.answer_id,
        query_type=facts.query_type,
        service=facts.service,
        rules=facts.rules,
        output_hash=facts.output_hash,
        question_hash=facts.question_hash or UNSET,
        nonce=facts.nonce or UNSET,
        answered_at=facts.answered_at,
    )


def _disclosure(
    facts: AnswerFacts,
    registry: StrandRegistry,
    present: tuple[StrandId, ...],
    found: Assessment,
    lacking: tuple[StrandId, ...],
) -> str:
    """What stands behind the answer in plain words, and which components lower it."""
    plugin_id, applied = (None, ()) if facts.slm is None else (facts.slm.plugin_id, facts.slm.rules_applied)
    own = disclose(registry, found.level, present, found.cap, lacking, plugin_id, applied)
    return " ".join([own, *_lowered(facts.components)])


def deliver(output: JsonValue, annotation: Annotation, *, floor: int, was_withheld: bool = False) -> AnswerBody:
    """The body for one reader. Below that reader's floor the output is withheld: TRUST policy, kept on the server.

    So is one that the gates did not publish, and one that is read again and was withheld before. Seal the annotation of
    what is delivered, not this one: withholding changes it, and drops a signature.
    """
    if type(floor) is not int or not 0 <= floor <= _HIGHEST_FLOOR:
        raise DeliveryError.annotation(f"expected a floor of 0 to {_HIGHEST_FLOOR}, got `{str(floor)[:80]}`")
    gate, computed = annotation.gate, annotation.authenticity_level
    if is_below(computed, floor):
        return _body(
            None, replace(_withhold(annotation, withheld_text(computed, floor)), authenticity_level_floor=floor)
        )
    if gate is not UNSET and not gate.is_published:
        return _body(None, _withhold(annotation, held_text(gate.decision, gate.reason)))
    if was_withheld:
        return _body(None, _withhold(annotation, once_withheld_text()))
    return _body(output, annotation)


def question_digest(question: JsonValue) -> Digest:
    """What an annotation and the ledger know a question by."""
    return canonical_digest({"question": question})


def render_annotation(annotation: Annotation) -> bytes:
    return _encoder.encode(annotation)


def seal_body(body: AnswerBody, *, key_id: KeyId, sign: Callable[[bytes], bytes]) -> AnswerBody:
    """The body with its annotation sealed."""
    return replace(body, annotation=seal_annotation(body.annotation, key_id=key_id, sign=sign))


def render_body(body: AnswerBody) -> bytes:
    return _encoder.encode(body)


def render_header(annotation: Annotation) -> str:
    """The value of `Pramana-Authenticity`, a structured field (RFC 9651): the level, and what a proxy may look at."""
    present, missing = " ".join(annotation.strands_present), " ".join(annotation.strands_missing)
    review = "?1" if annotation.human_review_required else "?0"
    return f'{annotation.authenticity_level}; present="{present}"; missing="{missing}"; review={review}'


def annotation_message(document: dict[str, Any]) -> bytes:
    """The bytes to sign: all members but the signature, as they travel."""
    bare = {name: value for name, value in document.items() if name != "signature"}
    return signing_message(SignedKind.ANNOTATION, canonicalize(bare))


def seal_annotation(annotation: Annotation, *, key_id: KeyId, sign: Callable[[bytes], bytes]) -> Annotation:
    """The annotation with this key's signature; sealed last, since a change breaks it."""
    value = sign(annotation_message(msgspec.to_builtins(annotation)))
    return replace(annotation, signature=AnnotationSignature(key_id=key_id, value_hex=value.hex()))


def _require_rules(facts: AnswerFacts) -> None:
    if not facts.rules:
        raise DeliveryError.annotation(f"expected the rules behind answer `{facts.answer_id[:80]}`, got none")
    if facts.slm is None:
        return
    if not is_text(facts.slm.plugin_id, _LONGEST_PLUGIN):
        raise DeliveryError.annotation(f"expected a plugin's id of 1 to {_LONGEST_PLUGIN} printable characters")
    named = {ref.rule_id for ref in facts.rules}
    if not facts.slm.rules_applied or not named.issuperset(facts.slm.rules_applied):
        raise DeliveryError.annotation(f"expected plugin `{facts.slm.plugin_id[:80]}` to name rules of the answer")


def _lowered(components: tuple[ComponentLevel, ...]) -> list[str]:
    """In words, for each component that claimed more than counts here."""
    return [
        lowered_text(one.source, one.claimed, one.level, one.reason)
        for one in components
        if one.claimed is not UNSET and one.reason is not UNSET
    ]


def _lowering(own: Assessment, components: tuple[ComponentLevel, ...]) -> ComponentLevel | None:
    """The weakest component, where it is below our own strands: a composite is never above either (PRAMANA 13.1, 13.3).

    PRAMANA-3+ names a plugin of ours; that a component was inferred is told in `components`.
    """
    weakest = min(components, key=lambda one: rank_of(one.level), default=None)
    return None if weakest is None or rank_of(weakest.level) >= rank_of(own.level) else weakest


def _capped(own: Assessment, weakest: ComponentLevel) -> Assessment:
    cap = LevelCap(level=weakest.level, cause=f"component {weakest.source}", uncapped_level=own.level)
    return Assessment(level=weakest.level, cap=cap)


def _the_missing(missing: tuple[StrandId, ...]) -> StrandId:
    return KNOWLEDGE if KNOWLEDGE in missing else missing[0]


def _withhold(annotation: Annotation, disclosure: str) -> Annotation:
    return replace(
        annotation,
        authenticity_level=Level.UNVERIFIED,
        disclosure=disclosure,
        human_review_required=True,
        strand_present=UNSET,
        strand_missing=UNSET,
        withheld=True,
        computed_level=annotation.authenticity_level,
        output_hash=None,
        signature=UNSET,
    )


def _body(output: JsonValue, annotation: Annotation) -> AnswerBody:
    return AnswerBody(
        output=output,
        withheld=annotation.withheld is True,
        authenticity_level=annotation.authenticity_level,
        disclosure=annotation.disclosure,
        human_review_required=annotation.human_review_required,
        computed_level=annotation.computed_level,
        authenticity_level_floor=annotation.authenticity_level_floor,
        annotation=annotation,
    )
