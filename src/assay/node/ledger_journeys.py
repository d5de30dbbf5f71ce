"""The ledger: what is appended, proven, verified and audited."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from assay.flows.errors.ledger import NoCheckpointError, NoIndexError
from assay.flows.identity.authenticate import authenticate
from assay.flows.ledger.append_note import append_note
from assay.flows.ledger.append_record import append_record
from assay.flows.ledger.audit_ledger import audit_ledger
from assay.flows.ledger.audit_mark import AuditReport
from assay.flows.ledger.check_attached import check_attached
from assay.flows.ledger.check_proof import check_proof
from assay.flows.ledger.erase_record import Erased, erase_record
from assay.flows.ledger.export_proof import ProofForm, export_proof
from assay.flows.ledger.prove_search import prove_search
from assay.flows.ledger.report_period import PeriodReport, ReportScope, report_period
from assay.flows.ledger.seal_index import seal_index
from assay.flows.ledger.search_entries import SearchAnswer, search_entries
from assay.flows.ledger.show_entries import ShownEntry, show_entries
from assay.flows.ledger.sign_checkpoint import sign_checkpoint
from assay.flows.tools import Tools
from assay.flows.verdicts.prove_verdict import prove_entry
from assay.identity.principal import LOCAL_OPERATOR, Principal
from assay.kernel.bundle import Bundle
from assay.kernel.check_bundle import Finding, check_bundle
from assay.kernel.check_search import check_search
from assay.kernel.checkpoint import SignedCheckpoint
from assay.kernel.digest import Digest
from assay.kernel.instant import Instant, instant_of, parse_instant
from assay.kernel.json_text import JsonValue
from assay.kernel.key import parse_anchors
from assay.kernel.ledger import Receipt
from assay.kernel.search_proof import SearchProof
from assay.node.opened import OpenedNode
from assay.ports.database import Pending
from assay.ports.index_store import IndexSegment
from assay.ports.reasoner import ScoringReasoner

__all__ = ["LedgerJourneys"]

T = TypeVar("T")


class LedgerJourneys(OpenedNode):
    """What is recorded can be proven to others, and audited by anybody."""

    def append(
        self, note: Mapping[str, JsonValue], *, personal: Sequence[str] = (), credential: str | None = None
    ) -> Receipt:
        """Append a note; when this returns it is on disk. `personal` are JSON pointers to values that can be erased.

        With a credential it is what that principal says; without one, what the operator of this folder records.
        """
        return self.submit_note(note, personal=personal, credential=credential).result()

    def submit_note(
        self, note: Mapping[str, JsonValue], *, personal: Sequence[str] = (), credential: str | None = None
    ) -> Pending[Receipt]:
        """As `append`, without waiting: `result` waits for the durable commit, and so does `await`."""
        tools, token, now = self._writing(), credential or self._credential, self._now()
        if token is None:
            return append_record(tools, self.tenant_id, dict(note), personal=personal, at=now)
        principal = authenticate(tools, token, at=now).principal
        return append_note(tools, principal, note, personal=personal, at=now)

    def entries(self, *, first: int | None = None, last: int | None = None, limit: int = 20) -> tuple[ShownEntry, ...]:
        """Entries as they are proven, in order."""
        found: list[ShownEntry] = []
        show_entries(self.tools, self.tenant_id, found.append, first=first, last=last, limit=limit)
        return tuple(found)

    def sign_checkpoint(self) -> SignedCheckpoint:
        """Sign the tree as it is now, and ask the witnesses that the configuration names."""
        return sign_checkpoint(self._writing(), self.tenant_id, at=self._now())

    def erase(self, sequence_number: int, *, reason: str, pointers: Sequence[str] | None = None) -> Erased:
        """Delete what an entry holds as commitments, all of it or these values; the entry and its proofs stay."""
        return erase_record(
            self._writing(),
            self.tenant_id,
            sequence_number,
            pointers=None if pointers is None else tuple(pointers),
            by=LOCAL_OPERATOR,
            reason=reason,
            at=self._now(),
        )

    def prove_entry(self, sequence_number: int, *, disclose: bool = False) -> Bundle:
        """The file that proves one entry; a checkpoint is signed first where none covers it and this node may sign."""
        return self._proved(lambda tools: prove_entry(tools, self.tenant_id, sequence_number, disclose=disclose))

    def search(self, *terms: str, after: int = 0, limit: int = 20) -> SearchAnswer:
        """Entries that have every one of these terms, as `rule_id=R-1` or `day=2026-03-01`, the oldest first."""
        return search_entries(self.tools, self.tenant_id, terms, after=after, limit=limit)

    def seal_index(self) -> tuple[IndexSegment, ...]:
        """Index the entries that no index covers yet, and log the roots: then a search over them can be proven."""
        return seal_index(self._writing(), self.tenant_id, at=self._now())

    def prove_search(self, *terms: str) -> SearchProof:
        """The file that shows what a search finds and that nothing is missing; `assay.render_search` makes it bytes.

        Without an index that a checkpoint covers, both are made first where this node may write.
        """
        try:
            return prove_search(self.tools, self.tenant_id, terms)
        except NoIndexError:
            if self.read_only:
                raise
            self.seal_index()
            self.sign_checkpoint()
            return prove_search(self.tools, self.tenant_id, terms)

    def export_proof(self, sequence_number: int, form: ProofForm | str) -> bytes:
        """The same for others' tools, signed now: `dsse` (in-toto), `scitt` (COSE with its receipt), `receipt`."""
        wanted = ProofForm(form)
        return self._proved(lambda tools: export_proof(tools, self.tenant_id, sequence_number, wanted, at=self._now()))

    def verify(
        self, proof: Bundle | SearchProof | bytes, *, trust: Iterable[str] | None = None, entry: bytes | None = None
    ) -> Finding:
        """Whether a proof of any form holds for somebody who trusts these keys; else by this node's founding key.

        `entry` is the entry's exact text, for a form that holds none.
        """
        anchors = self._own_anchors() if trust is None else parse_anchors(list(trust))
        if isinstance(proof, bytes):
            return check_proof(proof, anchors, entry=entry, find_scorer=self._find_scorer)
        if isinstance(proof, SearchProof):
            return check_search(proof, anchors)
        return check_attached(proof, check_bundle(proof, anchors), anchors, self._find_scorer)

    def _find_scorer(self, wanted: Digest) -> ScoringReasoner | None:
        """The weights of that hash, from this node's registry or from the package."""
        from assay.wiring import open_scorer  # noqa: PLC0415 - only whoever has a receipt pays for it

        scorer = open_scorer(folder=self.folder, named=wanted)
        return scorer if scorer.identify().model_weight_hash == wanted else None

    def report(
        self,
        from_at: datetime | str,
        until: datetime | str | None = None,
        *,
        rule: str | None = None,
        subject: str | None = None,
        every_kind: bool = False,
    ) -> PeriodReport:
        """What was decided from an instant on and before another, or until now, every entry with its proof.

        An instant is an aware datetime or RFC 3339 text. `verify` checks what `assay.render_report` makes of it.
        """
        scope = ReportScope(
            from_at=_instant(from_at),
            until=self._now() if until is None else _instant(until),
            every_kind=every_kind,
            rule=rule,
            subject=subject,
        )
        return self._proved(lambda tools: report_period(tools, self.tenant_id, scope, at=self._now()))

    def audit(self, *, full: bool = False) -> AuditReport:
        """Verify the ledger from what lies in the database; a node that is only read leaves no mark of it."""
        return audit_ledger(self.tools, self.tenant_id, full=full, leave_mark=not self.read_only)

    def _viewer(self, credential: str | None) -> Principal | None:
        """As whom something is read; without a credential it is the operator of the node's folder, who sees all."""
        token = credential or self._credential
        return None if token is None else authenticate(self.tools, token, at=self._now()).principal

    def _proved(self, make: Callable[[Tools], T]) -> T:
        try:
            return make(self.tools)
        except NoCheckpointError:
            if self.read_only:
                raise
            self.sign_checkpoint()
            return make(self.tools)


def _instant(given: datetime | str) -> Instant:
    return parse_instant(given) if isinstance(given, str) else instant_of(given)
