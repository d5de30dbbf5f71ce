-- What the node remembers of delivery: rules, queries, answers, outcomes, root causes and training pairs.
-- An instant is text of 27 characters. Indexes begin with what tells rows apart and only then name the tenant.

-- Versions of rules, of graphs, contracts, code and texts alike; the content that each hash stands for.
CREATE TABLE rule_version (
    tenant_id       TEXT    NOT NULL,
    rule_id         TEXT    NOT NULL,
    version         INTEGER NOT NULL CHECK (version >= 1),
    content_hash    TEXT    NOT NULL,
    text            TEXT    NOT NULL,
    content         TEXT    NOT NULL,
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (rule_id, version, tenant_id)
);
CREATE INDEX rule_version_first ON rule_version (version, tenant_id, rule_id);

-- Who stands by which version of a rule.
CREATE TABLE rule_certification (
    tenant_id       TEXT    NOT NULL,
    rule_id         TEXT    NOT NULL,
    version         INTEGER NOT NULL CHECK (version >= 1),
    text            TEXT    NOT NULL,
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (rule_id, sequence_number, tenant_id)
);

-- Kinds of question, each with the level its answers should reach.
CREATE TABLE query_type (
    tenant_id       TEXT    NOT NULL,
    slug            TEXT    NOT NULL,
    version         INTEGER NOT NULL CHECK (version >= 1),
    text            TEXT    NOT NULL,
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (slug, version, tenant_id)
);
CREATE INDEX query_type_of_tenant ON query_type (tenant_id, sequence_number);

-- Who may report outcomes of which rules; the latest of a principal is in force.
CREATE TABLE reporter_grant (
    tenant_id       TEXT    NOT NULL,
    principal_id    TEXT    NOT NULL,
    text            TEXT    NOT NULL,
    made_by         TEXT    NOT NULL,
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (principal_id, sequence_number, tenant_id)
);

-- Answers as they were made and marked, before any reader's floor.
CREATE TABLE delivered_answer (
    tenant_id       TEXT    NOT NULL,
    answer_id       TEXT    NOT NULL,
    query_type      TEXT    NOT NULL,
    asked_by        TEXT    NOT NULL,
    level           TEXT    NOT NULL,
    text            TEXT    NOT NULL,
    answered_at     TEXT    NOT NULL CHECK (length(answered_at) = 27),
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    short_of        TEXT,
    PRIMARY KEY (answer_id, tenant_id)
);
CREATE INDEX delivered_answer_short ON delivered_answer (tenant_id, sequence_number) WHERE short_of IS NOT NULL;

-- Outcomes as they were reported; an id is taken once, so that none counts twice.
CREATE TABLE outcome_signal (
    tenant_id       TEXT    NOT NULL,
    signal_id       TEXT    NOT NULL,
    content_hash    TEXT    NOT NULL,
    session         TEXT    NOT NULL,
    answer_id       TEXT,
    text            TEXT    NOT NULL,
    received_at     TEXT    NOT NULL CHECK (length(received_at) = 27),
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (signal_id, tenant_id)
);
CREATE INDEX outcome_signal_of_session ON outcome_signal (tenant_id, session, sequence_number);
CREATE INDEX outcome_signal_of_answer ON outcome_signal (answer_id, tenant_id, sequence_number)
    WHERE answer_id IS NOT NULL;

-- What each signal says of each rule: the history that the counters are a count of.
CREATE TABLE rule_outcome (
    tenant_id       TEXT    NOT NULL,
    rule_id         TEXT    NOT NULL,
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    rule_version    INTEGER,
    signal_id       TEXT    NOT NULL,
    outcome         TEXT    NOT NULL CHECK (outcome IN ('success', 'failure', 'partial', 'indeterminate')),
    session         TEXT    NOT NULL,
    occurred_at     TEXT    NOT NULL CHECK (length(occurred_at) = 27),
    received_at     TEXT    NOT NULL CHECK (length(received_at) = 27),
    PRIMARY KEY (rule_id, sequence_number, tenant_id)
) WITHOUT ROWID;

