-- What the node remembers of delivery: rules, queries, answers, outcomes, root causes and training pairs.
-- An instant is text of 27 characters. Indexes begin with what tells rows apart and only then name the tenant.

-- Versions of rules, of graphs, contracts, code and texts alike; the content that each hash stands for.
CREATE TABLE assay.rule_version (
    tenant_id       text COLLATE "C" NOT NULL,
    rule_id         text COLLATE "C" NOT NULL,
    version         bigint           NOT NULL CHECK (version >= 1),
    content_hash    text COLLATE "C" NOT NULL,
    text            text             NOT NULL,
    content         text             NOT NULL,
    sequence_number bigint           NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (rule_id, version, tenant_id)
);
CREATE INDEX rule_version_first ON assay.rule_version (version, tenant_id, rule_id);

-- Who stands by which version of a rule.
CREATE TABLE assay.rule_certification (
    tenant_id       text COLLATE "C" NOT NULL,
    rule_id         text COLLATE "C" NOT NULL,
    version         bigint           NOT NULL CHECK (version >= 1),
    text            text             NOT NULL,
    sequence_number bigint           NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (rule_id, sequence_number, tenant_id)
);

-- Kinds of question, each with the level its answers should reach.
CREATE TABLE assay.query_type (
    tenant_id       text COLLATE "C" NOT NULL,
    slug            text COLLATE "C" NOT NULL,
    version         bigint           NOT NULL CHECK (version >= 1),
    text            text             NOT NULL,
    sequence_number bigint           NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (slug, version, tenant_id)
);
CREATE INDEX query_type_of_tenant ON assay.query_type (tenant_id, sequence_number);

-- Who may report outcomes of which rules; the latest of a principal is in force.
CREATE TABLE assay.reporter_grant (
    tenant_id       text COLLATE "C" NOT NULL,
    principal_id    text COLLATE "C" NOT NULL,
    text            text             NOT NULL,
    made_by         text COLLATE "C" NOT NULL,
    sequence_number bigint           NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (principal_id, sequence_number, tenant_id)
);

-- Answers as they were made and marked, before any reader's floor.
CREATE TABLE assay.delivered_answer (
    tenant_id       text COLLATE "C" NOT NULL,
    answer_id       text COLLATE "C" NOT NULL,
    query_type      text COLLATE "C" NOT NULL,
    asked_by        text COLLATE "C" NOT NULL,
    level           text COLLATE "C" NOT NULL,
    text            text             NOT NULL,
    answered_at     text COLLATE "C" NOT NULL CHECK (length(answered_at) = 27),
    sequence_number bigint           NOT NULL CHECK (sequence_number >= 1),
    short_of        text COLLATE "C",
    PRIMARY KEY (answer_id, tenant_id)
);
CREATE INDEX delivered_answer_short ON assay.delivered_answer (tenant_id, sequence_number) WHERE short_of IS NOT NULL;

-- Outcomes as they were reported; an id is taken once, so that none counts twice.
CREATE TABLE assay.outcome_signal (
    tenant_id       text COLLATE "C" NOT NULL,
    signal_id       text COLLATE "C" NOT NULL,
    content_hash    text COLLATE "C" NOT NULL,
    session         text COLLATE "C" NOT NULL,
    answer_id       text COLLATE "C",
    text            text             NOT NULL,
    received_at     text COLLATE "C" NOT NULL CHECK (length(received_at) = 27),
    sequence_number bigint           NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (signal_id, tenant_id)
);
CREATE INDEX outcome_signal_of_session ON assay.outcome_signal (tenant_id, session, sequence_number);
CREATE INDEX outcome_signal_of_answer ON assay.outcome_signal (answer_id, tenant_id, sequence_number)
    WHERE answer_id IS NOT NULL;

-- What each signal says of each rule: the history that the counters are a count of.
CREATE TABLE assay.rule_outcome (
    tenant_id       text COLLATE "C" NOT NULL,
    rule_id         text COLLATE "C" NOT NULL,
    sequence_number bigint           NOT NULL CHECK (sequence_number >= 1),
    rule_version    bigint,
    signal_id       text COLLATE "C" NOT NULL,
    outcome         text COLLATE "C" NOT NULL CHECK (outcome IN ('success', 'failure', 'partial', 'indeterminate')),
    session         text COLLATE "C" NOT NULL,
    occurred_at     text COLLATE "C" NOT NULL CHECK (length(occurred_at) = 27),
    received_at     text COLLATE "C" NOT NULL CHECK (length(received_at) = 27),
    PRIMARY KEY (rule_id, sequence_number, tenant_id)
);

