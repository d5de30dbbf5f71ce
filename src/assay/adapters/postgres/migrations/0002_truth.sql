-- What truth and trust remember (Kaori 17): rows that make entries of the ledger quick to find. An instant is text of
-- 27 characters, always with six digits of a second, so that the order of the texts is the order in time.
-- Indexes begin with what tells rows apart and only then name the tenant: on a table of which the planner knows nothing
-- yet, one that begins with the tenant looks as good as any, and would be read from end to end.

-- A key's open question is looked for with every compilation, so tickets are found by what they are about. Those that
-- were opened before this column are about nothing here; questions about keys come only with the tables below.
ALTER TABLE assay.ticket ADD COLUMN about text COLLATE "C";
CREATE INDEX ticket_about ON assay.ticket (about, kind, tenant_id, position);

-- Contracts as they were released: one body for each claim type, for ever (Kaori 6.4).
CREATE TABLE assay.truth_contract (
    tenant_id       text COLLATE "C" NOT NULL,
    claim_type      text COLLATE "C" NOT NULL,
    claim_type_hash text COLLATE "C" NOT NULL,
    document        text             NOT NULL,
    schema_text     text,
    released_at     text COLLATE "C" NOT NULL,
    released_by     text COLLATE "C" NOT NULL,
    sequence_number bigint           NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (tenant_id, claim_type)
);

-- Bronze: what a compilation of a key reads. Of one kind, an id and a hash each name one record within a key.
CREATE TABLE assay.truth_record (
    tenant_id       text COLLATE "C" NOT NULL,
    kind            text COLLATE "C" NOT NULL
        CHECK (kind IN ('observation', 'vote', 'ai_score', 'fingerprint', 'window_event')),
    truthkey        text COLLATE "C" NOT NULL,
    record_id       text COLLATE "C" NOT NULL,
    record_hash     text COLLATE "C" NOT NULL,
    made_by         text COLLATE "C" NOT NULL,
    occurred_at     text COLLATE "C" NOT NULL,
    received_at     text COLLATE "C" NOT NULL,
    text            text             NOT NULL,
    sequence_number bigint           NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (tenant_id, truthkey, kind, record_hash),
    UNIQUE (record_id, kind, tenant_id, truthkey)
);
CREATE INDEX truth_record_of_key ON assay.truth_record (truthkey, tenant_id, sequence_number);
-- Pages of observations go on after an entry's number, so an entry records one observation at most.
CREATE UNIQUE INDEX truth_record_entry ON assay.truth_record (sequence_number, tenant_id) WHERE kind = 'observation';
CREATE INDEX truth_record_log ON assay.truth_record (tenant_id, sequence_number);
CREATE INDEX truth_record_by ON assay.truth_record (made_by, tenant_id, sequence_number);
CREATE INDEX truth_record_reports ON assay.truth_record (made_by, truthkey, tenant_id, kind);
CREATE INDEX truth_record_hash ON assay.truth_record (record_hash, tenant_id, sequence_number);

-- Trust as it was frozen for a compilation, by the hash that states name.
CREATE TABLE assay.trust_snapshot (
    tenant_id       text COLLATE "C" NOT NULL,
    snapshot_hash   text COLLATE "C" NOT NULL,
    snapshot_time   text COLLATE "C" NOT NULL,
    text            text             NOT NULL,
    sequence_number bigint           NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (tenant_id, snapshot_hash)
);

