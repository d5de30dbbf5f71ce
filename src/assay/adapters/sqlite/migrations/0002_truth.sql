-- What truth and trust remember (Kaori 17): rows that make entries of the ledger quick to find. An instant is text of
-- 27 characters, always with six digits of a second, so that the order of the texts is the order in time.
-- Indexes begin with what tells rows apart and only then name the tenant: on a table of which the planner knows nothing
-- yet, one that begins with the tenant looks as good as any, and would be read from end to end.

-- A key's open question is looked for with every compilation, so tickets are found by what they are about. Those that
-- were opened before this column are about nothing here; questions about keys come only with the tables below.
ALTER TABLE ticket ADD COLUMN about TEXT;
CREATE INDEX ticket_about ON ticket (about, kind, tenant_id, position);

-- Contracts as they were released: one body for each claim type, for ever (Kaori 6.4).
CREATE TABLE truth_contract (
    tenant_id       TEXT    NOT NULL,
    claim_type      TEXT    NOT NULL,
    claim_type_hash TEXT    NOT NULL,
    document        TEXT    NOT NULL,
    schema_text     TEXT,
    released_at     TEXT    NOT NULL,
    released_by     TEXT    NOT NULL,
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (tenant_id, claim_type)
);

-- Bronze: what a compilation of a key reads. Of one kind, an id and a hash each name one record within a key.
CREATE TABLE truth_record (
    tenant_id       TEXT    NOT NULL,
    kind            TEXT    NOT NULL CHECK (kind IN ('observation', 'vote', 'ai_score', 'fingerprint', 'window_event')),
    truthkey        TEXT    NOT NULL,
    record_id       TEXT    NOT NULL,
    record_hash     TEXT    NOT NULL,
    made_by         TEXT    NOT NULL,
    occurred_at     TEXT    NOT NULL,
    received_at     TEXT    NOT NULL,
    text            TEXT    NOT NULL,
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (tenant_id, truthkey, kind, record_hash),
    UNIQUE (record_id, kind, tenant_id, truthkey)
);
CREATE INDEX truth_record_of_key ON truth_record (truthkey, tenant_id, sequence_number);
-- Pages of observations go on after an entry's number, so an entry records one observation at most.
CREATE UNIQUE INDEX truth_record_entry ON truth_record (sequence_number, tenant_id) WHERE kind = 'observation';
CREATE INDEX truth_record_log ON truth_record (tenant_id, sequence_number);
CREATE INDEX truth_record_by ON truth_record (made_by, tenant_id, sequence_number);
CREATE INDEX truth_record_reports ON truth_record (made_by, truthkey, tenant_id, kind);
CREATE INDEX truth_record_hash ON truth_record (record_hash, tenant_id, sequence_number);

-- Trust as it was frozen for a compilation, by the hash that states name.
CREATE TABLE trust_snapshot (
    tenant_id       TEXT    NOT NULL,
    snapshot_hash   TEXT    NOT NULL,
    snapshot_time   TEXT    NOT NULL,
    text            TEXT    NOT NULL,
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (tenant_id, snapshot_hash)
);

-- Silver: every signed state of every key. Gold is the latest of each.
CREATE TABLE truth_state (
    tenant_id       TEXT    NOT NULL,
    truthkey        TEXT    NOT NULL,
    version         INTEGER NOT NULL CHECK (version >= 1),
    claim_type      TEXT    NOT NULL,
    status          TEXT    NOT NULL,
    semantic_hash   TEXT    NOT NULL,
    state_hash      TEXT    NOT NULL,
    snapshot_hash   TEXT    NOT NULL,
    compile_time    TEXT    NOT NULL CHECK (length(compile_time) = 27),
    due_at          TEXT    CHECK (length(due_at) = 27),
    through         INTEGER NOT NULL CHECK (through >= 0),
    text            TEXT    NOT NULL,
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (tenant_id, truthkey, version)
);
-- Every key has a first version, so these are the keys that have a state.
CREATE INDEX truth_state_first ON truth_state (tenant_id, version, truthkey) WHERE version = 1;
CREATE INDEX truth_state_known ON truth_state (truthkey, tenant_id, compile_time, version);
CREATE INDEX truth_state_claim ON truth_state (claim_type, tenant_id, truthkey, version);
CREATE INDEX truth_state_hash ON truth_state (state_hash, tenant_id, sequence_number);
-- Which latest states change by time alone, and when. Old versions were due too and are never forgotten, so an index of
-- Silver would be walked from the first on; this is worked out from each state that is added, and its rows change.
CREATE TABLE truth_due (
    tenant_id TEXT    NOT NULL,
    truthkey  TEXT    NOT NULL,
    version   INTEGER NOT NULL CHECK (version >= 1),
    due_at    TEXT    NOT NULL CHECK (length(due_at) = 27),
    PRIMARY KEY (tenant_id, truthkey)
);
CREATE INDEX truth_due_next ON truth_due (tenant_id, due_at, truthkey);

