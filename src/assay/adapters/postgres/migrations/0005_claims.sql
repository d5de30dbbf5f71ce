-- What the node remembers of claims: policies, bundles, decisions and evidence; approvals are answers of the desk. An
-- instant is text of 27 characters. Indexes begin with what tells rows apart and only then name the tenant.

-- Policies of the gates as they were signed; the last one is active.
CREATE TABLE assay.claims_policy (
    tenant_id       text COLLATE "C" NOT NULL,
    policy_hash     text COLLATE "C" NOT NULL,
    policy_id       text COLLATE "C" NOT NULL,
    version         text COLLATE "C" NOT NULL,
    document        text             NOT NULL,
    key_id          text COLLATE "C" NOT NULL,
    signature       text COLLATE "C" NOT NULL,
    released_at     text COLLATE "C" NOT NULL CHECK (length(released_at) = 27),
    released_by     text COLLATE "C" NOT NULL,
    sequence_number bigint           NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (sequence_number, tenant_id),
    UNIQUE (policy_id, version, tenant_id)
);
CREATE INDEX claims_policy_of_tenant ON assay.claims_policy (tenant_id, sequence_number);

-- Bundles by the hash that approvals bind. A bundle is put in the place of another at most once.
CREATE TABLE assay.claims_bundle (
    tenant_id       text COLLATE "C" NOT NULL,
    bundle_hash     text COLLATE "C" NOT NULL,
    bundle_id       text COLLATE "C" NOT NULL,
    submitted_by    text COLLATE "C" NOT NULL,
    tier            text COLLATE "C" NOT NULL CHECK (tier IN ('READ_ONLY', 'WRITE_LIMITED', 'MODIFY', 'DELETE', 'PRIVILEGE')),
    thread          text COLLATE "C",
    resumes         text COLLATE "C",
    text            text             NOT NULL,
    context         text             NOT NULL,
    received_at     text COLLATE "C" NOT NULL CHECK (length(received_at) = 27),
    sequence_number bigint           NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (bundle_hash, tenant_id),
    UNIQUE (resumes, tenant_id)
);
CREATE INDEX claims_bundle_of_agent ON assay.claims_bundle (submitted_by, tenant_id, received_at, sequence_number);
CREATE INDEX claims_bundle_latest ON assay.claims_bundle (tenant_id, sequence_number);

-- What was decided about each, in order: a place is taken once, so that of two deciders one is told.
CREATE TABLE assay.claims_decision (
    tenant_id       text COLLATE "C" NOT NULL,
    bundle_hash     text COLLATE "C" NOT NULL,
    position        bigint           NOT NULL CHECK (position >= 1),
    decision        text COLLATE "C" NOT NULL CHECK (decision IN ('PUBLISH', 'DEFER', 'ESCALATE', 'REFUSE')),
    reason          text             NOT NULL,
    policy_hash     text COLLATE "C" NOT NULL,
    text            text             NOT NULL,
    decided_at      text COLLATE "C" NOT NULL CHECK (length(decided_at) = 27),
    sequence_number bigint           NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (bundle_hash, position, tenant_id)
);

-- Which bundles have had their turn in the rate of their agent, each at most once; of each agent they count 1, 2, 3 …
CREATE TABLE assay.claims_turn (
    tenant_id       text COLLATE "C" NOT NULL,
    bundle_hash     text COLLATE "C" NOT NULL,
    submitted_by    text COLLATE "C" NOT NULL,
    position        bigint           NOT NULL CHECK (position >= 1),
    taken_at        text COLLATE "C" NOT NULL CHECK (length(taken_at) = 27),
    sequence_number bigint           NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (bundle_hash, tenant_id),
    UNIQUE (submitted_by, tenant_id, position)
);
CREATE INDEX claims_turn_of_agent ON assay.claims_turn (submitted_by, tenant_id, taken_at, position);

-- Evidence by its SHA-256; what it says is apart, where it can be erased.
CREATE TABLE assay.claims_evidence (
    tenant_id       text COLLATE "C" NOT NULL,
    sha256          text COLLATE "C" NOT NULL CHECK (length(sha256) = 64),
    size            bigint           NOT NULL CHECK (size >= 0),
    attached_by     text COLLATE "C" NOT NULL,
    attached_at     text COLLATE "C" NOT NULL CHECK (length(attached_at) = 27),
    sequence_number bigint           NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (sha256, tenant_id)
);
CREATE INDEX claims_evidence_of_entry ON assay.claims_evidence (sequence_number, tenant_id);
CREATE TABLE assay.claims_evidence_content (
    tenant_id       text COLLATE "C" NOT NULL,
    sha256          text COLLATE "C" NOT NULL CHECK (length(sha256) = 64),
    content         bytea            NOT NULL,
    PRIMARY KEY (sha256, tenant_id)
);
-- Erased rows leave the table's files at the next round of autovacuum, however few they are.
ALTER TABLE assay.claims_evidence_content SET (autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0);
CREATE TRIGGER claims_evidence_content_no_update BEFORE UPDATE ON assay.claims_evidence_content
    FOR EACH ROW EXECUTE FUNCTION assay.refuse_change();
ALTER TABLE assay.claims_evidence_content ENABLE ALWAYS TRIGGER claims_evidence_content_no_update;
CREATE TRIGGER claims_evidence_content_no_truncate BEFORE TRUNCATE ON assay.claims_evidence_content
    FOR EACH STATEMENT EXECUTE FUNCTION assay.refuse_change();
ALTER TABLE assay.claims_evidence_content ENABLE ALWAYS TRIGGER claims_evidence_content_no_truncate;

-- Append-only at the storage layer: no change, no deletion, no truncation.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['claims_policy', 'claims_bundle', 'claims_decision', 'claims_turn', 'claims_evidence'] LOOP
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