-- Where each rule stands now; rows change with every signal, and a recount must give them.
CREATE TABLE rule_counter (
    tenant_id            TEXT    NOT NULL,
    rule_id              TEXT    NOT NULL,
    total                INTEGER NOT NULL CHECK (total >= 0),
    success              INTEGER NOT NULL CHECK (success >= 0),
    failure              INTEGER NOT NULL CHECK (failure >= 0),
    partial              INTEGER NOT NULL CHECK (partial >= 0),
    indeterminate        INTEGER NOT NULL CHECK (indeterminate >= 0),
    consecutive_failures INTEGER NOT NULL CHECK (consecutive_failures >= 0),
    tainted_success      INTEGER NOT NULL CHECK (tainted_success >= 0),
    streak               INTEGER NOT NULL CHECK (streak >= 0),
    item_id              TEXT,
    absorbed             INTEGER NOT NULL CHECK (absorbed >= 0),
    batched_until        TEXT    CHECK (length(batched_until) = 27),
    PRIMARY KEY (rule_id, tenant_id)
);

-- Root causes that were opened.
CREATE TABLE root_cause (
    tenant_id       TEXT    NOT NULL,
    item_id         TEXT    NOT NULL,
    rule_id         TEXT    NOT NULL,
    text            TEXT    NOT NULL,
    opened_at       TEXT    NOT NULL CHECK (length(opened_at) = 27),
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (item_id, tenant_id)
);
CREATE INDEX root_cause_of_tenant ON root_cause (tenant_id, sequence_number);

-- The question to people about each of them, with a plugin's hypothesis where there is one.
CREATE TABLE root_cause_ticket (
    tenant_id       TEXT    NOT NULL,
    item_id         TEXT    NOT NULL,
    ticket_id       TEXT    NOT NULL,
    text            TEXT    NOT NULL,
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (item_id, tenant_id)
);

-- What a person concluded.
CREATE TABLE root_cause_conclusion (
    tenant_id        TEXT    NOT NULL,
    item_id          TEXT    NOT NULL,
    rule_id          TEXT    NOT NULL,
    rule_version     INTEGER NOT NULL CHECK (rule_version >= 1),
    failure_category TEXT    NOT NULL CHECK (failure_category IN ('A', 'B', 'C')),
    text             TEXT    NOT NULL,
    pair_id          TEXT    NOT NULL,
    sequence_number  INTEGER NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (item_id, tenant_id)
);
CREATE INDEX root_cause_conclusion_of_rule ON root_cause_conclusion (rule_id, tenant_id, rule_version);

-- Corrections of rules that wait, or waited, for a second person.
CREATE TABLE rule_proposal (
    tenant_id       TEXT    NOT NULL,
    item_id         TEXT    NOT NULL,
    rule_id         TEXT    NOT NULL,
    ticket_id       TEXT    NOT NULL,
    text            TEXT    NOT NULL,
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (item_id, tenant_id)
);

-- What was found of the steps behind a success; a later finding stands beside the earlier ones.
CREATE TABLE answer_finding (
    tenant_id       TEXT    NOT NULL,
    answer_id       TEXT    NOT NULL,
    position        INTEGER NOT NULL CHECK (position >= 1),
    text            TEXT    NOT NULL,
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (answer_id, position, tenant_id)
);

-- Training pairs, each once.
CREATE TABLE training_pair (
    tenant_id       TEXT    NOT NULL,
    pair_id         TEXT    NOT NULL,
    rule_id         TEXT    NOT NULL,
    item_id         TEXT    NOT NULL,
    text            TEXT    NOT NULL,
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (pair_id, tenant_id)
);
CREATE INDEX training_pair_of_tenant ON training_pair (tenant_id, sequence_number);

