-- Everything lies in schema `assay` and belongs to the owner role; the application role is granted what it needs.
-- Text that is compared or sorted has collation "C": the order is that of the bytes, on every server.

-- The ledger of SKI 7.1: its columns, and the canonical text that is hashed and proven.
CREATE TABLE assay.ledger (
    tenant_id         text COLLATE "C" NOT NULL,
    sequence_number   bigint           NOT NULL CHECK (sequence_number >= 1),
    previous_hash     text COLLATE "C" NOT NULL,
    entry_hash        text COLLATE "C" NOT NULL,
    leaf_hash         bytea            NOT NULL CHECK (length(leaf_hash) = 32),
    timestamp         timestamptz      NOT NULL,
    kind              text COLLATE "C" NOT NULL,
    telemetry_id      text,
    telemetry_hash    text,
    verdict           text,
    rule_id           text,
    kg_version_hash   text,
    model_weight_hash text,
    llm_transcript    jsonb,
    verifier_result   jsonb,
    schema_version    text             NOT NULL,
    text              bytea            NOT NULL,
    PRIMARY KEY (tenant_id, sequence_number)
);

-- The end of each chain, and the epoch of the writer that may move it: the only ledger fact that changes.
CREATE TABLE assay.chain (
    tenant_id       text COLLATE "C" NOT NULL PRIMARY KEY,
    epoch           bigint           NOT NULL,
    holder          text             NOT NULL,
    sequence_number bigint           NOT NULL CHECK (sequence_number >= 0),
    entry_hash      text COLLATE "C" NOT NULL
);

-- The tree: one hash for each finished subtree of 256^level leaves, and full tiles of 256 hashes.
CREATE TABLE assay.subtree (
    tenant_id text COLLATE "C" NOT NULL,
    level     integer          NOT NULL CHECK (level >= 1),
    position  bigint           NOT NULL CHECK (position >= 0),
    hash      bytea            NOT NULL CHECK (length(hash) = 32),
    PRIMARY KEY (tenant_id, level, position)
);
CREATE TABLE assay.tile (
    tenant_id text COLLATE "C" NOT NULL,
    level     integer          NOT NULL CHECK (level >= 0),
    position  bigint           NOT NULL CHECK (position >= 0),
    hashes    bytea            NOT NULL CHECK (length(hashes) = 8192),
    PRIMARY KEY (tenant_id, level, position)
);
-- Hashes do not compress; trying would only cost time.
ALTER TABLE assay.tile ALTER COLUMN hashes SET STORAGE EXTERNAL;
CREATE TABLE assay.checkpoint (
    tenant_id text COLLATE "C" NOT NULL,
    number    bigint           NOT NULL CHECK (number >= 1),
    size      bigint           NOT NULL CHECK (size >= 0),
    root_hash text             NOT NULL,
    signed_at timestamptz      NOT NULL,
    note      text             NOT NULL,
    PRIMARY KEY (tenant_id, number)
);

-- The node's own keys: who vouches for which, and when a key ends; each fact names the ledger entry that records it.
CREATE TABLE assay.key_fact (
    position        bigint           NOT NULL PRIMARY KEY CHECK (position >= 1),
    kind            text COLLATE "C" NOT NULL CHECK (kind IN ('endorsement', 'retirement')),
    tenant_id       text COLLATE "C" NOT NULL,
    sequence_number bigint           NOT NULL CHECK (sequence_number >= 1),
    record          text             NOT NULL
);

-- Language model transcripts (SKI 7.4).
CREATE TABLE assay.transcript (
    tenant_id     text COLLATE "C" NOT NULL,
    transcript_id text COLLATE "C" NOT NULL,
    record        text             NOT NULL,
    PRIMARY KEY (tenant_id, transcript_id)
);

-- Salts and values behind commitments: with names, the one thing that may be deleted.
CREATE TABLE assay.disclosure (
    tenant_id       text COLLATE "C" NOT NULL,
    sequence_number bigint           NOT NULL CHECK (sequence_number >= 1),
    pointer         text COLLATE "C" NOT NULL,
    salt            text             NOT NULL,
    value           text             NOT NULL,
    PRIMARY KEY (tenant_id, sequence_number, pointer)
);
-- Erased rows leave the table's files at the next round of autovacuum, however few they are.
ALTER TABLE assay.disclosure SET (autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0);

