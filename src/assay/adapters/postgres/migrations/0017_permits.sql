-- Permits: what may run, once. An instant is text of 27 characters.

-- A call that was permitted, once.
CREATE TABLE assay.permit (
    tenant_id       text COLLATE "C" NOT NULL,
    permit_id       text COLLATE "C" NOT NULL,
    bundle_hash     text COLLATE "C" NOT NULL,
    agent           text COLLATE "C" NOT NULL,
    text            text NOT NULL,
    key_id          text COLLATE "C" NOT NULL,
    expires_at      text COLLATE "C" NOT NULL CHECK (length(expires_at) = 27),
    sequence_number bigint NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (permit_id, tenant_id)
);
CREATE UNIQUE INDEX permit_in_order ON assay.permit (tenant_id, sequence_number);
CREATE INDEX permit_of_bundle ON assay.permit (bundle_hash, tenant_id, sequence_number);
CREATE INDEX permit_of_agent ON assay.permit (agent, tenant_id, sequence_number);
-- Who may run it: one claim for each permit, however many ask.
CREATE TABLE assay.permit_claim (
    tenant_id       text COLLATE "C" NOT NULL,
    permit_id       text COLLATE "C" NOT NULL,
    claimed_by      text COLLATE "C" NOT NULL,
    claimed_at      text COLLATE "C" NOT NULL CHECK (length(claimed_at) = 27),
    report_due_at   text COLLATE "C" NOT NULL CHECK (length(report_due_at) = 27),
    sequence_number bigint NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (permit_id, tenant_id)
);
CREATE UNIQUE INDEX permit_claim_in_order ON assay.permit_claim (tenant_id, sequence_number);
CREATE INDEX permit_claim_due ON assay.permit_claim (tenant_id, report_due_at);
-- What the claimer says became of it.
CREATE TABLE assay.permit_report (
    tenant_id       text COLLATE "C" NOT NULL,
    permit_id       text COLLATE "C" NOT NULL,
    effect          text COLLATE "C" NOT NULL,
    result_hash     text COLLATE "C",
    detail          text NOT NULL,
    reported_at     text COLLATE "C" NOT NULL CHECK (length(reported_at) = 27),
    is_late         bigint NOT NULL CHECK (is_late IN (0, 1)),
    sequence_number bigint NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (tenant_id, sequence_number)
);
CREATE INDEX permit_report_of ON assay.permit_report (permit_id, tenant_id, sequence_number);
-- Revoked before its use, or an unknown effect that a person reconciled.
CREATE TABLE assay.permit_end (
    tenant_id       text COLLATE "C" NOT NULL,
    permit_id       text COLLATE "C" NOT NULL,
    how             text COLLATE "C" NOT NULL,
    made_by         text COLLATE "C" NOT NULL,
    reason          text NOT NULL,
    ticket_id       text COLLATE "C",
    ended_at        text COLLATE "C" NOT NULL CHECK (length(ended_at) = 27),
    sequence_number bigint NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (permit_id, tenant_id)
);
CREATE UNIQUE INDEX permit_end_in_order ON assay.permit_end (tenant_id, sequence_number);

-- Append-only at the storage layer: no change, no deletion, no truncation.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['permit', 'permit_claim', 'permit_report', 'permit_end'] LOOP
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

-- Which permits the ledger itself has entries about: a deleted row is missed.
CREATE INDEX ledger_permits ON assay.ledger ((substring(encode(text, 'escape') from '"permit_id":"(pmt_[0-9a-z]{26})"') COLLATE "C"), tenant_id, sequence_number) WHERE kind IN ('permit.issued', 'permit.claimed', 'permit.reported', 'permit.ended');
CREATE INDEX ledger_permits_issued ON assay.ledger ((substring(encode(text, 'escape') from '"bundle_hash":"(sha256:[0-9a-f]{64})"') COLLATE "C"), tenant_id, sequence_number) WHERE kind = 'permit.issued';
CREATE VIEW assay.permit_logged AS SELECT tenant_id, sequence_number, substring(encode(text, 'escape') from '"permit_id":"(pmt_[0-9a-z]{26})"') COLLATE "C" AS permit_id FROM assay.ledger WHERE kind IN ('permit.issued', 'permit.claimed', 'permit.reported', 'permit.ended');
CREATE VIEW assay.permit_issued_logged AS SELECT tenant_id, sequence_number, substring(encode(text, 'escape') from '"bundle_hash":"(sha256:[0-9a-f]{64})"') COLLATE "C" AS bundle_hash FROM assay.ledger WHERE kind = 'permit.issued';