-- Batches of pairs that training was asked for.
CREATE TABLE training_job (
    tenant_id       TEXT    NOT NULL,
    job_id          TEXT    NOT NULL,
    through         INTEGER NOT NULL CHECK (through >= 1),
    pairs           INTEGER NOT NULL CHECK (pairs >= 1),
    text            TEXT    NOT NULL,
    triggered_at    TEXT    NOT NULL CHECK (length(triggered_at) = 27),
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (job_id, tenant_id)
);
CREATE INDEX training_job_of_tenant ON training_job (tenant_id, sequence_number);

-- What came of them.
CREATE TABLE training_result (
    tenant_id       TEXT    NOT NULL,
    job_id          TEXT    NOT NULL,
    text            TEXT    NOT NULL,
    finished_at     TEXT    NOT NULL CHECK (length(finished_at) = 27),
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (job_id, tenant_id)
);

-- What was read, routed and recorded at each stage about an answer.
CREATE TABLE trace_loop (
    tenant_id TEXT    NOT NULL,
    answer_id TEXT    NOT NULL,
    position  INTEGER NOT NULL CHECK (position >= 1),
    text      TEXT    NOT NULL,
    PRIMARY KEY (answer_id, position, tenant_id)
);

-- What was agreed with other organisations; the latest of a peer is in force.
CREATE TABLE peer_agreement (
    tenant_id       TEXT    NOT NULL,
    peer            TEXT    NOT NULL,
    text            TEXT    NOT NULL,
    made_by         TEXT    NOT NULL,
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (peer, sequence_number, tenant_id)
);

-- Where events are posted, and from when on no more.
CREATE TABLE webhook (
    tenant_id       TEXT    NOT NULL,
    webhook_id      TEXT    NOT NULL,
    text            TEXT    NOT NULL,
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (webhook_id, tenant_id)
);
CREATE INDEX webhook_of_tenant ON webhook (tenant_id, sequence_number);
CREATE TABLE webhook_end (
    tenant_id       TEXT    NOT NULL,
    webhook_id      TEXT    NOT NULL,
    made_by         TEXT    NOT NULL,
    ended_at        TEXT    NOT NULL CHECK (length(ended_at) = 27),
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (webhook_id, tenant_id)
);

-- Events that were given up, or are asked for again; a row changes, and goes when its event was delivered.
CREATE TABLE webhook_letter (
    tenant_id  TEXT    NOT NULL,
    webhook_id TEXT    NOT NULL,
    position   INTEGER NOT NULL CHECK (position >= 1),
    state      TEXT    NOT NULL CHECK (state IN ('dead', 'due')),
    attempts   INTEGER NOT NULL CHECK (attempts >= 0),
    problem    TEXT    NOT NULL,
    changed_at TEXT    NOT NULL CHECK (length(changed_at) = 27),
    PRIMARY KEY (webhook_id, position, tenant_id)
);

