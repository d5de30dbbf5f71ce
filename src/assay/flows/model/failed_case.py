"""The case behind an answer that failed, where the answer was a verdict: what the model was shown at the time.

answer -> the entry of the rule's verdict -> its transcript, by the hash that the entry has -> the prompt -> Case
"""

import msgspec
from msgspec import Struct

from assay.delivery.rule import RuleId
from assay.flows.delivery.answer_record import AnswerRecord
from assay.flows.delivery.project_rules import graph_rule_id
from assay.flows.verdicts.verdict_entry import get_verdict_entry
from assay.kernel.digest import digest_of
from assay.kernel.errors import Error
from assay.kernel.ids import TenantId
from assay.kernel.json_text import parse_json
from assay.ports.database import Unit
from assay.verdicts.shown_case import find_case

_ANSWERER = "verdict"


class _Verdict(Struct, frozen=True):
    rule_id: str
    sequence_number: int


class _Verdicts(Struct, frozen=True):
    """The part of an output of the answerer `verdict` that says where each verdict is on record."""

    verdicts: tuple[_Verdict, ...]


def find_failed_case(unit: Unit, tenant_id: TenantId, record: AnswerRecord, rule_id: RuleId) -> str | None:
    """The JSON of the case that this rule's verdict was reached on; None where the answer was no such verdict.

    Never raises: a root cause opens also where its case cannot be had.
    """
    try:
        number = _entry_of(record, rule_id)
        prompt = None if number is None else _prompt(unit, tenant_id, number)
    except (Error, msgspec.MsgspecError):
        return None
    case = None if prompt is None else find_case(prompt)
    return None if case is None else msgspec.json.encode(case).decode()


def _entry_of(record: AnswerRecord, rule_id: RuleId) -> int | None:
    if record.answerer != _ANSWERER:
        return None
    told = msgspec.convert(record.output, _Verdicts).verdicts
    return next((one.sequence_number for one in told if graph_rule_id(one.rule_id) == rule_id), None)


def _prompt(unit: Unit, tenant_id: TenantId, number: int) -> str | None:
    """What the model was asked, if it is what the entry says by its hash."""
    envelope = get_verdict_entry(unit, tenant_id, number).envelope
    transcript = unit.transcripts.find(tenant_id, envelope.transcript_ref)
    asked = None if transcript is None else parse_json(transcript.request_canonical)
    prompt = asked.get("prompt") if isinstance(asked, dict) else None
    is_same = isinstance(prompt, str) and digest_of(prompt.encode()) == envelope.model_provenance.prompt_template_hash
    return prompt if is_same and isinstance(prompt, str) else None
