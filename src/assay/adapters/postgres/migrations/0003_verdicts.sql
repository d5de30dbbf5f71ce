-- What verdicts remember: knowledge graphs and who reviewed them, telemetry and its windows, and rows that make verdict
-- entries of the ledger quick to find. An instant is text of 27 characters, as for truth. Indexes begin with what tells
-- rows apart and only then name the tenant.

-- Every knowledge graph that was ever handed in, byte for byte: what was judged by it can be replayed for ever.
CREATE TABLE assay.graph_version (
    tenant_id       text COLLATE "C" NOT NULL,
    document_hash   text COLLATE "C" NOT NULL,
    content_hash    text COLLATE "C" NOT NULL,
    form            text COLLATE "C" NOT NULL CHECK (form IN ('typed', 'flat')),
    signed_by       text COLLATE "C",
    document        text             NOT NULL,
    added_at        text COLLATE "C" NOT NULL,
    made_by         text COLLATE "C" NOT NULL,
    sequence_number bigint           NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (document_hash, tenant_id)
);
CREATE INDEX graph_version_content ON assay.graph_version (content_hash, tenant_id, sequence_number);
CREATE UNIQUE INDEX graph_version_log ON assay.graph_version (tenant_id, sequence_number);

-- Who said what about which graph (SKI 2.1.2), by the ticket that asked.
CREATE TABLE assay.graph_review (
    tenant_id       text COLLATE "C" NOT NULL,
    content_hash    text COLLATE "C" NOT NULL,
    ticket_id       text COLLATE "C" NOT NULL,
    made_by         text COLLATE "C" NOT NULL,
    choice          text COLLATE "C" NOT NULL CHECK (choice IN ('accept', 'reject')),
    note            text             NOT NULL,
    reviewed_at     text COLLATE "C" NOT NULL,
    sequence_number bigint           NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (ticket_id, made_by, tenant_id)
);
CREATE INDEX graph_review_content ON assay.graph_review (content_hash, tenant_id, sequence_number);

-- Which graph was in use from which entry on; the latest is.
CREATE TABLE assay.graph_activation (
    tenant_id        text COLLATE "C" NOT NULL,
    sequence_number  bigint           NOT NULL CHECK (sequence_number >= 1),
    document_hash    text COLLATE "C" NOT NULL,
    content_hash     text COLLATE "C" NOT NULL,
    kg_version_hash  text COLLATE "C" NOT NULL,
    mode             text COLLATE "C" NOT NULL CHECK (mode IN ('strict', 'advisory')),
    reviewers        bigint           NOT NULL CHECK (reviewers >= 0),
    downgrade_reason text COLLATE "C",
    made_by          text COLLATE "C" NOT NULL,
    activated_at     text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, sequence_number)
);

-- Each record that was judged, by its id: the same again is answered with what is recorded, another is refused.
CREATE TABLE assay.telemetry (
    tenant_id       text COLLATE "C" NOT NULL,
    telemetry_id    text COLLATE "C" NOT NULL,
    telemetry_hash  text COLLATE "C" NOT NULL,
    subject         text COLLATE "C" NOT NULL,
    as_of           text COLLATE "C" NOT NULL CHECK (length(as_of) = 27),
    sequence_number bigint           NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (telemetry_id, tenant_id)
);
CREATE INDEX telemetry_log ON assay.telemetry (tenant_id, sequence_number);

-- What later windows look back at; rows leave when they are too old, and an entry says so. None is ever changed.
CREATE TABLE assay.telemetry_buffer (
    tenant_id    text COLLATE "C" NOT NULL,
    subject      text COLLATE "C" NOT NULL,
    as_of        text COLLATE "C" NOT NULL CHECK (length(as_of) = 27),
    telemetry_id text COLLATE "C" NOT NULL,
    text         text             NOT NULL,
    PRIMARY KEY (subject, tenant_id, as_of, telemetry_id)
);

-- Up to when records of a subject have left the buffer.
CREATE TABLE assay.telemetry_drop (
    tenant_id       text COLLATE "C" NOT NULL,
    subject         text COLLATE "C" NOT NULL,
    dropped_until   text COLLATE "C" NOT NULL CHECK (length(dropped_until) = 27),
    records         bigint           NOT NULL CHECK (records >= 1),
    dropped_at      text COLLATE "C" NOT NULL,
    sequence_number bigint           NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (subject, tenant_id, sequence_number)
);