-- The log that trust is folded from, the policies that read it, and where a fold had arrived.
CREATE TABLE trust_signal (
    tenant_id       TEXT    NOT NULL,
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    signal_id       TEXT    NOT NULL,
    kind            TEXT    NOT NULL,
    agent_id        TEXT    NOT NULL,
    occurred_at     TEXT    NOT NULL,
    text            TEXT    NOT NULL,
    PRIMARY KEY (tenant_id, sequence_number),
    UNIQUE (signal_id, tenant_id)
);
CREATE INDEX trust_signal_of ON trust_signal (agent_id, tenant_id, sequence_number);
CREATE TABLE trust_policy (
    tenant_id       TEXT    NOT NULL,
    policy_id       TEXT    NOT NULL,
    policy_hash     TEXT    NOT NULL,
    document        TEXT    NOT NULL,
    registered_at   TEXT    NOT NULL,
    registered_by   TEXT    NOT NULL,
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (tenant_id, policy_id),
    UNIQUE (tenant_id, sequence_number)
);
CREATE INDEX trust_policy_hash ON trust_policy (policy_hash, tenant_id, sequence_number);
-- A short cut that anybody can work out again from the log, so its rows may change; the node signs each, and one that
-- it did not sign is passed over.
CREATE TABLE trust_mark (
    tenant_id   TEXT    NOT NULL,
    policy_hash TEXT    NOT NULL,
    through     INTEGER NOT NULL CHECK (through >= 0),
    text        TEXT    NOT NULL,
    signature   TEXT    NOT NULL,
    PRIMARY KEY (tenant_id, policy_hash)
);

-- Versions of a key are numbered without gaps, and neither their time nor what is in them falls back.
CREATE TRIGGER truth_state_follows BEFORE INSERT ON truth_state BEGIN
    SELECT CASE
        WHEN EXISTS (SELECT 1 FROM truth_state WHERE tenant_id = NEW.tenant_id AND truthkey = NEW.truthkey AND version = NEW.version)
            THEN RAISE(ABORT, 'truth_state is append-only: that place is taken')
        WHEN NEW.version > 1 AND NOT EXISTS (
            SELECT 1 FROM truth_state WHERE tenant_id = NEW.tenant_id AND truthkey = NEW.truthkey AND version = NEW.version - 1
            AND compile_time <= NEW.compile_time AND through <= NEW.through)
            THEN RAISE(ABORT, 'truth_state is append-only: a version must follow the one before it')
    END;
END;
CREATE TRIGGER truth_state_no_update BEFORE UPDATE ON truth_state BEGIN SELECT RAISE(ABORT, 'truth_state is append-only: UPDATE refused'); END;
CREATE TRIGGER truth_state_no_delete BEFORE DELETE ON truth_state BEGIN SELECT RAISE(ABORT, 'truth_state is append-only: DELETE refused'); END;