-- Where each rule stands now; rows change with every signal, and a recount must give them.
CREATE TABLE assay.rule_counter (
    tenant_id            text COLLATE "C" NOT NULL,
    rule_id              text COLLATE "C" NOT NULL,
    total                bigint           NOT NULL CHECK (total >= 0),
    success              bigint           NOT NULL CHECK (success >= 0),
    failure              bigint           NOT NULL CHECK (failure >= 0),
    partial              bigint           NOT NULL CHECK (partial >= 0),
    indeterminate        bigint           NOT NULL CHECK (indeterminate >= 0),
    consecutive_failures bigint           NOT NULL CHECK (consecutive_failures >= 0),
    tainted_success      bigint           NOT NULL CHECK (tainted_success >= 0),
    streak               bigint           NOT NULL CHECK (streak >= 0),
    item_id              text COLLATE "C",
    absorbed             bigint           NOT NULL CHECK (absorbed >= 0),
    batched_until        text COLLATE "C" CHECK (length(batched_until) = 27),
    PRIMARY KEY (rule_id, tenant_id)
);

-- Root causes that were opened.
CREATE TABLE assay.root_cause (
    tenant_id       text COLLATE "C" NOT NULL,
    item_id         text COLLATE "C" NOT NULL,
    rule_id         text COLLATE "C" NOT NULL,
    text            text             NOT NULL,
    opened_at       text COLLATE "C" NOT NULL CHECK (length(opened_at) = 27),
    sequence_number bigint           NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (item_id, tenant_id)
);
CREATE INDEX root_cause_of_tenant ON assay.root_cause (tenant_id, sequence_number);

-- The question to people about each of them, with a plugin's hypothesis where there is one.
CREATE TABLE assay.root_cause_ticket (
    tenant_id       text COLLATE "C" NOT NULL,
    item_id         text COLLATE "C" NOT NULL,
    ticket_id       text COLLATE "C" NOT NULL,
    text            text             NOT NULL,
    sequence_number bigint           NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (item_id, tenant_id)
);

-- What a person concluded.
CREATE TABLE assay.root_cause_conclusion (
    tenant_id        text COLLATE "C" NOT NULL,
    item_id          text COLLATE "C" NOT NULL,
    rule_id          text COLLATE "C" NOT NULL,
    rule_version     bigint           NOT NULL CHECK (rule_version >= 1),
    failure_category text COLLATE "C" NOT NULL CHECK (failure_category IN ('A', 'B', 'C')),
    text             text             NOT NULL,
    pair_id          text COLLATE "C" NOT NULL,
    sequence_number  bigint           NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (item_id, tenant_id)
);
CREATE INDEX root_cause_conclusion_of_rule ON assay.root_cause_conclusion (rule_id, tenant_id, rule_version);

-- Corrections of rules that wait, or waited, for a second person.
CREATE TABLE assay.rule_proposal (
    tenant_id       text COLLATE "C" NOT NULL,
    item_id         text COLLATE "C" NOT NULL,
    rule_id         text COLLATE "C" NOT NULL,
    ticket_id       text COLLATE "C" NOT NULL,
    text            text             NOT NULL,
    sequence_number bigint           NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (item_id, tenant_id)
);

-- What was found of the steps behind a success; a later finding stands beside the earlier ones.
CREATE TABLE assay.answer_finding (
    tenant_id       text COLLATE "C" NOT NULL,
    answer_id       text COLLATE "C" NOT NULL,
    position        bigint           NOT NULL CHECK (position >= 1),
    text            text             NOT NULL,
    sequence_number bigint           NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (answer_id, position, tenant_id)
);

-- Training pairs, each once.
CREATE TABLE assay.training_pair (
    tenant_id       text COLLATE "C" NOT NULL,
    pair_id         text COLLATE "C" NOT NULL,
    rule_id         text COLLATE "C" NOT NULL,
    item_id         text COLLATE "C" NOT NULL,
    text            text             NOT NULL,
    sequence_number bigint           NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (pair_id, tenant_id)
);
CREATE INDEX training_pair_of_tenant ON assay.training_pair (tenant_id, sequence_number);

