"""From a ruling to the ledger (SKI 5.5, 7.1): the envelope, its columns, and the body that a replay needs.

answer + verification + ruling + provenance -> seal_envelope -> Envelope -> draft_verdict -> Draft
The entry covers the whole envelope, the transcript's id and the verifier's result. Citations that are not of the slice
never reach an envelope (SKI 4.3); that the model made them stays visible in `divergences` and in the transcript.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache

from msgspec import UNSET, Raw, Struct, UnsetType, to_builtins
from msgspec.structs import replace

from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.kernel.ledger import (
    MAX_ENTRY_BYTES,
    Draft,
    EntryKind,
    EntrySizeError,
    Event,
    NulCharacterError,
    VerdictColumns,
    has_nul,
    size_of,
)
from assay.verdicts.docket import Docket
from assay.verdicts.envelope import (
    Envelope,
    HumanAttestation,
    KgCitation,
    ModelAnswer,
    ModelProvenance,
    VerdictPath,
    VerifierResult,
    canonical_envelope,
    canonical_record,
    find_native,
)
from assay.verdicts.govern import Ruling, Standing
from assay.verdicts.predicate import Judgement
from assay.verdicts.reason import RawReply, ReasonRequest
from assay.verdicts.reply import MAX_REPLY_BYTES
from assay.verdicts.rulings import Rulings
from assay.verdicts.slice import PlaceDoubt
from assay.verdicts.telemetry import Telemetry
from assay.verdicts.verify import Verification
from assay.verdicts.window_fact import WindowFact

# What a note about a jurisdiction in doubt starts with.
DOUBT_NOTE = "jurisdiction.doubt: "


class VerdictBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """What an entry says besides its columns; `held_entry` names the entry that a final one settles.

    `subject` is the node that the record is about, by whose records windows look back; a record may name it otherwise.

    `telemetry` are the bytes that were hashed. `rulings` are those that it was judged by, absent for the first;
    `doubt` is why obligations that are scoped to a jurisdiction were left out, absent where none was. `ticket_id` is
    the question about a held verdict.
    """

    telemetry: Raw | None
    subject: str
    is_mapped: bool
    ruling: Ruling
    judgements: tuple[Judgement, ...]
    window_facts: tuple[WindowFact, ...] = ()
    held_entry: str | None = None
    rulings: Rulings | UnsetType = UNSET
    doubt: PlaceDoubt | UnsetType = UNSET
    ticket_id: str | UnsetType = UNSET


def seal_envelope(
    docket: Docket,
    answer: ModelAnswer,
    verification: Verification,
    ruling: Ruling,
    *,
    provenance: ModelProvenance,
    transcript_ref: str,
    notes: Iterable[str] = (),
    attestation: HumanAttestation | None = None,
    path: VerdictPath | None = None,
) -> Envelope:
    """SKI 4.2: the governed verdict, or the model's while it is held, and everything that speaks for or against it."""
    citations, added = _citations(docket, answer)
    return Envelope(
        verdict=ruling.model_verdict if ruling.standing is Standing.HELD else ruling.verdict,
        reasoning=answer.reasoning,
        kg_citations=citations,
        formalizable_assertions=answer.formalizable_assertions,
        verifier_result=verification.result,
        model_provenance=provenance,
        transcript_ref=transcript_ref,
        human_attestation=attestation,
        notes=(*notes, *_notes(docket, ruling), *added),
        verdict_path=path,
    )


def columns_of(
    docket: Docket, telemetry: Telemetry, envelope: Envelope, ruling: Ruling, result: VerifierResult
) -> VerdictColumns:
    """The columns of SKI 7.1; a held verdict shows DISCRETIONARY, and its kind says that it is none."""
    transcript = canonical_envelope(envelope)
    recorded = canonical_record(result, is_simple=True) if result.divergences else _undisputed(result)
    if has_nul(transcript):
        raise NulCharacterError("expected no U+0000 in `llm_transcript`")
    return VerdictColumns(
        telemetry_id=telemetry.telemetry_id,
        telemetry_hash=telemetry.telemetry_hash,
        verdict=ruling.verdict.value,
        rule_id=docket.rule_id,
        kg_version_hash=envelope.model_provenance.kg_version_hash,
        model_weight_hash=envelope.model_provenance.model_weight_hash,
        llm_transcript=Raw(transcript),
        verifier_result=Raw(recorded),
    )


@lru_cache(maxsize=256)
def _undisputed(result: VerifierResult) -> bytes:
    """Most results say no more than how many assertions they are about."""
    return canonical_record(result, is_simple=True)


