"""Claims: bundles of agents through the gates."""

from collections.abc import Mapping, Sequence
from typing import Any

from assay.claims.bundle import ClaimBundle, UncertaintyMethod, render_bundle
from assay.claims.estimate.estimate import Estimate
from assay.flows.claims.attach_evidence import AttachedEvidence, attach_evidence
from assay.flows.claims.decide_claims import GatedClaims
from assay.flows.claims.estimate_uncertainty import estimate_uncertainty
from assay.flows.claims.gate_claims import Submission, gate_claims
from assay.flows.claims.release_claims_policy import PolicyRelease, release_claims_policy
from assay.flows.claims.resume_claims import require_claims_of, require_party, resume_claims
from assay.flows.claims.show_claims import (
    ClaimsView,
    ListedClaims,
    PoliciesView,
    list_claims,
    list_claims_policies,
    show_claims,
)
from assay.flows.verdicts.estimate_verdict import EstimatedVerdict, JudgeSampling, estimate_verdict, weights_of_verdict
from assay.kernel.digest import parse_digest
from assay.kernel.ids import parse_principal_id
from assay.node.ledger_journeys import LedgerJourneys
from assay.ports.database import Unit
from assay.ports.model import ModelUnavailableError
from assay.wiring import open_judge, open_scorer

Document = bytes | str | dict[str, Any] | ClaimBundle


class ClaimJourneys(LedgerJourneys):
    """Nothing is published that a gate did not pass, and every decision is on record first."""

    def gate(
        self,
        bundle: Document,
        *,
        contents: Mapping[str, bytes] | None = None,
        tool_arguments: Sequence[str] = (),
        thread: str | None = None,
        questions: Mapping[str, str] | None = None,
        credential: str | None = None,
    ) -> GatedClaims:
        """Gate a bundle as its agent. `questions` by claim id are put to this node's own model, and where the policy
        requires it, the policy's own are.
        """
        return gate_claims(
            self._writing(),
            _given(bundle),
            credential=self._token(credential, "claims:write"),
            at=self._now(),
            submission=_submission(contents, tool_arguments, thread, questions),
            estimator=self._estimator(),
        )

    def resume_claim(
        self,
        bundle_hash: str,
        bundle: Document | None = None,
        *,
        contents: Mapping[str, bytes] | None = None,
        tool_arguments: Sequence[str] = (),
        thread: str | None = None,
        questions: Mapping[str, str] | None = None,
        credential: str | None = None,
    ) -> GatedClaims:
        """Gate a waiting bundle again with what people answered meanwhile, or put another in its place.

        What comes with a bundle comes with the other one; without one there is nothing that it could come with.
        """
        return resume_claims(
            self._writing(),
            parse_digest(bundle_hash),
            None if bundle is None else _given(bundle),
            credential=self._token(credential, "claims:write"),
            at=self._now(),
            submission=_submission(contents, tool_arguments, thread, questions),
            estimator=self._estimator(),
        )

    def claim(self, bundle_hash: str, *, credential: str | None = None) -> ClaimsView:
        """Show a bundle with every decision about it; with a credential, only to those who may see it."""
        tools, now, wanted = self.tools, self._now(), parse_digest(bundle_hash)
        viewer = self._viewer(credential, "claims:read")

        def look(unit: Unit) -> ClaimsView:
            if viewer is not None:
                require_party(unit, self.tenant_id, wanted, viewer)
            return show_claims(unit, tools, self.tenant_id, wanted, viewer=viewer, at=now)

        return tools.database.read(look)

    def claims(
        self, *, agent: str | None = None, before: int | None = None, limit: int = 50, credential: str | None = None
    ) -> tuple[ListedClaims, ...]:
        """List bundles, the latest first, from before an entry's number on: of one agent or of all.

        With a credential, one's own; those of others for auditors, operators and reviewers.
        """
        by, viewer = None if agent is None else parse_principal_id(agent), self._viewer(credential, "claims:read")
        if viewer is not None:
            by = require_claims_of(viewer, by)
        return self.tools.database.read(
            lambda unit: list_claims(unit, self.tenant_id, submitted_by=by, viewer=viewer, before=before, limit=limit)
        )

    def gate_policies(self) -> PoliciesView:
        """Every released policy of the gates, and the one in force."""
        return self.tools.database.read(lambda unit: list_claims_policies(unit, self.tenant_id))

    def attach_evidence(self, content: bytes, *, credential: str | None = None) -> AttachedEvidence:
        """Keep evidence under its hash, for bundles that point at it."""
        return attach_evidence(
            self._writing(), content, credential=self._token(credential, "claims:write"), at=self._now()
        )

    def release_gate_policy(self, text: str, *, credential: str | None = None) -> PolicyRelease:
        """Bring a policy of the gates into force, as an operator."""
        return release_claims_policy(
            self._writing(), text, credential=self._token(credential, "claims:write"), at=self._now()
        )

    def estimate(self, question: str, method: UncertaintyMethod | str = UncertaintyMethod.SEMANTIC_ENTROPY) -> Estimate:
        """How uncertain this node's own model is about a question; nothing is recorded."""
        model = self._general().general
        if model is None:
            raise ModelUnavailableError("expected a model under `[models.general]`, got none")
        return estimate_uncertainty(model, question, UncertaintyMethod(method), judge=open_judge(self._config, model))

    def estimate_verdict(
        self, telemetry_id: str, *, rule_id: str | None = None, sampling: JudgeSampling | None = None
    ) -> EstimatedVerdict:
        """How sure the judge was of a recorded verdict, by drawing its reply again; exact by seed, not recorded."""
        weights = weights_of_verdict(self.tools, self.tenant_id, telemetry_id, rule_id)
        judge = open_scorer(folder=self.folder, named=weights)
        return estimate_verdict(self.tools, self.tenant_id, telemetry_id, judge, rule_id=rule_id, sampling=sampling)


def _submission(
    contents: Mapping[str, bytes] | None,
    tool_arguments: Sequence[str],
    thread: str | None,
    questions: Mapping[str, str] | None,
) -> Submission:
    return Submission(
        contents=contents or {}, tool_arguments=tuple(tool_arguments), thread=thread, questions=questions or {}
    )


def _given(bundle: Document) -> bytes | str | dict[str, Any]:
    return render_bundle(bundle) if isinstance(bundle, ClaimBundle) else bundle
