-- What the registry remembers of services. The same tables make the file that the workers of one service share, so they
-- refer to nothing else. An instant is text of 27 characters. Indexes begin with what tells rows apart and only then name
-- the tenant.

-- Facts about kill switches, in order: a place is taken once, so that of two workers that fire at once one is told.
CREATE TABLE switch_fact (
    tenant_id   TEXT    NOT NULL,
    service_id  TEXT    NOT NULL,
    position    INTEGER NOT NULL CHECK (position >= 1),
    kind        TEXT    NOT NULL CHECK (kind IN ('fired', 'restored')),
    text        TEXT    NOT NULL,
    recorded_at TEXT    NOT NULL CHECK (length(recorded_at) = 27),
    PRIMARY KEY (service_id, position, tenant_id)
);

-- What each worker of a service saw in the last seconds; rows change all the time.
CREATE TABLE service_worker (
    tenant_id  TEXT    NOT NULL,
    service_id TEXT    NOT NULL,
    worker_id  TEXT    NOT NULL,
    text       TEXT    NOT NULL,
    updated_at TEXT    NOT NULL CHECK (length(updated_at) = 27),
    PRIMARY KEY (service_id, worker_id, tenant_id)
);

-- Numbers that only grow: attempts at more power than was issued, announces.
CREATE TABLE service_counter (
    tenant_id  TEXT    NOT NULL,
    service_id TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    number     INTEGER NOT NULL CHECK (number >= 1),
    PRIMARY KEY (service_id, name, tenant_id)
);

-- Actions of tier 2 and above, logged before they ran (FRJ-007), with how they are undone (FRJ-008).
CREATE TABLE service_action (
    tenant_id       TEXT    NOT NULL,
    log_id          TEXT    NOT NULL,
    service_id      TEXT    NOT NULL,
    action_id       TEXT    NOT NULL,
    principal_id    TEXT    NOT NULL,
    parameters_hash TEXT    NOT NULL,
    text            TEXT    NOT NULL,
    logged_at       TEXT    NOT NULL CHECK (length(logged_at) = 27),
    PRIMARY KEY (log_id, tenant_id)
);
CREATE INDEX service_action_latest ON service_action (service_id, tenant_id, logged_at, log_id);

-- The keys that operators know for a service; a key inside a document vouches for nothing.
CREATE TABLE service_key (
    tenant_id     TEXT    NOT NULL,
    service_id    TEXT    NOT NULL,
    key_id        TEXT    NOT NULL,
    public_key    TEXT    NOT NULL,
    made_by       TEXT    NOT NULL,
    registered_at TEXT    NOT NULL CHECK (length(registered_at) = 27),
    PRIMARY KEY (service_id, key_id, tenant_id)
);

-- Keys that count for nothing any more, since when and why.
CREATE TABLE service_key_end (
    tenant_id  TEXT NOT NULL,
    service_id TEXT NOT NULL,
    key_id     TEXT NOT NULL,
    reason     TEXT NOT NULL,
    made_by    TEXT NOT NULL,
    revoked_at TEXT NOT NULL CHECK (length(revoked_at) = 27),
    PRIMARY KEY (service_id, key_id, tenant_id)
);

-- Who counts as there, and until when; a lease changes with every message of its instance.
CREATE TABLE service_lease (
    tenant_id   TEXT    NOT NULL,
    service_id  TEXT    NOT NULL,
    instance_id TEXT    NOT NULL,
    lease       TEXT    NOT NULL,
    announce    TEXT    NOT NULL,
    expires_at  TEXT    NOT NULL CHECK (length(expires_at) = 27),
    PRIMARY KEY (service_id, instance_id, tenant_id)
);
CREATE INDEX service_lease_of_tenant ON service_lease (tenant_id, service_id, instance_id);

-- What each service was last found to serve: the rows of the index.
CREATE TABLE service_entry (
    tenant_id  TEXT    NOT NULL,
    service_id TEXT    NOT NULL,
    text       TEXT    NOT NULL,
    checked_at TEXT    NOT NULL CHECK (length(checked_at) = 27),
    PRIMARY KEY (service_id, tenant_id)
);
CREATE INDEX service_entry_of_tenant ON service_entry (tenant_id, service_id);

-- Measurements of PROOF, kept for good: the protocol asks for 90 days.
CREATE TABLE service_proof (
    tenant_id   TEXT    NOT NULL,
    service_id  TEXT    NOT NULL,
    measured_at TEXT    NOT NULL CHECK (length(measured_at) = 27),
    proof_hash  TEXT    NOT NULL,
    text        TEXT    NOT NULL,
    PRIMARY KEY (service_id, measured_at, tenant_id)
);

