-- What the node remembers of models. The bytes of weights lie beside the database, by their hash. An instant is text of
-- 27 characters.

CREATE TABLE assay.model (
    tenant_id       text COLLATE "C" NOT NULL,
    weight_hash     text COLLATE "C" NOT NULL,
    name            text COLLATE "C" NOT NULL,
    version         text COLLATE "C" NOT NULL,
    parent_hash     text COLLATE "C",
    size            bigint           NOT NULL CHECK (size > 0),
    manifest        text             NOT NULL,
    made_by         text COLLATE "C" NOT NULL,
    added_at        text COLLATE "C" NOT NULL CHECK (length(added_at) = 27),
    sequence_number bigint           NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (weight_hash, tenant_id)
);
CREATE UNIQUE INDEX model_in_order ON assay.model (tenant_id, sequence_number);

-- What was measured here, of models of ours and of the shipped one.
CREATE TABLE assay.model_evaluation (
    tenant_id       text COLLATE "C" NOT NULL,
    sequence_number bigint           NOT NULL CHECK (sequence_number >= 1),
    weight_hash     text COLLATE "C" NOT NULL,
    cases_hash      text COLLATE "C" NOT NULL,
    cases           bigint           NOT NULL CHECK (cases >= 1),
    figures         text             NOT NULL,
    made_by         text COLLATE "C" NOT NULL,
    evaluated_at    text COLLATE "C" NOT NULL CHECK (length(evaluated_at) = 27),
    PRIMARY KEY (tenant_id, sequence_number)
);
CREATE INDEX model_evaluation_of ON assay.model_evaluation (weight_hash, tenant_id, sequence_number);

-- Which weights judge from which entry on; a person's answer to a ticket puts one into use, once.
CREATE TABLE assay.model_activation (
    tenant_id       text COLLATE "C" NOT NULL,
    sequence_number bigint           NOT NULL CHECK (sequence_number >= 1),
    weight_hash     text COLLATE "C" NOT NULL,
    before_hash     text COLLATE "C" NOT NULL,
    ticket_id       text COLLATE "C" NOT NULL,
    made_by         text COLLATE "C" NOT NULL,
    activated_at    text COLLATE "C" NOT NULL CHECK (length(activated_at) = 27),
    PRIMARY KEY (tenant_id, sequence_number)
);
CREATE UNIQUE INDEX model_activation_ticket ON assay.model_activation (ticket_id, tenant_id);

-- Append-only at the storage layer: no change, no deletion, no truncation.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['model', 'model_evaluation', 'model_activation'] LOOP
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