-- Events committed with the entries that caused them, and how far each subscriber has confirmed.
CREATE TABLE assay.outbox (
    tenant_id       text COLLATE "C" NOT NULL,
    position        bigint           NOT NULL CHECK (position >= 1),
    ledger_sequence bigint           NOT NULL CHECK (ledger_sequence >= 1),
    type            text             NOT NULL,
    subject         text COLLATE "C" NOT NULL,
    occurred_at     timestamptz      NOT NULL,
    body            text             NOT NULL,
    PRIMARY KEY (tenant_id, position)
);
CREATE TABLE assay.outbox_cursor (
    tenant_id  text COLLATE "C" NOT NULL,
    subscriber text COLLATE "C" NOT NULL,
    position   bigint           NOT NULL CHECK (position >= 0),
    PRIMARY KEY (tenant_id, subscriber)
);

-- People, agents and services: each version of a record is kept, the latest one counts.
CREATE TABLE assay.principal (
    tenant_id       text COLLATE "C" NOT NULL,
    principal_id    text COLLATE "C" NOT NULL,
    version         bigint           NOT NULL CHECK (version >= 1),
    sequence_number bigint           NOT NULL CHECK (sequence_number >= 1),
    record          text             NOT NULL,
    PRIMARY KEY (tenant_id, principal_id, version)
);
-- What people are called is kept apart, where it can be erased with the disclosure of the entry that logged it.
CREATE TABLE assay.principal_name (
    tenant_id       text COLLATE "C" NOT NULL,
    principal_id    text COLLATE "C" NOT NULL,
    version         bigint           NOT NULL CHECK (version >= 1),
    sequence_number bigint           NOT NULL CHECK (sequence_number >= 1),
    name            text             NOT NULL,
    PRIMARY KEY (tenant_id, principal_id, version)
);
ALTER TABLE assay.principal_name SET (autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0);
-- Credentials are facts too: an API key, a password, a session; and their end is a later fact.
CREATE TABLE assay.credential (
    credential_id text COLLATE "C" NOT NULL PRIMARY KEY,
    kind          text COLLATE "C" NOT NULL CHECK (kind IN ('api_key', 'password', 'session')),
    tenant_id     text COLLATE "C" NOT NULL,
    principal_id  text COLLATE "C" NOT NULL,
    position      bigint           NOT NULL CHECK (position >= 1),
    record        text             NOT NULL
);
CREATE INDEX credential_of ON assay.credential (tenant_id, principal_id, kind, position);
CREATE TABLE assay.revocation (
    credential_id text COLLATE "C" NOT NULL,
    position      bigint           NOT NULL CHECK (position >= 1),
    record        text             NOT NULL,
    PRIMARY KEY (credential_id, position)
);

-- The review desk: a ticket, the answers to it, and how it was settled.
CREATE TABLE assay.ticket (
    tenant_id text COLLATE "C" NOT NULL,
    ticket_id text COLLATE "C" NOT NULL,
    position  bigint           NOT NULL CHECK (position >= 1),
    kind      text COLLATE "C" NOT NULL,
    opened_at timestamptz      NOT NULL,
    record    text             NOT NULL,
    PRIMARY KEY (tenant_id, ticket_id),
    UNIQUE (tenant_id, position)
);
CREATE TABLE assay.answer (
    tenant_id   text COLLATE "C" NOT NULL,
    ticket_id   text COLLATE "C" NOT NULL,
    position    bigint           NOT NULL CHECK (position >= 1),
    answered_by text COLLATE "C" NOT NULL,
    record      text             NOT NULL,
    PRIMARY KEY (tenant_id, ticket_id, position),
    UNIQUE (tenant_id, ticket_id, answered_by)
);
CREATE TABLE assay.settlement (
    tenant_id text COLLATE "C" NOT NULL,
    ticket_id text COLLATE "C" NOT NULL,
    record    text             NOT NULL,
    PRIMARY KEY (tenant_id, ticket_id)
);

-- Functions run as their owner, name everything with its schema, and look at temporary objects last: whoever calls
-- them cannot put another table in their way. ZA001 and ZA002 are the states the adapter knows.
CREATE FUNCTION assay.refuse_change() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'ZA001';
END $$;