-- Silver: every signed state of every key. Gold is the latest of each.
CREATE TABLE assay.truth_state (
    tenant_id       text COLLATE "C" NOT NULL,
    truthkey        text COLLATE "C" NOT NULL,
    version         bigint           NOT NULL CHECK (version >= 1),
    claim_type      text COLLATE "C" NOT NULL,
    status          text COLLATE "C" NOT NULL,
    semantic_hash   text COLLATE "C" NOT NULL,
    state_hash      text COLLATE "C" NOT NULL,
    snapshot_hash   text COLLATE "C" NOT NULL,
    compile_time    text COLLATE "C" NOT NULL CHECK (length(compile_time) = 27),
    due_at          text COLLATE "C"          CHECK (length(due_at) = 27),
    through         bigint           NOT NULL CHECK (through >= 0),
    text            text             NOT NULL,
    sequence_number bigint           NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (tenant_id, truthkey, version)
);
-- Every key has a first version, so these are the keys that have a state.
CREATE INDEX truth_state_first ON assay.truth_state (tenant_id, version, truthkey) WHERE version = 1;
CREATE INDEX truth_state_known ON assay.truth_state (truthkey, tenant_id, compile_time, version);
CREATE INDEX truth_state_claim ON assay.truth_state (claim_type, tenant_id, truthkey, version);
CREATE INDEX truth_state_hash ON assay.truth_state (state_hash, tenant_id, sequence_number);
-- Which latest states change by time alone, and when. Old versions were due too and are never forgotten, so an index of
-- Silver would be walked from the first on; this is worked out from each state that is added, and its rows change.
CREATE TABLE assay.truth_due (
    tenant_id text COLLATE "C" NOT NULL,
    truthkey  text COLLATE "C" NOT NULL,
    version   bigint           NOT NULL CHECK (version >= 1),
    due_at    text COLLATE "C" NOT NULL CHECK (length(due_at) = 27),
    PRIMARY KEY (tenant_id, truthkey)
);
CREATE INDEX truth_due_next ON assay.truth_due (tenant_id, due_at, truthkey);

-- The log that trust is folded from, the policies that read it, and where a fold had arrived.
CREATE TABLE assay.trust_signal (
    tenant_id       text COLLATE "C" NOT NULL,
    sequence_number bigint           NOT NULL CHECK (sequence_number >= 1),
    signal_id       text COLLATE "C" NOT NULL,
    kind            text COLLATE "C" NOT NULL,
    agent_id        text COLLATE "C" NOT NULL,
    occurred_at     text COLLATE "C" NOT NULL,
    text            text             NOT NULL,
    PRIMARY KEY (tenant_id, sequence_number),
    UNIQUE (signal_id, tenant_id)
);
CREATE INDEX trust_signal_of ON assay.trust_signal (agent_id, tenant_id, sequence_number);
CREATE TABLE assay.trust_policy (
    tenant_id       text COLLATE "C" NOT NULL,
    policy_id       text COLLATE "C" NOT NULL,
    policy_hash     text COLLATE "C" NOT NULL,
    document        text             NOT NULL,
    registered_at   text COLLATE "C" NOT NULL,
    registered_by   text COLLATE "C" NOT NULL,
    sequence_number bigint           NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (tenant_id, policy_id),
    UNIQUE (tenant_id, sequence_number)
);
CREATE INDEX trust_policy_hash ON assay.trust_policy (policy_hash, tenant_id, sequence_number);
-- A short cut that anybody can work out again from the log, so its rows may change.
CREATE TABLE assay.trust_mark (
    tenant_id   text COLLATE "C" NOT NULL,
    policy_hash text COLLATE "C" NOT NULL,
    through     bigint           NOT NULL CHECK (through >= 0),
    text        text             NOT NULL,
    signature   text             NOT NULL,
    PRIMARY KEY (tenant_id, policy_hash)
);

-- One look at the whole statement, like that at the ledger's links: versions of a key are numbered without gaps, and
-- neither their time nor what is in them falls back. As a value and not as a join, each row costs one look at the
-- index, also by a plan that was made when the table was empty.
CREATE FUNCTION assay.verify_versions() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    broken record;
BEGIN
    SELECT added.truthkey, added.version INTO broken
    FROM added
    WHERE added.version > 1 AND (
        SELECT stored.compile_time <= added.compile_time AND stored.through <= added.through
        FROM assay.truth_state AS stored
        WHERE stored.tenant_id = added.tenant_id AND stored.truthkey = added.truthkey
            AND stored.version = added.version - 1
    ) IS NOT TRUE
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'truth_state is append-only: version % of % must follow the one before it',
            broken.version, broken.truthkey USING ERRCODE = 'ZA001';
    END IF;
    RETURN NULL;
END $$;
REVOKE ALL ON FUNCTION assay.verify_versions() FROM PUBLIC;
CREATE TRIGGER truth_state_follows AFTER INSERT ON assay.truth_state
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION assay.verify_versions();
ALTER TABLE assay.truth_state ENABLE ALWAYS TRIGGER truth_state_follows;

-- Append-only at the storage layer (SKI 7.2). ALWAYS: also when a session says that it only replicates.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY[
        'truth_contract', 'truth_record', 'trust_snapshot', 'truth_state', 'trust_signal', 'trust_policy'
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
