"""What was learnt of answers: who stands by a rule, why it failed, and what is taught because of it."""

from assay.delivery.plugin import Category
from assay.delivery.query import QueryType
from assay.flows.delivery.certify_rule import ask_certification, certify_rule
from assay.flows.delivery.conclude_rootcause import conclude_rootcause
from assay.flows.delivery.export_pairs import PairFormat, export_pairs
from assay.flows.delivery.inspect_delivery import ShownItem, list_items, show_item
from assay.flows.delivery.inspect_outcomes import RuleAlert, ShortAnswer, list_alerts, list_shortfalls
from assay.flows.delivery.inspect_queue import list_queries
from assay.flows.identity.authenticate import authenticate
from assay.flows.review.answer_desk import DeskAnswer
from assay.flows.review.answer_review import Answered, SignedElsewhere
from assay.flows.review.follow_ups import ROOM_FOLLOW_UPS
from assay.kernel.digest import parse_digest
from assay.node.ledger_journeys import LedgerJourneys
from assay.ports.signer import Signer
from assay.review.ticket import Ticket

__all__ = ["LearningJourneys"]


class LearningJourneys(LedgerJourneys):
    """A person concludes, certifies and corrects; the node only counts and asks."""

    def queries(self) -> tuple[QueryType, ...]:
        """Each kind of question in force, with the level that its answers should reach."""
        return list_queries(self.tools, self.tenant_id)

    def shortfalls(self, *, query_type: str | None = None, after: int = 0, limit: int = 100) -> tuple[ShortAnswer, ...]:
        """Answers below the level that their kind of question should reach, from after an entry on."""
        return list_shortfalls(self.tools, self.tenant_id, after=after, limit=limit, slug=query_type)

    def alerts(self) -> tuple[RuleAlert, ...]:
        """Rules whose outcomes are bad over time, the least confidence first."""
        return list_alerts(self.tools, self.tenant_id)

    def ask_certification(self, rule_id: str, *, credential: str | None = None) -> Ticket:
        """The question whether a person stands by the version of a rule in force."""
        tools, now = self._writing(), self._now()
        tenant_id = authenticate(tools, self._token(credential), at=now).principal.tenant_id
        return ask_certification(tools, tenant_id, rule_id, at=now)

    def certify_rule(
        self,
        rule_id: str,
        *,
        seen: str,
        reason: str = "",
        signing: Signer | None = None,
        credential: str | None = None,
    ) -> Answered:
        """Stand by a rule, as a person who saw its question with this hash."""
        return certify_rule(
            self._writing(),
            rule_id,
            seen=parse_digest(seen),
            reason=reason,
            credential=self._token(credential),
            follow_ups=ROOM_FOLLOW_UPS,
            signing=signing,
            at=self._now(),
        )

    def root_causes(self, *, open_only: bool = False, credential: str | None = None) -> tuple[ShownItem, ...]:
        """Why answers failed: the open questions and the concluded ones."""
        viewer = self._viewer(credential)
        return list_items(self.tools, self.tenant_id, open_only=open_only, viewer=viewer)

    def root_cause(self, item_id: str, *, credential: str | None = None) -> ShownItem:
        """One of them as its ticket shows it, and what came of it."""
        return show_item(self.tools, self.tenant_id, item_id, viewer=self._viewer(credential))

    def conclude_root_cause(
        self,
        item_id: str,
        category: Category | str,
        siddhanta: str,
        *,
        seen: str,
        corrected_rule: str | None = None,
        sub_category: str | None = None,
        signing: Signer | SignedElsewhere | None = None,
        credential: str | None = None,
    ) -> DeskAnswer:
        """Conclude one, as a person who saw its ticket with this hash; `siddhanta` is what was learnt."""
        return conclude_rootcause(
            self._writing(),
            item_id,
            Category(category),
            siddhanta,
            seen=parse_digest(seen),
            corrected_rule=corrected_rule,
            sub_category=sub_category,
            signing=signing,
            credential=self._token(credential),
            at=self._now(),
        )

    def training_pairs(self, form: PairFormat | str = PairFormat.JSON, *, credential: str | None = None) -> bytes:
        """All training pairs in the order of their capture."""
        viewer = self._viewer(credential)
        return export_pairs(self.tools, self.tenant_id, PairFormat(form), viewer=viewer)