-- Append-only at the storage layer (SKI 7.2): no change, no deletion, no replacement.
CREATE TRIGGER truth_contract_no_replace BEFORE INSERT ON truth_contract WHEN EXISTS (SELECT 1 FROM truth_contract WHERE tenant_id = NEW.tenant_id AND claim_type = NEW.claim_type) BEGIN SELECT RAISE(ABORT, 'truth_contract is append-only: that place is taken'); END;
CREATE TRIGGER truth_contract_no_update BEFORE UPDATE ON truth_contract BEGIN SELECT RAISE(ABORT, 'truth_contract is append-only: UPDATE refused'); END;
CREATE TRIGGER truth_contract_no_delete BEFORE DELETE ON truth_contract BEGIN SELECT RAISE(ABORT, 'truth_contract is append-only: DELETE refused'); END;
CREATE TRIGGER truth_record_no_replace BEFORE INSERT ON truth_record WHEN EXISTS (SELECT 1 FROM truth_record WHERE tenant_id = NEW.tenant_id AND truthkey = NEW.truthkey AND kind = NEW.kind AND record_hash = NEW.record_hash) OR EXISTS (SELECT 1 FROM truth_record WHERE tenant_id = NEW.tenant_id AND kind = NEW.kind AND record_id = NEW.record_id AND truthkey = NEW.truthkey) OR NEW.kind = 'observation' AND EXISTS (SELECT 1 FROM truth_record WHERE sequence_number = NEW.sequence_number AND tenant_id = NEW.tenant_id AND kind = 'observation') BEGIN SELECT RAISE(ABORT, 'truth_record is append-only: that place is taken'); END;
CREATE TRIGGER truth_record_no_update BEFORE UPDATE ON truth_record BEGIN SELECT RAISE(ABORT, 'truth_record is append-only: UPDATE refused'); END;
CREATE TRIGGER truth_record_no_delete BEFORE DELETE ON truth_record BEGIN SELECT RAISE(ABORT, 'truth_record is append-only: DELETE refused'); END;
CREATE TRIGGER trust_snapshot_no_replace BEFORE INSERT ON trust_snapshot WHEN EXISTS (SELECT 1 FROM trust_snapshot WHERE tenant_id = NEW.tenant_id AND snapshot_hash = NEW.snapshot_hash) BEGIN SELECT RAISE(ABORT, 'trust_snapshot is append-only: that place is taken'); END;
CREATE TRIGGER trust_snapshot_no_update BEFORE UPDATE ON trust_snapshot BEGIN SELECT RAISE(ABORT, 'trust_snapshot is append-only: UPDATE refused'); END;
CREATE TRIGGER trust_snapshot_no_delete BEFORE DELETE ON trust_snapshot BEGIN SELECT RAISE(ABORT, 'trust_snapshot is append-only: DELETE refused'); END;
CREATE TRIGGER trust_signal_no_replace BEFORE INSERT ON trust_signal WHEN EXISTS (SELECT 1 FROM trust_signal WHERE tenant_id = NEW.tenant_id AND sequence_number = NEW.sequence_number) OR EXISTS (SELECT 1 FROM trust_signal WHERE tenant_id = NEW.tenant_id AND signal_id = NEW.signal_id) BEGIN SELECT RAISE(ABORT, 'trust_signal is append-only: that place is taken'); END;
CREATE TRIGGER trust_signal_no_update BEFORE UPDATE ON trust_signal BEGIN SELECT RAISE(ABORT, 'trust_signal is append-only: UPDATE refused'); END;
CREATE TRIGGER trust_signal_no_delete BEFORE DELETE ON trust_signal BEGIN SELECT RAISE(ABORT, 'trust_signal is append-only: DELETE refused'); END;
CREATE TRIGGER trust_policy_no_replace BEFORE INSERT ON trust_policy WHEN EXISTS (SELECT 1 FROM trust_policy WHERE tenant_id = NEW.tenant_id AND policy_id = NEW.policy_id) OR EXISTS (SELECT 1 FROM trust_policy WHERE tenant_id = NEW.tenant_id AND sequence_number = NEW.sequence_number) BEGIN SELECT RAISE(ABORT, 'trust_policy is append-only: that place is taken'); END;
CREATE TRIGGER trust_policy_no_update BEFORE UPDATE ON trust_policy BEGIN SELECT RAISE(ABORT, 'trust_policy is append-only: UPDATE refused'); END;
CREATE TRIGGER trust_mark_no_move BEFORE UPDATE OF tenant_id, policy_hash ON trust_mark BEGIN SELECT RAISE(ABORT, 'trust_mark: a mark stays under its policy'); END;
CREATE TRIGGER trust_mark_no_delete BEFORE DELETE ON trust_mark BEGIN SELECT RAISE(ABORT, 'trust_mark: DELETE refused'); END;
CREATE TRIGGER trust_policy_no_delete BEFORE DELETE ON trust_policy BEGIN SELECT RAISE(ABORT, 'trust_policy is append-only: DELETE refused'); END;
