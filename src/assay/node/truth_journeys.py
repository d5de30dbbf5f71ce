"""Truth: observations and votes in, signed states out."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from assay.flows.delivery.handle_intake import Handled, handle_key
from assay.flows.review.answer_review import SignedElsewhere
from assay.flows.trust.inspect_trust import Standings, list_standings
from assay.flows.trust.record_signal import Signalled, record_signal
from assay.flows.trust.register_policy import Registration, register_policy
from assay.flows.trust.request_penalty import request_penalty
from assay.flows.truth.cast_vote import CastVote, cast_vote
from assay.flows.truth.change_window import ChangedWindow, change_window
from assay.flows.truth.compile_truth import CompiledTruth, compile_truth
from assay.flows.truth.expire_truth import Aged, expire_truth
from assay.flows.truth.inspect_contract import list_contracts, show_contract
from assay.flows.truth.map_truth import map_truth
from assay.flows.truth.observe import Observed, observe
from assay.flows.truth.observe_many import ObservedMany, observe_many
from assay.flows.truth.prove_truth import prove_truth
from assay.flows.truth.release_contract import Release, release_contract
from assay.flows.truth.replay_state import ReplayFinding
from assay.flows.truth.replay_truth import replay_truth
from assay.flows.truth.show_truth import ShownTruth, show_history, show_truth
from assay.kernel.bundle import Bundle
from assay.kernel.digest import parse_digest
from assay.kernel.instant import Instant
from assay.node.ledger_journeys import LedgerJourneys
from assay.ports.signer import Signer
from assay.ports.truth_store import ReleasedContract
from assay.review.ticket import Ticket
from assay.trust.signal import TrustSignal
from assay.truth.contract import VoteType
from assay.truth.status import TruthStatus
from assay.truth.window import WindowEventKind


class TruthJourneys(LedgerJourneys):
    """What a node knows, and how it came to know it."""

    def release_contract(self, text: str, schema: bytes | None = None, *, credential: str | None = None) -> Release:
        """Make a contract the law for its claim type, as an operator."""
        return release_contract(
            self._writing(), text, schema, credential=self._token(credential, "truth:write"), at=self._now()
        )

    def contracts(self) -> tuple[ReleasedContract, ...]:
        """The contracts in force, by claim type."""
        return list_contracts(self.tools, self.tenant_id)

    def contract(self, claim_type: str) -> ReleasedContract:
        """The contract of a claim type, whole."""
        return show_contract(self.tools, self.tenant_id, claim_type)

    def register_policy(self, text: str, *, accept: Iterable[str] = (), credential: str | None = None) -> Registration:
        """Bring a trust policy into force, as an operator; `accept` are the findings one lives with."""
        return register_policy(
            self._writing(),
            text,
            credential=self._token(credential, "trust:write"),
            accept=tuple(accept),
            at=self._now(),
        )

    def signal(self, given: bytes | str | dict[str, Any] | TrustSignal, *, credential: str | None = None) -> Signalled:
        """Log a trust signal."""
        return record_signal(self._writing(), given, credential=self._token(credential, "trust:write"), at=self._now())

    def standings(
        self, *, agents: Iterable[str] | None = None, claim_type: str | None = None, at: Instant | None = None
    ) -> Standings:
        """Where agents stand, now or as it was at an instant."""
        when = at or self._now()
        return list_standings(self.tools, self.tenant_id, agents=agents, claim_type=claim_type, at=when)

    def request_penalty(self, agent_id: str, points: Decimal, *, reason: str, credential: str | None = None) -> Ticket:
        """Ask people to lower an agent's standing; whoever asks does not decide."""
        token = self._token(credential, "trust:write")
        return request_penalty(self._writing(), agent_id, points, reason=reason, credential=token, at=self._now())

    def change_window(
        self,
        truthkey: str,
        kind: WindowEventKind | str,
        *,
        closes_at: Instant | None = None,
        reason: str = "",
        credential: str | None = None,
    ) -> ChangedWindow:
        """Open, extend, close or abort the window in which people validate a key."""
        return change_window(
            self._writing(),
            truthkey,
            WindowEventKind(kind),
            closes_at=closes_at,
            reason=reason,
            credential=self._token(credential, "truth:write"),
            at=self._now(),
        )

    def expire_truth(self) -> Aged:
        """Compile what changes by time alone; a server does it by itself."""
        return expire_truth(self._writing(), self.tenant_id, at=self._now())

    def observe(
        self,
        observation: bytes | str | dict[str, Any],
        *,
        contents: Mapping[str, bytes] | None = None,
        credential: str | None = None,
    ) -> Observed:
        """Record an observation; the same again is answered with what is there. `contents` are evidence by URI."""
        return observe(
            self._writing(),
            observation,
            credential=self._token(credential, "truth:write"),
            at=self._now(),
            contents=contents,
        )

    def observe_many(self, lines: Iterable[bytes], *, credential: str | None = None) -> ObservedMany:
        """Record a stream of observations; a line that is refused costs no other anything."""
        tools = self._writing()
        return observe_many(tools, lines, credential=self._token(credential, "truth:write"), now=tools.clock.now)

    def vote(
        self,
        truthkey: str,
        vote: VoteType | str,
        *,
        seen: str,
        reason: str = "",
        override_status: TruthStatus | str | None = None,
        signing: Signer | SignedElsewhere | None = None,
        credential: str | None = None,
    ) -> CastVote:
        """Vote on the claim at a key, as a person; `seen` is the hash of what its ticket shows."""
        return cast_vote(
            self._writing(),
            truthkey,
            VoteType(vote),
            seen=parse_digest(seen),
            reason=reason,
            override_status=None if override_status is None else TruthStatus(override_status),
            signing=signing,
            credential=self._token(credential, "truth:write"),
            at=self._now(),
        )

    def compile_state(self, truthkey: str, *, claim_type: str | None = None, force: bool = False) -> CompiledTruth:
        """Compile a key to a signed state; nothing is appended where nothing new is to be said."""
        return compile_truth(
            self._writing(), self.tenant_id, truthkey, at=self._now(), claim_type=claim_type, force=force
        )

    def state(self, truthkey: str, *, known_at: Instant | None = None) -> ShownTruth:
        """The latest state of a key, or what was known at an instant of the past."""
        return show_truth(self.tools, self.tenant_id, truthkey, at=self._now(), known_at=known_at)

    def versions(self, truthkey: str) -> tuple[ShownTruth, ...]:
        """Every state of a key, the oldest first."""
        return show_history(self.tools, self.tenant_id, truthkey, at=self._now())

    def map(self, *, claim_type: str | None = None, known_at: Instant | None = None) -> dict[str, Any]:
        """The latest state of each key as GeoJSON."""
        return map_truth(self.tools, self.tenant_id, at=self._now(), claim_type=claim_type, known_at=known_at)

    def answer_key(self, truthkey: str, *, credential: str | None = None) -> Handled:
        """Compile a key, and deliver its state gated and marked."""
        self._writing()
        return handle_key(
            self._answering(), truthkey, credential=self._token(credential, "pramana:query"), at=self._now()
        )

    def replay_truth(self, truthkey: str, *, version: int | None = None) -> ReplayFinding:
        """Compile a recorded state again from the ledger alone, and compare every byte."""
        return replay_truth(self.tools, self.tenant_id, truthkey=truthkey, version=version)

    def prove_state(self, truthkey: str, *, version: int | None = None) -> Bundle:
        """The file that proves a state, with every entry it was compiled from."""
        return self._proved(lambda tools: prove_truth(tools, self.tenant_id, truthkey=truthkey, version=version))
