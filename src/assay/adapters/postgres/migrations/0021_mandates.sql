-- Mandates: standing approvals, what they were used for, and their end. An instant is text of 27 characters.

-- A standing approval that people signed; `text` is its terms as canonical JSON.
CREATE TABLE assay.mandate (
    tenant_id       text COLLATE "C" NOT NULL,
    mandate_id      text COLLATE "C" NOT NULL,
    agent           text COLLATE "C" NOT NULL,
    tool            text COLLATE "C" NOT NULL,
    text            text NOT NULL,
    seats           text NOT NULL,
    signed_by       text NOT NULL,
    proposed_by     text COLLATE "C" NOT NULL,
    ticket_id       text COLLATE "C" NOT NULL,
    signed_at       text COLLATE "C" NOT NULL CHECK (length(signed_at) = 27),
    expires_at      text COLLATE "C" NOT NULL CHECK (length(expires_at) = 27),
    sequence_number bigint NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (mandate_id, tenant_id)
);
CREATE UNIQUE INDEX mandate_in_order ON assay.mandate (tenant_id, sequence_number);
CREATE INDEX mandate_of_agent ON assay.mandate (agent, tenant_id, expires_at);
-- One call that it covered; `total` is what is used of the budget after it.
CREATE TABLE assay.mandate_use (
    tenant_id       text COLLATE "C" NOT NULL,
    mandate_id      text COLLATE "C" NOT NULL,
    position        bigint NOT NULL CHECK (position >= 1),
    bundle_hash     text COLLATE "C" NOT NULL,
    amount          text COLLATE "C" NOT NULL,
    total           text COLLATE "C" NOT NULL,
    used_at         text COLLATE "C" NOT NULL CHECK (length(used_at) = 27),
    sequence_number bigint NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (mandate_id, tenant_id, position)
);
CREATE UNIQUE INDEX mandate_use_in_order ON assay.mandate_use (tenant_id, sequence_number);
-- Revoked before its time.
CREATE TABLE assay.mandate_end (
    tenant_id       text COLLATE "C" NOT NULL,
    mandate_id      text COLLATE "C" NOT NULL,
    made_by         text COLLATE "C" NOT NULL,
    reason          text NOT NULL,
    ended_at        text COLLATE "C" NOT NULL CHECK (length(ended_at) = 27),
    sequence_number bigint NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (mandate_id, tenant_id)
);
CREATE UNIQUE INDEX mandate_end_in_order ON assay.mandate_end (tenant_id, sequence_number);

-- Append-only at the storage layer: no change, no deletion, no truncation.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['mandate', 'mandate_use', 'mandate_end'] LOOP
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

-- Which entries the ledger itself has about a mandate: a deleted use gives nothing back, a deleted end revives nothing.
CREATE INDEX ledger_mandates ON assay.ledger ((substring(encode(text, 'escape') from '"mandate_id":"(mnd_[0-9a-z]{26})"') COLLATE "C"), tenant_id, kind, sequence_number) WHERE kind IN ('mandate.signed', 'mandate.used', 'mandate.ended');
CREATE VIEW assay.mandate_logged AS SELECT tenant_id, sequence_number, kind, substring(encode(text, 'escape') from '"mandate_id":"(mnd_[0-9a-z]{26})"') COLLATE "C" AS mandate_id FROM assay.ledger WHERE kind IN ('mandate.signed', 'mandate.used', 'mandate.ended');
