"""Rules, answers, outcomes, root causes, training, peers and webhooks."""

from assay.facts.kinds import Fact, Folded, Projected, Table, Transient
from assay.ports.delivery_store import (
    AnswerFinding,
    AskedPeople,
    CertifiedRule,
    ConcludedItem,
    DeliveredAnswer,
    GrantedReporter,
    OpenedItem,
    ProposedRule,
    RecordedQuery,
    RecordedRule,
    RuleCounters,
    RuleSignal,
    StoredPair,
    StoredSignal,
    TraceLoop,
    TrainingJobRow,
    TrainingResultRow,
)
from assay.ports.peer_store import RecordedAgreement
from assay.ports.webhook_store import EndedWebhook, Letter, StoredWebhook

FACTS: tuple[Fact, ...] = ()
TABLES = (
    Table("rule_version", Projected(RecordedRule), pending=True),
    Table("rule_certification", Projected(CertifiedRule), pending=True),
    Table("query_type", Projected(RecordedQuery), pending=True),
    Table("reporter_grant", Projected(GrantedReporter), pending=True),
    Table("delivered_answer", Projected(DeliveredAnswer), pending=True),
    Table("outcome_signal", Projected(StoredSignal), pending=True),
    Table("rule_outcome", Projected(RuleSignal), pending=True),
    Table("rule_counter", Folded(RuleCounters), pending=True),
    Table("root_cause", Projected(OpenedItem), pending=True),
    Table("root_cause_ticket", Projected(AskedPeople), pending=True),
    Table("root_cause_conclusion", Projected(ConcludedItem), pending=True),
    Table("rule_proposal", Projected(ProposedRule), pending=True),
    Table("answer_finding", Projected(AnswerFinding), pending=True),
    Table("training_pair", Projected(StoredPair), pending=True),
    Table("training_job", Projected(TrainingJobRow), pending=True),
    Table("training_result", Projected(TrainingResultRow), pending=True),
    Table("trace_loop", Projected(TraceLoop), pending=True),
    Table("peer_agreement", Projected(RecordedAgreement), pending=True),
    Table("webhook", Projected(StoredWebhook), pending=True),
    Table("webhook_end", Projected(EndedWebhook), pending=True),
    Table("webhook_letter", Transient("not examined yet", row=Letter), pending=True),
)