-- Changes of tiers (FRJ-015): of one subject they count 1, 2, 3 …
CREATE TABLE tier_change (
    tenant_id  TEXT    NOT NULL,
    subject    TEXT    NOT NULL,
    version    INTEGER NOT NULL CHECK (version >= 1),
    text       TEXT    NOT NULL,
    changed_at TEXT    NOT NULL CHECK (length(changed_at) = 27),
    PRIMARY KEY (subject, version, tenant_id)
);

-- Append-only at the storage layer: no change, no deletion, no replacement.
CREATE TRIGGER switch_fact_no_replace BEFORE INSERT ON switch_fact WHEN EXISTS (SELECT 1 FROM switch_fact WHERE service_id = NEW.service_id AND position = NEW.position AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'switch_fact is append-only: that place is taken'); END;
CREATE TRIGGER switch_fact_no_update BEFORE UPDATE ON switch_fact BEGIN SELECT RAISE(ABORT, 'switch_fact is append-only: UPDATE refused'); END;
CREATE TRIGGER switch_fact_no_delete BEFORE DELETE ON switch_fact BEGIN SELECT RAISE(ABORT, 'switch_fact is append-only: DELETE refused'); END;
CREATE TRIGGER service_action_no_replace BEFORE INSERT ON service_action WHEN EXISTS (SELECT 1 FROM service_action WHERE log_id = NEW.log_id AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'service_action is append-only: that place is taken'); END;
CREATE TRIGGER service_action_no_update BEFORE UPDATE ON service_action BEGIN SELECT RAISE(ABORT, 'service_action is append-only: UPDATE refused'); END;
CREATE TRIGGER service_action_no_delete BEFORE DELETE ON service_action BEGIN SELECT RAISE(ABORT, 'service_action is append-only: DELETE refused'); END;
CREATE TRIGGER service_key_no_replace BEFORE INSERT ON service_key WHEN EXISTS (SELECT 1 FROM service_key WHERE service_id = NEW.service_id AND key_id = NEW.key_id AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'service_key is append-only: that place is taken'); END;
CREATE TRIGGER service_key_no_update BEFORE UPDATE ON service_key BEGIN SELECT RAISE(ABORT, 'service_key is append-only: UPDATE refused'); END;
CREATE TRIGGER service_key_no_delete BEFORE DELETE ON service_key BEGIN SELECT RAISE(ABORT, 'service_key is append-only: DELETE refused'); END;
CREATE TRIGGER service_key_end_no_replace BEFORE INSERT ON service_key_end WHEN EXISTS (SELECT 1 FROM service_key_end WHERE service_id = NEW.service_id AND key_id = NEW.key_id AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'service_key_end is append-only: that place is taken'); END;
CREATE TRIGGER service_key_end_no_update BEFORE UPDATE ON service_key_end BEGIN SELECT RAISE(ABORT, 'service_key_end is append-only: UPDATE refused'); END;
CREATE TRIGGER service_key_end_no_delete BEFORE DELETE ON service_key_end BEGIN SELECT RAISE(ABORT, 'service_key_end is append-only: DELETE refused'); END;
CREATE TRIGGER service_proof_no_replace BEFORE INSERT ON service_proof WHEN EXISTS (SELECT 1 FROM service_proof WHERE service_id = NEW.service_id AND measured_at = NEW.measured_at AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'service_proof is append-only: that place is taken'); END;
CREATE TRIGGER service_proof_no_update BEFORE UPDATE ON service_proof BEGIN SELECT RAISE(ABORT, 'service_proof is append-only: UPDATE refused'); END;
CREATE TRIGGER service_proof_no_delete BEFORE DELETE ON service_proof BEGIN SELECT RAISE(ABORT, 'service_proof is append-only: DELETE refused'); END;
CREATE TRIGGER tier_change_no_replace BEFORE INSERT ON tier_change WHEN EXISTS (SELECT 1 FROM tier_change WHERE subject = NEW.subject AND version = NEW.version AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'tier_change is append-only: that place is taken'); END;
CREATE TRIGGER tier_change_no_update BEFORE UPDATE ON tier_change BEGIN SELECT RAISE(ABORT, 'tier_change is append-only: UPDATE refused'); END;
CREATE TRIGGER tier_change_no_delete BEFORE DELETE ON tier_change BEGIN SELECT RAISE(ABORT, 'tier_change is append-only: DELETE refused'); END;
