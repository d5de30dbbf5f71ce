-- What the node remembers of claims: policies, bundles, decisions and evidence; approvals are answers of the desk. An
-- instant is text of 27 characters. Indexes begin with what tells rows apart and only then name the tenant.

-- Policies of the gates as they were signed; the last one is active.
CREATE TABLE claims_policy (
    tenant_id       TEXT    NOT NULL,
    policy_hash     TEXT    NOT NULL,
    policy_id       TEXT    NOT NULL,
    version         TEXT    NOT NULL,
    document        TEXT    NOT NULL,
    key_id          TEXT    NOT NULL,
    signature       TEXT    NOT NULL,
    released_at     TEXT    NOT NULL CHECK (length(released_at) = 27),
    released_by     TEXT    NOT NULL,
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (sequence_number, tenant_id),
    UNIQUE (policy_id, version, tenant_id)
);
CREATE INDEX claims_policy_of_tenant ON claims_policy (tenant_id, sequence_number);

-- Bundles by the hash that approvals bind. A bundle is put in the place of another at most once.
CREATE TABLE claims_bundle (
    tenant_id       TEXT    NOT NULL,
    bundle_hash     TEXT    NOT NULL,
    bundle_id       TEXT    NOT NULL,
    submitted_by    TEXT    NOT NULL,
    tier            TEXT    NOT NULL CHECK (tier IN ('READ_ONLY', 'WRITE_LIMITED', 'MODIFY', 'DELETE', 'PRIVILEGE')),
    thread          TEXT,
    resumes         TEXT,
    text            TEXT    NOT NULL,
    context         TEXT    NOT NULL,
    received_at     TEXT    NOT NULL CHECK (length(received_at) = 27),
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (bundle_hash, tenant_id),
    UNIQUE (resumes, tenant_id)
);
CREATE INDEX claims_bundle_of_agent ON claims_bundle (submitted_by, tenant_id, received_at, sequence_number);
CREATE INDEX claims_bundle_latest ON claims_bundle (tenant_id, sequence_number);

-- What was decided about each, in order: a place is taken once, so that of two deciders one is told.
CREATE TABLE claims_decision (
    tenant_id       TEXT    NOT NULL,
    bundle_hash     TEXT    NOT NULL,
    position        INTEGER NOT NULL CHECK (position >= 1),
    decision        TEXT    NOT NULL CHECK (decision IN ('PUBLISH', 'DEFER', 'ESCALATE', 'REFUSE')),
    reason          TEXT    NOT NULL,
    policy_hash     TEXT    NOT NULL,
    text            TEXT    NOT NULL,
    decided_at      TEXT    NOT NULL CHECK (length(decided_at) = 27),
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (bundle_hash, position, tenant_id)
);

-- Which bundles have had their turn in the rate of their agent, each at most once; of each agent they count 1, 2, 3 …
CREATE TABLE claims_turn (
    tenant_id       TEXT    NOT NULL,
    bundle_hash     TEXT    NOT NULL,
    submitted_by    TEXT    NOT NULL,
    position        INTEGER NOT NULL CHECK (position >= 1),
    taken_at        TEXT    NOT NULL CHECK (length(taken_at) = 27),
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (bundle_hash, tenant_id),
    UNIQUE (submitted_by, tenant_id, position)
);
CREATE INDEX claims_turn_of_agent ON claims_turn (submitted_by, tenant_id, taken_at, position);

-- Evidence by its SHA-256; what it says is apart, where it can be erased.
CREATE TABLE claims_evidence (
    tenant_id       TEXT    NOT NULL,
    sha256          TEXT    NOT NULL CHECK (length(sha256) = 64),
    size            INTEGER NOT NULL CHECK (size >= 0),
    attached_by     TEXT    NOT NULL,
    attached_at     TEXT    NOT NULL CHECK (length(attached_at) = 27),
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (sha256, tenant_id)
);
CREATE INDEX claims_evidence_of_entry ON claims_evidence (sequence_number, tenant_id);
CREATE TABLE claims_evidence_content (
    tenant_id       TEXT    NOT NULL,
    sha256          TEXT    NOT NULL CHECK (length(sha256) = 64),
    content         BLOB    NOT NULL,
    PRIMARY KEY (sha256, tenant_id)
);
CREATE TRIGGER claims_evidence_content_no_replace BEFORE INSERT ON claims_evidence_content WHEN EXISTS (SELECT 1 FROM claims_evidence_content WHERE sha256 = NEW.sha256 AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'claims_evidence_content is append-only: that place is taken'); END;
CREATE TRIGGER claims_evidence_content_no_update BEFORE UPDATE ON claims_evidence_content BEGIN SELECT RAISE(ABORT, 'evidence is kept or erased, never changed'); END;