def draft_verdict(
    tenant_id: TenantId,
    docket: Docket,
    telemetry: Telemetry,
    envelope: Envelope,
    ruling: Ruling,
    verification: Verification,
    *,
    facts: Mapping[str, WindowFact],
    at: Instant,
    subject: str | None = None,
    ticket_id: str | None = None,
    events: Iterable[Event] = (),
) -> Draft:
    """One entry for one record and one rule, held or final; what settles a held one is drafted from it.

    `subject` is the id of the subject in the graph, for a record that names it otherwise.
    """
    body = VerdictBody(
        telemetry=Raw(telemetry.canonical),
        subject=subject or telemetry.subject,
        is_mapped=docket.is_mapped,
        ruling=ruling,
        judgements=verification.judgements,
        window_facts=tuple([facts[name] for name in sorted(facts)]) if facts else (),
        rulings=UNSET if docket.rulings is Rulings.FIRST else docket.rulings,
        doubt=docket.doubt or UNSET,
        ticket_id=ticket_id or UNSET,
    )
    draft = Draft(
        tenant_id=tenant_id,
        kind=EntryKind.VERDICT_HELD if ruling.standing is Standing.HELD else EntryKind.VERDICT,
        timestamp=at,
        body=_canonical_body(body, telemetry),
        verdict=columns_of(docket, telemetry, envelope, ruling, verification.result),
        events=tuple(events),
    )
    size = size_of(draft)
    if size > MAX_ENTRY_BYTES:
        raise EntrySizeError(f"expected at most {MAX_ENTRY_BYTES} bytes in an entry, got {size}")
    return draft


def _canonical_body(body: VerdictBody, telemetry: Telemetry) -> bytes:
    """The body with the record's own canonical bytes in their place, which are never written again.

    Canonical JSON has the key once: a quotation mark within a text is written as an escape.
    """
    content = None if body.window_facts else find_native(body)
    if content is not None:
        return content
    bare = canonical_record(replace(body, telemetry=None), is_simple=False)
    return bare.replace(b'"telemetry":null', b'"telemetry":' + telemetry.canonical, 1)


def recorded_request(request: ReasonRequest) -> dict[str, object]:
    """What the transcript store keeps of a question; the grammar is kept by its hash, since the slice gives it back."""
    return {
        "prompt_template_id": request.prompt_template_id,
        "prompt": request.prompt,
        "grammar_hash": request.grammar_hash,
        "decoding": to_builtins(request.decoding),
    }


def recorded_response(reply: RawReply) -> dict[str, object]:
    """What it keeps of an answer: the text as it came, up to the size that is read, with half characters escaped."""
    text = reply.text.encode("utf-8", "backslashreplace").decode()
    kept = {"text": text[:MAX_REPLY_BYTES], "characters": len(reply.text), "is_complete": reply.is_complete}
    tokens = {} if reply.token_ids is None else {"token_ids": list(reply.token_ids)}
    chances = {} if reply.logprobs is None else {"logprobs": list(reply.logprobs)}
    notation = {} if reply.notation is None else {"notation": reply.notation}
    unbound = {} if reply.is_bound else {"is_bound": False}
    return {**kept, **tokens, **chances, **notation, **unbound}


def _citations(docket: Docket, answer: ModelAnswer) -> tuple[tuple[KgCitation, ...], tuple[str, ...]]:
    """Those of the slice, each once, and every obligation that was judged (SKI 4.3); what we added is noted."""
    citable = docket.citable
    cited = {one.node_id: one for one in answer.kg_citations if citable.get(one.node_id) == one}
    if docket.by_id.keys() <= cited.keys():
        return tuple(cited.values()), ()
    missing = [check.obligation_id for check in docket.checks if check.obligation_id not in cited]
    added = tuple([citable[name] for name in missing])
    return (*cited.values(), *added), tuple([f"citation.added: `{name}`" for name in missing])


def _notes(docket: Docket, ruling: Ruling) -> tuple[str, ...]:
    is_empty = docket.is_mapped and not docket.checks
    empty = ("slice.empty: the subject is known, and no obligation applies to this record",) if is_empty else ()
    if docket.doubt is not None:
        empty = (*empty, f"{DOUBT_NOTE}jurisdiction {docket.doubt}; at best DISCRETIONARY")
    if ruling.standing is Standing.HELD:
        return (*empty, f"verdict.held: {ruling.reason}")
    if ruling.verdict is ruling.model_verdict:
        return empty
    return (*empty, f"verdict.governed: the model said {ruling.model_verdict}; {ruling.reason}")