-- One row for each verdict entry. A held one is followed by at most one that settles it, and a token is used once.
CREATE TABLE assay.verdict_index (
    tenant_id       text COLLATE "C" NOT NULL,
    sequence_number bigint           NOT NULL CHECK (sequence_number >= 1),
    telemetry_id    text COLLATE "C" NOT NULL,
    rule_id         text COLLATE "C" NOT NULL,
    subject         text COLLATE "C" NOT NULL,
    as_of           text COLLATE "C" NOT NULL CHECK (length(as_of) = 27),
    standing        text COLLATE "C" NOT NULL CHECK (standing IN ('final', 'held')),
    verdict         text COLLATE "C" NOT NULL,
    status          text COLLATE "C" NOT NULL,
    tier            text COLLATE "C" NOT NULL,
    path            text COLLATE "C",
    kg_version_hash text COLLATE "C" NOT NULL,
    recorded_at     text COLLATE "C" NOT NULL,
    ticket_id       text COLLATE "C",
    held_entry      bigint,
    attestation     text COLLATE "C",
    PRIMARY KEY (tenant_id, sequence_number)
);
CREATE INDEX verdict_index_telemetry ON assay.verdict_index (telemetry_id, tenant_id, sequence_number);
CREATE INDEX verdict_index_rule ON assay.verdict_index (rule_id, tenant_id, sequence_number);
CREATE INDEX verdict_index_subject ON assay.verdict_index (subject, tenant_id, sequence_number);
CREATE INDEX verdict_index_as_of ON assay.verdict_index (as_of, tenant_id, sequence_number);
CREATE INDEX verdict_index_held ON assay.verdict_index (tenant_id, standing, sequence_number) WHERE standing = 'held';
CREATE INDEX verdict_index_judged ON assay.verdict_index (tenant_id, sequence_number, status) WHERE held_entry IS NULL AND path IS NULL;
CREATE UNIQUE INDEX verdict_index_ticket ON assay.verdict_index (ticket_id, tenant_id) WHERE ticket_id IS NOT NULL;
CREATE UNIQUE INDEX verdict_index_settles ON assay.verdict_index (held_entry, tenant_id) WHERE held_entry IS NOT NULL;
CREATE UNIQUE INDEX verdict_index_token ON assay.verdict_index (attestation, tenant_id) WHERE attestation IS NOT NULL;

-- The Coverage Register (SKI 9.2): counts that anybody can work out again from the verdicts, so its rows change.
CREATE TABLE assay.coverage (
    tenant_id text COLLATE "C" NOT NULL,
    subject   text COLLATE "C" NOT NULL,
    text      text             NOT NULL,
    PRIMARY KEY (subject, tenant_id)
);
CREATE INDEX coverage_of_tenant ON assay.coverage (tenant_id, subject);

-- Attempts of evaluation to leave the perimeter (SKI 6.3), so many at once; none at all: a person looked into those before.
CREATE TABLE assay.egress_note (
    tenant_id       text COLLATE "C" NOT NULL,
    sequence_number bigint           NOT NULL CHECK (sequence_number >= 1),
    attempts        bigint           NOT NULL CHECK (attempts >= 0),
    noted_at        text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant_id, sequence_number)
);

-- How often in a row a rule's assertions were the same (SKI 5.6): a short cut too.
CREATE TABLE assay.rule_stability (
    tenant_id text COLLATE "C" NOT NULL,
    rule_id   text COLLATE "C" NOT NULL,
    pattern   text COLLATE "C" NOT NULL,
    count     bigint           NOT NULL CHECK (count >= 0),
    PRIMARY KEY (rule_id, tenant_id)
);

-- Append-only at the storage layer (SKI 7.2). ALWAYS: also when a session says that it only replicates.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY[
        'graph_version', 'graph_review', 'graph_activation', 'telemetry', 'telemetry_drop', 'verdict_index',
        'egress_note'
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

-- Rows leave the buffer one by one, but none is changed.
CREATE TRIGGER telemetry_buffer_no_change BEFORE UPDATE ON assay.telemetry_buffer
    FOR EACH ROW EXECUTE FUNCTION assay.refuse_change();
ALTER TABLE assay.telemetry_buffer ENABLE ALWAYS TRIGGER telemetry_buffer_no_change;
CREATE TRIGGER telemetry_buffer_no_truncate BEFORE TRUNCATE ON assay.telemetry_buffer
    FOR EACH STATEMENT EXECUTE FUNCTION assay.refuse_change();
ALTER TABLE assay.telemetry_buffer ENABLE ALWAYS TRIGGER telemetry_buffer_no_truncate;