-- Append-only at the storage layer: no change, no deletion, no replacement.
CREATE TRIGGER rule_version_no_replace BEFORE INSERT ON rule_version WHEN EXISTS (SELECT 1 FROM rule_version WHERE rule_id = NEW.rule_id AND version = NEW.version AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'rule_version is append-only: that place is taken'); END;
CREATE TRIGGER rule_version_no_update BEFORE UPDATE ON rule_version BEGIN SELECT RAISE(ABORT, 'rule_version is append-only: UPDATE refused'); END;
CREATE TRIGGER rule_version_no_delete BEFORE DELETE ON rule_version BEGIN SELECT RAISE(ABORT, 'rule_version is append-only: DELETE refused'); END;
CREATE TRIGGER rule_certification_no_replace BEFORE INSERT ON rule_certification WHEN EXISTS (SELECT 1 FROM rule_certification WHERE rule_id = NEW.rule_id AND sequence_number = NEW.sequence_number AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'rule_certification is append-only: that place is taken'); END;
CREATE TRIGGER rule_certification_no_update BEFORE UPDATE ON rule_certification BEGIN SELECT RAISE(ABORT, 'rule_certification is append-only: UPDATE refused'); END;
CREATE TRIGGER rule_certification_no_delete BEFORE DELETE ON rule_certification BEGIN SELECT RAISE(ABORT, 'rule_certification is append-only: DELETE refused'); END;
CREATE TRIGGER query_type_no_replace BEFORE INSERT ON query_type WHEN EXISTS (SELECT 1 FROM query_type WHERE slug = NEW.slug AND version = NEW.version AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'query_type is append-only: that place is taken'); END;
CREATE TRIGGER query_type_no_update BEFORE UPDATE ON query_type BEGIN SELECT RAISE(ABORT, 'query_type is append-only: UPDATE refused'); END;
CREATE TRIGGER query_type_no_delete BEFORE DELETE ON query_type BEGIN SELECT RAISE(ABORT, 'query_type is append-only: DELETE refused'); END;
CREATE TRIGGER reporter_grant_no_replace BEFORE INSERT ON reporter_grant WHEN EXISTS (SELECT 1 FROM reporter_grant WHERE principal_id = NEW.principal_id AND sequence_number = NEW.sequence_number AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'reporter_grant is append-only: that place is taken'); END;
CREATE TRIGGER reporter_grant_no_update BEFORE UPDATE ON reporter_grant BEGIN SELECT RAISE(ABORT, 'reporter_grant is append-only: UPDATE refused'); END;
CREATE TRIGGER reporter_grant_no_delete BEFORE DELETE ON reporter_grant BEGIN SELECT RAISE(ABORT, 'reporter_grant is append-only: DELETE refused'); END;
CREATE TRIGGER delivered_answer_no_replace BEFORE INSERT ON delivered_answer WHEN EXISTS (SELECT 1 FROM delivered_answer WHERE answer_id = NEW.answer_id AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'delivered_answer is append-only: that place is taken'); END;
CREATE TRIGGER delivered_answer_no_update BEFORE UPDATE ON delivered_answer BEGIN SELECT RAISE(ABORT, 'delivered_answer is append-only: UPDATE refused'); END;
CREATE TRIGGER delivered_answer_no_delete BEFORE DELETE ON delivered_answer BEGIN SELECT RAISE(ABORT, 'delivered_answer is append-only: DELETE refused'); END;
CREATE TRIGGER outcome_signal_no_replace BEFORE INSERT ON outcome_signal WHEN EXISTS (SELECT 1 FROM outcome_signal WHERE signal_id = NEW.signal_id AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'outcome_signal is append-only: that place is taken'); END;
CREATE TRIGGER outcome_signal_no_update BEFORE UPDATE ON outcome_signal BEGIN SELECT RAISE(ABORT, 'outcome_signal is append-only: UPDATE refused'); END;
CREATE TRIGGER outcome_signal_no_delete BEFORE DELETE ON outcome_signal BEGIN SELECT RAISE(ABORT, 'outcome_signal is append-only: DELETE refused'); END;
CREATE TRIGGER rule_outcome_no_replace BEFORE INSERT ON rule_outcome WHEN EXISTS (SELECT 1 FROM rule_outcome WHERE rule_id = NEW.rule_id AND sequence_number = NEW.sequence_number AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'rule_outcome is append-only: that place is taken'); END;
CREATE TRIGGER rule_outcome_no_update BEFORE UPDATE ON rule_outcome BEGIN SELECT RAISE(ABORT, 'rule_outcome is append-only: UPDATE refused'); END;
CREATE TRIGGER rule_outcome_no_delete BEFORE DELETE ON rule_outcome BEGIN SELECT RAISE(ABORT, 'rule_outcome is append-only: DELETE refused'); END;
CREATE TRIGGER root_cause_no_replace BEFORE INSERT ON root_cause WHEN EXISTS (SELECT 1 FROM root_cause WHERE item_id = NEW.item_id AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'root_cause is append-only: that place is taken'); END;
CREATE TRIGGER root_cause_no_update BEFORE UPDATE ON root_cause BEGIN SELECT RAISE(ABORT, 'root_cause is append-only: UPDATE refused'); END;
CREATE TRIGGER root_cause_no_delete BEFORE DELETE ON root_cause BEGIN SELECT RAISE(ABORT, 'root_cause is append-only: DELETE refused'); END;
CREATE TRIGGER root_cause_ticket_no_replace BEFORE INSERT ON root_cause_ticket WHEN EXISTS (SELECT 1 FROM root_cause_ticket WHERE item_id = NEW.item_id AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'root_cause_ticket is append-only: that place is taken'); END;
CREATE TRIGGER root_cause_ticket_no_update BEFORE UPDATE ON root_cause_ticket BEGIN SELECT RAISE(ABORT, 'root_cause_ticket is append-only: UPDATE refused'); END;
CREATE TRIGGER root_cause_ticket_no_delete BEFORE DELETE ON root_cause_ticket BEGIN SELECT RAISE(ABORT, 'root_cause_ticket is append-only: DELETE refused'); END;
CREATE TRIGGER root_cause_conclusion_no_replace BEFORE INSERT ON root_cause_conclusion WHEN EXISTS (SELECT 1 FROM root_cause_conclusion WHERE item_id = NEW.item_id AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'root_cause_conclusion is append-only: that place is taken'); END;
CREATE TRIGGER root_cause_conclusion_no_update BEFORE UPDATE ON root_cause_conclusion BEGIN SELECT RAISE(ABORT, 'root_cause_conclusion is append-only: UPDATE refused'); END;
CREATE TRIGGER root_cause_conclusion_no_delete BEFORE DELETE ON root_cause_conclusion BEGIN SELECT RAISE(ABORT, 'root_cause_conclusion is append-only: DELETE refused'); END;
CREATE TRIGGER rule_proposal_no_replace BEFORE INSERT ON rule_proposal WHEN EXISTS (SELECT 1 FROM rule_proposal WHERE item_id = NEW.item_id AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'rule_proposal is append-only: that place is taken'); END;
CREATE TRIGGER rule_proposal_no_update BEFORE UPDATE ON rule_proposal BEGIN SELECT RAISE(ABORT, 'rule_proposal is append-only: UPDATE refused'); END;
CREATE TRIGGER rule_proposal_no_delete BEFORE DELETE ON rule_proposal BEGIN SELECT RAISE(ABORT, 'rule_proposal is append-only: DELETE refused'); END;
CREATE TRIGGER answer_finding_no_replace BEFORE INSERT ON answer_finding WHEN EXISTS (SELECT 1 FROM answer_finding WHERE answer_id = NEW.answer_id AND position = NEW.position AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'answer_finding is append-only: that place is taken'); END;
CREATE TRIGGER answer_finding_no_update BEFORE UPDATE ON answer_finding BEGIN SELECT RAISE(ABORT, 'answer_finding is append-only: UPDATE refused'); END;
CREATE TRIGGER answer_finding_no_delete BEFORE DELETE ON answer_finding BEGIN SELECT RAISE(ABORT, 'answer_finding is append-only: DELETE refused'); END;
CREATE TRIGGER training_pair_no_replace BEFORE INSERT ON training_pair WHEN EXISTS (SELECT 1 FROM training_pair WHERE pair_id = NEW.pair_id AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'training_pair is append-only: that place is taken'); END;
CREATE TRIGGER training_pair_no_update BEFORE UPDATE ON training_pair BEGIN SELECT RAISE(ABORT, 'training_pair is append-only: UPDATE refused'); END;
CREATE TRIGGER training_pair_no_delete BEFORE DELETE ON training_pair BEGIN SELECT RAISE(ABORT, 'training_pair is append-only: DELETE refused'); END;
CREATE TRIGGER training_job_no_replace BEFORE INSERT ON training_job WHEN EXISTS (SELECT 1 FROM training_job WHERE job_id = NEW.job_id AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'training_job is append-only: that place is taken'); END;
CREATE TRIGGER training_job_no_update BEFORE UPDATE ON training_job BEGIN SELECT RAISE(ABORT, 'training_job is append-only: UPDATE refused'); END;
CREATE TRIGGER training_job_no_delete BEFORE DELETE ON training_job BEGIN SELECT RAISE(ABORT, 'training_job is append-only: DELETE refused'); END;
CREATE TRIGGER training_result_no_replace BEFORE INSERT ON training_result WHEN EXISTS (SELECT 1 FROM training_result WHERE job_id = NEW.job_id AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'training_result is append-only: that place is taken'); END;
CREATE TRIGGER training_result_no_update BEFORE UPDATE ON training_result BEGIN SELECT RAISE(ABORT, 'training_result is append-only: UPDATE refused'); END;
CREATE TRIGGER training_result_no_delete BEFORE DELETE ON training_result BEGIN SELECT RAISE(ABORT, 'training_result is append-only: DELETE refused'); END;
CREATE TRIGGER trace_loop_no_replace BEFORE INSERT ON trace_loop WHEN EXISTS (SELECT 1 FROM trace_loop WHERE answer_id = NEW.answer_id AND position = NEW.position AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'trace_loop is append-only: that place is taken'); END;
CREATE TRIGGER trace_loop_no_update BEFORE UPDATE ON trace_loop BEGIN SELECT RAISE(ABORT, 'trace_loop is append-only: UPDATE refused'); END;
CREATE TRIGGER trace_loop_no_delete BEFORE DELETE ON trace_loop BEGIN SELECT RAISE(ABORT, 'trace_loop is append-only: DELETE refused'); END;
CREATE TRIGGER webhook_no_replace BEFORE INSERT ON webhook WHEN EXISTS (SELECT 1 FROM webhook WHERE webhook_id = NEW.webhook_id AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'webhook is append-only: that place is taken'); END;
CREATE TRIGGER webhook_no_update BEFORE UPDATE ON webhook BEGIN SELECT RAISE(ABORT, 'webhook is append-only: UPDATE refused'); END;
CREATE TRIGGER webhook_no_delete BEFORE DELETE ON webhook BEGIN SELECT RAISE(ABORT, 'webhook is append-only: DELETE refused'); END;
CREATE TRIGGER webhook_end_no_replace BEFORE INSERT ON webhook_end WHEN EXISTS (SELECT 1 FROM webhook_end WHERE webhook_id = NEW.webhook_id AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'webhook_end is append-only: that place is taken'); END;
CREATE TRIGGER webhook_end_no_update BEFORE UPDATE ON webhook_end BEGIN SELECT RAISE(ABORT, 'webhook_end is append-only: UPDATE refused'); END;
CREATE TRIGGER webhook_end_no_delete BEFORE DELETE ON webhook_end BEGIN SELECT RAISE(ABORT, 'webhook_end is append-only: DELETE refused'); END;
CREATE TRIGGER peer_agreement_no_replace BEFORE INSERT ON peer_agreement WHEN EXISTS (SELECT 1 FROM peer_agreement WHERE peer = NEW.peer AND sequence_number = NEW.sequence_number AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'peer_agreement is append-only: that place is taken'); END;
CREATE TRIGGER peer_agreement_no_update BEFORE UPDATE ON peer_agreement BEGIN SELECT RAISE(ABORT, 'peer_agreement is append-only: UPDATE refused'); END;
CREATE TRIGGER peer_agreement_no_delete BEFORE DELETE ON peer_agreement BEGIN SELECT RAISE(ABORT, 'peer_agreement is append-only: DELETE refused'); END;
