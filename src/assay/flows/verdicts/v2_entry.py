"""The body of an entry of the second runtime (SKI 8.3, 11.4), as it is written and read back."""

from typing import Any

import msgspec
from msgspec import Struct

from assay.kernel.digest import Digest
from assay.kernel.entry import Entry, parse_entry
from assay.kernel.errors import JsonError
from assay.kernel.read_back import read_back
from assay.ports.damage import DamagedRecordError
from assay.verdicts.envelope import Verdict
from assay.verdicts.predicate import Judgement
from assay.verdicts.window_fact import WindowFact


class V2Body(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a `verdict.v2` entry: no transcript, no provenance, no verifier result (SKI 8.3)."""

    telemetry: dict[str, Any]
    telemetry_id: str
    telemetry_hash: Digest
    subject: str
    rule_id: str
    content_hash: Digest
    kg_version_hash: Digest
    verdict: Verdict
    judgements: tuple[Judgement, ...]
    window_facts: tuple[WindowFact, ...] = ()


def read_v2_entry(text: bytes) -> tuple[Entry, V2Body]:
    """Strictly: what is not exactly such an entry of ours is damaged."""
    entry = parse_entry(text)
    try:
        return entry, read_back(entry.body, V2Body)
    except (JsonError, msgspec.MsgspecError) as error:
        raise DamagedRecordError(f"expected a verdict in entry {entry.sequence_number}: {error}") from error
