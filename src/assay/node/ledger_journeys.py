"""The ledger: what is appended, proven, verified and audited."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeVar

from assay.flows.identity.authenticate import authenticate, require_scope
from assay.flows.ledger.check_attached import check_attached
from assay.flows.ledger.check_proof import check_proof
from assay.flows.ledger.entries import AppendNote, submit_note
from assay.identity.authorise import require_role
from assay.identity.principal import Principal
from assay.kernel.bundle import Bundle
from assay.kernel.check_bundle import Finding, check_bundle
from assay.kernel.check_search import check_search
from assay.kernel.digest import Digest
from assay.kernel.json_text import JsonValue
from assay.kernel.key import parse_anchors
from assay.kernel.ledger import Receipt
from assay.kernel.search_proof import SearchProof
from assay.node.acting import caller_of
from assay.node.opened import OpenedNode
from assay.operations.table import BY_NAME
from assay.ports.database import Pending
from assay.ports.reasoner import ScoringReasoner

T = TypeVar("T")


class LedgerJourneys(OpenedNode):
    """What is recorded can be proven to others, and audited by anybody."""

    def submit_note(
        self, note: Mapping[str, JsonValue], *, personal: Sequence[str] = (), credential: str | None = None
    ) -> Pending[Receipt]:
        """As `append`, without waiting: `result` waits for the durable commit, and so does `await`."""
        operation = BY_NAME["note.append"]
        caller = self.dispatcher.permit(operation, caller_of(self, credential or self._credential))
        tools = self.dispatcher.tools_for(operation, caller)
        self._writing()
        return submit_note(tools, caller, AppendNote(note=dict(note), personal=tuple(personal)))

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

    def _viewer(self, credential: str | None, scope: str, roles: Collection[str] | None = None) -> Principal | None:
        """Return who reads; without a credential it is the operator of the node's folder, who sees all."""
        token = credential or self._credential
        if token is None:
            return None
        proved = authenticate(self.tools, token, at=self._now())
        require_scope(proved, scope)
        if roles is not None:
            require_role(proved.principal, roles)
        return proved.principal