-- One look at the whole statement: entry 1 follows the zero hash, every other the entry before it. With the primary
-- key this leaves neither gap nor fork: the entry before must be there, and nobody else may be in the same place.
-- Inside the statement a row's predecessor is the row before it; only each chain's first new row needs the table.
CREATE FUNCTION assay.verify_links() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    broken record;
BEGIN
    SELECT linked.tenant_id, linked.sequence_number INTO broken
    FROM (
        SELECT
            added.tenant_id,
            added.sequence_number,
            added.previous_hash,
            lag(added.entry_hash) OVER chain AS hash_before,
            lag(added.sequence_number) OVER chain AS number_before
        FROM added
        WINDOW chain AS (PARTITION BY added.tenant_id ORDER BY added.sequence_number)
    ) AS linked
    WHERE linked.previous_hash IS DISTINCT FROM CASE
        WHEN linked.number_before = linked.sequence_number - 1 THEN linked.hash_before
        WHEN linked.number_before IS NOT NULL THEN NULL
        WHEN linked.sequence_number = 1
            THEN 'sha256:0000000000000000000000000000000000000000000000000000000000000000'
        ELSE (
            SELECT stored.entry_hash FROM assay.ledger AS stored
            WHERE stored.tenant_id = linked.tenant_id AND stored.sequence_number = linked.sequence_number - 1
        )
    END
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'ledger chain broken: entry % of % does not follow the entry before it',
            broken.sequence_number, broken.tenant_id USING ERRCODE = 'ZA002';
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION assay.refuse_shrinking() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NEW.tenant_id <> OLD.tenant_id OR NEW.sequence_number < OLD.sequence_number OR NEW.epoch < OLD.epoch THEN
        RAISE EXCEPTION 'a chain never shrinks' USING ERRCODE = 'ZA001';
    END IF;
    RETURN NEW;
END $$;

REVOKE ALL ON FUNCTION assay.refuse_change(), assay.verify_links(), assay.refuse_shrinking() FROM PUBLIC;

CREATE TRIGGER ledger_links AFTER INSERT ON assay.ledger
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION assay.verify_links();
ALTER TABLE assay.ledger ENABLE ALWAYS TRIGGER ledger_links;
CREATE TRIGGER chain_never_shrinks BEFORE UPDATE ON assay.chain
    FOR EACH ROW EXECUTE FUNCTION assay.refuse_shrinking();
ALTER TABLE assay.chain ENABLE ALWAYS TRIGGER chain_never_shrinks;
CREATE TRIGGER chain_no_delete BEFORE DELETE ON assay.chain
    FOR EACH ROW EXECUTE FUNCTION assay.refuse_change();
ALTER TABLE assay.chain ENABLE ALWAYS TRIGGER chain_no_delete;
CREATE TRIGGER disclosure_no_update BEFORE UPDATE ON assay.disclosure
    FOR EACH ROW EXECUTE FUNCTION assay.refuse_change();
ALTER TABLE assay.disclosure ENABLE ALWAYS TRIGGER disclosure_no_update;
CREATE TRIGGER principal_name_no_update BEFORE UPDATE ON assay.principal_name
    FOR EACH ROW EXECUTE FUNCTION assay.refuse_change();
ALTER TABLE assay.principal_name ENABLE ALWAYS TRIGGER principal_name_no_update;

-- Append-only at the storage layer (SKI 7.2). ALWAYS: also when a session says that it only replicates.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY[
        'ledger', 'subtree', 'tile', 'checkpoint', 'key_fact', 'transcript', 'outbox', 'principal', 'credential',
        'revocation', 'ticket', 'answer', 'settlement'
    ] LOOP
        EXECUTE format(
            'CREATE TRIGGER %1$s_no_change BEFORE UPDATE OR DELETE ON assay.%1$I'
            ' FOR EACH ROW EXECUTE FUNCTION assay.refuse_change()', name);
        EXECUTE format('ALTER TABLE assay.%1$I ENABLE ALWAYS TRIGGER %1$s_no_change', name);
    END LOOP;
    FOREACH name IN ARRAY ARRAY[
        'ledger', 'subtree', 'tile', 'checkpoint', 'key_fact', 'transcript', 'outbox', 'principal', 'credential',
        'revocation', 'ticket', 'answer', 'settlement', 'chain', 'disclosure', 'principal_name'
    ] LOOP
        EXECUTE format(
            'CREATE TRIGGER %1$s_no_truncate BEFORE TRUNCATE ON assay.%1$I'
            ' FOR EACH STATEMENT EXECUTE FUNCTION assay.refuse_change()', name);
        EXECUTE format('ALTER TABLE assay.%1$I ENABLE ALWAYS TRIGGER %1$s_no_truncate', name);
    END LOOP;
END $$;
