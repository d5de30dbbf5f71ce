"""One record, judged by the runtime that the operator selected, and the one envelope that stands for all its rules.

record -> decide_verdict | decide_v2 -> Decided -> the strictest envelope, the rest named in its notes
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from assay.flows.tools import Tools
from assay.flows.verdicts.decide_many import Asked, decide_many
from assay.flows.verdicts.decide_v2 import decide_v2
from assay.flows.verdicts.decide_verdict import decide_verdict
from assay.flows.verdicts.read_verdicts import Decided, RuleVerdict
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.instant import Instant
from assay.ports.reasoner import BatchReasoner
from assay.verdicts.envelope import Envelope
from assay.verdicts.govern import Standing


def evaluate_record(
    tools: Tools, given: bytes | str | Mapping[str, object], *, credential: str, at: Instant
) -> Decided:
    """The verdicts of one record (SKI 11.4: `SKI_RUNTIME_VERSION` says by which runtime)."""
    decide = decide_v2 if tools.ski.is_v2 else decide_verdict
    return decide(tools, given, credential=credential, at=at)


def may_evaluate_together(tools: Tools) -> bool:
    """Whether records that wait together had better be judged so: where their model is asked about all of them at once.

    Others take their time for each question, and are asked by several threads.
    """
    return not tools.ski.is_v2 and isinstance(tools.reasoner, BatchReasoner)


def evaluate_together(tools: Tools, asked: Sequence[tuple[TenantId, Asked]]) -> list[Decided | Error]:
    """The verdicts or the refusal of each record; `asked` says of which tenant its credential is."""
    of_tenant: defaultdict[TenantId, list[Asked]] = defaultdict(list)
    for tenant_id, one in asked:
        of_tenant[tenant_id].append(one)
    answers = {tenant_id: decide_many(tools, some) for tenant_id, some in of_tenant.items()}
    return [next(answers[tenant_id]) for tenant_id, _ in asked]


def strictest_verdict(decided: Decided) -> RuleVerdict | None:
    """The rule whose verdict is the record's; None while a held one could still be stricter."""
    if decided.overall.standing is Standing.HELD:
        return None
    return next((one for one in decided.verdicts if one.verdict is decided.overall.verdict), None)


def strictest_envelope(decided: Decided) -> Envelope | None:
    """The envelope of that rule, with `notes` that name its entry and what every other rule came to.

    None while the record is held, and for the second runtime, which has no envelopes. The envelope as it is hashed
    stands in the entry: only the notes differ.
    """
    chosen = strictest_verdict(decided)
    if chosen is None or chosen.envelope is None:
        return None
    return replace(chosen.envelope, notes=(*chosen.envelope.notes, *verdict_notes(decided, chosen)))


def verdict_notes(decided: Decided, chosen: RuleVerdict) -> Iterator[str]:
    """One line for the rule itself, and one for each other; a held one names its ticket and no verdict."""
    yield f"rule: {chosen.rule_id or 'none'} entry {chosen.sequence_number} {chosen.entry_hash}"
    for one in decided.verdicts:
        if one is not chosen:
            said = f"held, ticket {one.ticket_id}" if one.verdict is None else f"{one.verdict} ({one.reason})"
            yield f"other rule: {one.rule_id or 'none'} entry {one.sequence_number} {said}"
