-- The gateway: its table of tools, approved definitions, and calls. An instant is text of 27 characters.

-- The tools that a gateway may call, and as what; `text` is the rows as canonical JSON. The last version is in force.
CREATE TABLE assay.gateway_table (
    tenant_id       text COLLATE "C" NOT NULL,
    version         bigint NOT NULL CHECK (version >= 1),
    text            text NOT NULL,
    key_id          text COLLATE "C" NOT NULL,
    signature       text NOT NULL,
    made_by         text COLLATE "C" NOT NULL,
    released_at     text COLLATE "C" NOT NULL CHECK (length(released_at) = 27),
    sequence_number bigint NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (version, tenant_id)
);
CREATE UNIQUE INDEX gateway_table_in_order ON assay.gateway_table (tenant_id, sequence_number);
-- Another definition of a tool that may be called.
CREATE TABLE assay.gateway_definition (
    tenant_id       text COLLATE "C" NOT NULL,
    tool            text COLLATE "C" NOT NULL,
    definition_hash text COLLATE "C" NOT NULL,
    made_by         text COLLATE "C" NOT NULL,
    reason          text NOT NULL,
    approved_at     text COLLATE "C" NOT NULL CHECK (length(approved_at) = 27),
    sequence_number bigint NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (sequence_number, tenant_id)
);
CREATE UNIQUE INDEX gateway_definition_in_order ON assay.gateway_definition (tenant_id, sequence_number);
-- A call that went through a gateway: hashes, and what guardians made of its result.
CREATE TABLE assay.gateway_call (
    tenant_id       text COLLATE "C" NOT NULL,
    tool            text COLLATE "C" NOT NULL,
    agent           text COLLATE "C" NOT NULL,
    definition_hash text COLLATE "C" NOT NULL,
    arguments_hash  text COLLATE "C" NOT NULL,
    result_hash     text COLLATE "C" NOT NULL,
    permit_id       text COLLATE "C",
    threat          text NOT NULL,
    is_withheld     bigint NOT NULL CHECK (is_withheld IN (0, 1)),
    called_at       text COLLATE "C" NOT NULL CHECK (length(called_at) = 27),
    sequence_number bigint NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (sequence_number, tenant_id)
);
CREATE UNIQUE INDEX gateway_call_in_order ON assay.gateway_call (tenant_id, sequence_number);
CREATE INDEX gateway_call_of_agent ON assay.gateway_call (agent, tenant_id, sequence_number);

-- Append-only at the storage layer: no change, no deletion, no truncation.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['gateway_table', 'gateway_definition', 'gateway_call'] LOOP
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