-- Batches of pairs that training was asked for.
CREATE TABLE assay.training_job (
    tenant_id       text COLLATE "C" NOT NULL,
    job_id          text COLLATE "C" NOT NULL,
    through         bigint           NOT NULL CHECK (through >= 1),
    pairs           bigint           NOT NULL CHECK (pairs >= 1),
    text            text             NOT NULL,
    triggered_at    text COLLATE "C" NOT NULL CHECK (length(triggered_at) = 27),
    sequence_number bigint           NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (job_id, tenant_id)
);
CREATE INDEX training_job_of_tenant ON assay.training_job (tenant_id, sequence_number);

-- What came of them.
CREATE TABLE assay.training_result (
    tenant_id       text COLLATE "C" NOT NULL,
    job_id          text COLLATE "C" NOT NULL,
    text            text             NOT NULL,
    finished_at     text COLLATE "C" NOT NULL CHECK (length(finished_at) = 27),
    sequence_number bigint           NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (job_id, tenant_id)
);

-- What was read, routed and recorded at each stage about an answer.
CREATE TABLE assay.trace_loop (
    tenant_id text COLLATE "C" NOT NULL,
    answer_id text COLLATE "C" NOT NULL,
    position  bigint           NOT NULL CHECK (position >= 1),
    text      text             NOT NULL,
    PRIMARY KEY (answer_id, position, tenant_id)
);

-- What was agreed with other organisations; the latest of a peer is in force.
CREATE TABLE assay.peer_agreement (
    tenant_id       text COLLATE "C" NOT NULL,
    peer            text COLLATE "C" NOT NULL,
    text            text             NOT NULL,
    made_by         text COLLATE "C" NOT NULL,
    sequence_number bigint           NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (peer, sequence_number, tenant_id)
);

-- Where events are posted, and from when on no more.
CREATE TABLE assay.webhook (
    tenant_id       text COLLATE "C" NOT NULL,
    webhook_id      text COLLATE "C" NOT NULL,
    text            text             NOT NULL,
    sequence_number bigint           NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (webhook_id, tenant_id)
);
CREATE INDEX webhook_of_tenant ON assay.webhook (tenant_id, sequence_number);
CREATE TABLE assay.webhook_end (
    tenant_id       text COLLATE "C" NOT NULL,
    webhook_id      text COLLATE "C" NOT NULL,
    made_by         text COLLATE "C" NOT NULL,
    ended_at        text COLLATE "C" NOT NULL CHECK (length(ended_at) = 27),
    sequence_number bigint           NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (webhook_id, tenant_id)
);

-- Events that were given up, or are asked for again; a row changes, and goes when its event was delivered.
CREATE TABLE assay.webhook_letter (
    tenant_id  text COLLATE "C" NOT NULL,
    webhook_id text COLLATE "C" NOT NULL,
    position   bigint           NOT NULL CHECK (position >= 1),
    state      text COLLATE "C" NOT NULL CHECK (state IN ('dead', 'due')),
    attempts   bigint           NOT NULL CHECK (attempts >= 0),
    problem    text             NOT NULL,
    changed_at text COLLATE "C" NOT NULL CHECK (length(changed_at) = 27),
    PRIMARY KEY (webhook_id, position, tenant_id)
);

-- Append-only at the storage layer: no change, no deletion, no truncation.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY[
        'rule_version', 'rule_certification', 'query_type', 'reporter_grant', 'delivered_answer',
        'outcome_signal', 'rule_outcome', 'root_cause', 'root_cause_ticket', 'root_cause_conclusion',
        'rule_proposal', 'answer_finding', 'training_pair', 'training_job', 'training_result', 'trace_loop',
        'webhook', 'webhook_end', 'peer_agreement'
    ] LOOP
        EXECUTE format(
            'CREATE TRIGGER %1$s_no_change BEFORE UPDATE OR DELETE ON assay.%1$I'
            ' FOR EACH ROW EXECUTE FUNCTION assay.refuse_change()', name);
        EXECUTE format('ALTER TABLE assay.%1$I ENABLE ALWAYS TRIGGER %1$s_no_change', name);
        EXECUTE format(
            'CREATE TRIGGER %1$s_no_truncate BEFORE TRUNCATE ON assay.%1$I'
            ' FOR EACH STATEMENT EXECUTE FUNCTION assay.refuse_change()', name);
        EXECUTE format('ALTER TABLE assay.%1$I ENABLE ALWAYS TRIGGER %1$s_no_truncate', name);
    END LOOP;
END $$;
