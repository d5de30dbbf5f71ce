-- What the registry remembers of services. The same tables make the file that the workers of one service share, so they
-- refer to nothing else. An instant is text of 27 characters. Indexes begin with what tells rows apart and only then name
-- the tenant.

-- Facts about kill switches, in order: a place is taken once, so that of two workers that fire at once one is told.
CREATE TABLE assay.switch_fact (
    tenant_id   text COLLATE "C" NOT NULL,
    service_id  text COLLATE "C" NOT NULL,
    position    bigint           NOT NULL CHECK (position >= 1),
    kind        text COLLATE "C" NOT NULL CHECK (kind IN ('fired', 'restored')),
    text        text             NOT NULL,
    recorded_at text COLLATE "C" NOT NULL CHECK (length(recorded_at) = 27),
    PRIMARY KEY (service_id, position, tenant_id)
);

-- What each worker of a service saw in the last seconds; rows change all the time.
CREATE TABLE assay.service_worker (
    tenant_id  text COLLATE "C" NOT NULL,
    service_id text COLLATE "C" NOT NULL,
    worker_id  text COLLATE "C" NOT NULL,
    text       text             NOT NULL,
    updated_at text COLLATE "C" NOT NULL CHECK (length(updated_at) = 27),
    PRIMARY KEY (service_id, worker_id, tenant_id)
);

-- Numbers that only grow: attempts at more power than was issued, announces.
CREATE TABLE assay.service_counter (
    tenant_id  text COLLATE "C" NOT NULL,
    service_id text COLLATE "C" NOT NULL,
    name       text COLLATE "C" NOT NULL,
    number     bigint           NOT NULL CHECK (number >= 1),
    PRIMARY KEY (service_id, name, tenant_id)
);

-- Actions of tier 2 and above, logged before they ran (FRJ-007), with how they are undone (FRJ-008).
CREATE TABLE assay.service_action (
    tenant_id       text COLLATE "C" NOT NULL,
    log_id          text COLLATE "C" NOT NULL,
    service_id      text COLLATE "C" NOT NULL,
    action_id       text COLLATE "C" NOT NULL,
    principal_id    text COLLATE "C" NOT NULL,
    parameters_hash text COLLATE "C" NOT NULL,
    text            text             NOT NULL,
    logged_at       text COLLATE "C" NOT NULL CHECK (length(logged_at) = 27),
    PRIMARY KEY (log_id, tenant_id)
);
CREATE INDEX service_action_latest ON assay.service_action (service_id, tenant_id, logged_at, log_id);

-- The keys that operators know for a service; a key inside a document vouches for nothing.
CREATE TABLE assay.service_key (
    tenant_id     text COLLATE "C" NOT NULL,
    service_id    text COLLATE "C" NOT NULL,
    key_id        text COLLATE "C" NOT NULL,
    public_key    text COLLATE "C" NOT NULL,
    made_by       text COLLATE "C" NOT NULL,
    registered_at text COLLATE "C" NOT NULL CHECK (length(registered_at) = 27),
    PRIMARY KEY (service_id, key_id, tenant_id)
);

-- Keys that count for nothing any more, since when and why.
CREATE TABLE assay.service_key_end (
    tenant_id  text COLLATE "C" NOT NULL,
    service_id text COLLATE "C" NOT NULL,
    key_id     text COLLATE "C" NOT NULL,
    reason     text COLLATE "C" NOT NULL,
    made_by    text COLLATE "C" NOT NULL,
    revoked_at text COLLATE "C" NOT NULL CHECK (length(revoked_at) = 27),
    PRIMARY KEY (service_id, key_id, tenant_id)
);

-- Who counts as there, and until when; a lease changes with every message of its instance.
CREATE TABLE assay.service_lease (
    tenant_id   text COLLATE "C" NOT NULL,
    service_id  text COLLATE "C" NOT NULL,
    instance_id text COLLATE "C" NOT NULL,
    lease       text             NOT NULL,
    announce    text             NOT NULL,
    expires_at  text COLLATE "C" NOT NULL CHECK (length(expires_at) = 27),
    PRIMARY KEY (service_id, instance_id, tenant_id)
);
CREATE INDEX service_lease_of_tenant ON assay.service_lease (tenant_id, service_id, instance_id);

-- What each service was last found to serve: the rows of the index.
CREATE TABLE assay.service_entry (
    tenant_id  text COLLATE "C" NOT NULL,
    service_id text COLLATE "C" NOT NULL,
    text       text             NOT NULL,
    checked_at text COLLATE "C" NOT NULL CHECK (length(checked_at) = 27),
    PRIMARY KEY (service_id, tenant_id)
);
CREATE INDEX service_entry_of_tenant ON assay.service_entry (tenant_id, service_id);

-- Measurements of PROOF, kept for good: the protocol asks for 90 days.
CREATE TABLE assay.service_proof (
    tenant_id   text COLLATE "C" NOT NULL,
    service_id  text COLLATE "C" NOT NULL,
    measured_at text COLLATE "C" NOT NULL CHECK (length(measured_at) = 27),
    proof_hash  text COLLATE "C" NOT NULL,
    text        text             NOT NULL,
    PRIMARY KEY (service_id, measured_at, tenant_id)
);

-- Changes of tiers (FRJ-015): of one subject they count 1, 2, 3 …
CREATE TABLE assay.tier_change (
    tenant_id  text COLLATE "C" NOT NULL,
    subject    text COLLATE "C" NOT NULL,
    version    bigint           NOT NULL CHECK (version >= 1),
    text       text             NOT NULL,
    changed_at text COLLATE "C" NOT NULL CHECK (length(changed_at) = 27),
    PRIMARY KEY (subject, version, tenant_id)
);

-- Append-only at the storage layer: no change, no deletion, no truncation.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['switch_fact', 'service_action', 'service_key', 'service_key_end', 'service_proof', 'tier_change'] LOOP
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