-- Append-only at the storage layer: no change, no deletion, no replacement.
CREATE TRIGGER claims_policy_no_replace BEFORE INSERT ON claims_policy WHEN EXISTS (SELECT 1 FROM claims_policy WHERE tenant_id = NEW.tenant_id AND (sequence_number = NEW.sequence_number OR (policy_id = NEW.policy_id AND version = NEW.version))) BEGIN SELECT RAISE(ABORT, 'claims_policy is append-only: that place is taken'); END;
CREATE TRIGGER claims_policy_no_update BEFORE UPDATE ON claims_policy BEGIN SELECT RAISE(ABORT, 'claims_policy is append-only: UPDATE refused'); END;
CREATE TRIGGER claims_policy_no_delete BEFORE DELETE ON claims_policy BEGIN SELECT RAISE(ABORT, 'claims_policy is append-only: DELETE refused'); END;
CREATE TRIGGER claims_bundle_no_replace BEFORE INSERT ON claims_bundle WHEN EXISTS (SELECT 1 FROM claims_bundle WHERE bundle_hash = NEW.bundle_hash AND tenant_id = NEW.tenant_id) OR EXISTS (SELECT 1 FROM claims_bundle WHERE resumes = NEW.resumes AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'claims_bundle is append-only: that place is taken'); END;
CREATE TRIGGER claims_bundle_no_update BEFORE UPDATE ON claims_bundle BEGIN SELECT RAISE(ABORT, 'claims_bundle is append-only: UPDATE refused'); END;
CREATE TRIGGER claims_bundle_no_delete BEFORE DELETE ON claims_bundle BEGIN SELECT RAISE(ABORT, 'claims_bundle is append-only: DELETE refused'); END;
CREATE TRIGGER claims_decision_no_replace BEFORE INSERT ON claims_decision WHEN EXISTS (SELECT 1 FROM claims_decision WHERE bundle_hash = NEW.bundle_hash AND position = NEW.position AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'claims_decision is append-only: that place is taken'); END;
CREATE TRIGGER claims_decision_no_update BEFORE UPDATE ON claims_decision BEGIN SELECT RAISE(ABORT, 'claims_decision is append-only: UPDATE refused'); END;
CREATE TRIGGER claims_decision_no_delete BEFORE DELETE ON claims_decision BEGIN SELECT RAISE(ABORT, 'claims_decision is append-only: DELETE refused'); END;
CREATE TRIGGER claims_turn_no_replace BEFORE INSERT ON claims_turn WHEN EXISTS (SELECT 1 FROM claims_turn WHERE bundle_hash = NEW.bundle_hash AND tenant_id = NEW.tenant_id) OR EXISTS (SELECT 1 FROM claims_turn WHERE submitted_by = NEW.submitted_by AND position = NEW.position AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'claims_turn is append-only: that place is taken'); END;
CREATE TRIGGER claims_turn_no_update BEFORE UPDATE ON claims_turn BEGIN SELECT RAISE(ABORT, 'claims_turn is append-only: UPDATE refused'); END;
CREATE TRIGGER claims_turn_no_delete BEFORE DELETE ON claims_turn BEGIN SELECT RAISE(ABORT, 'claims_turn is append-only: DELETE refused'); END;
CREATE TRIGGER claims_evidence_no_replace BEFORE INSERT ON claims_evidence WHEN EXISTS (SELECT 1 FROM claims_evidence WHERE sha256 = NEW.sha256 AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'claims_evidence is append-only: that place is taken'); END;
CREATE TRIGGER claims_evidence_no_update BEFORE UPDATE ON claims_evidence BEGIN SELECT RAISE(ABORT, 'claims_evidence is append-only: UPDATE refused'); END;
CREATE TRIGGER claims_evidence_no_delete BEFORE DELETE ON claims_evidence BEGIN SELECT RAISE(ABORT, 'claims_evidence is append-only: DELETE refused'); END;
