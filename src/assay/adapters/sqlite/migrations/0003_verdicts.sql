-- What verdicts remember: knowledge graphs and who reviewed them, telemetry and its windows, and rows that make verdict
-- entries of the ledger quick to find. An instant is text of 27 characters, as for truth. Indexes begin with what tells
-- rows apart and only then name the tenant.

-- Every knowledge graph that was ever handed in, byte for byte: what was judged by it can be replayed for ever.
CREATE TABLE graph_version (
    tenant_id       TEXT    NOT NULL,
    document_hash   TEXT    NOT NULL,
    content_hash    TEXT    NOT NULL,
    form            TEXT    NOT NULL CHECK (form IN ('typed', 'flat')),
    signed_by       TEXT,
    document        TEXT    NOT NULL,
    added_at        TEXT    NOT NULL,
    made_by         TEXT    NOT NULL,
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (document_hash, tenant_id)
);
CREATE INDEX graph_version_content ON graph_version (content_hash, tenant_id, sequence_number);
CREATE UNIQUE INDEX graph_version_log ON graph_version (tenant_id, sequence_number);

-- Who said what about which graph (SKI 2.1.2), by the ticket that asked.
CREATE TABLE graph_review (
    tenant_id       TEXT    NOT NULL,
    content_hash    TEXT    NOT NULL,
    ticket_id       TEXT    NOT NULL,
    made_by         TEXT    NOT NULL,
    choice          TEXT    NOT NULL CHECK (choice IN ('accept', 'reject')),
    note            TEXT    NOT NULL,
    reviewed_at     TEXT    NOT NULL,
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (ticket_id, made_by, tenant_id)
);
CREATE INDEX graph_review_content ON graph_review (content_hash, tenant_id, sequence_number);

-- Which graph was in use from which entry on; the latest is.
CREATE TABLE graph_activation (
    tenant_id        TEXT    NOT NULL,
    sequence_number  INTEGER NOT NULL CHECK (sequence_number >= 1),
    document_hash    TEXT    NOT NULL,
    content_hash     TEXT    NOT NULL,
    kg_version_hash  TEXT    NOT NULL,
    mode             TEXT    NOT NULL CHECK (mode IN ('strict', 'advisory')),
    reviewers        INTEGER NOT NULL CHECK (reviewers >= 0),
    downgrade_reason TEXT,
    made_by          TEXT    NOT NULL,
    activated_at     TEXT    NOT NULL,
    PRIMARY KEY (tenant_id, sequence_number)
);

-- Each record that was judged, by its id: the same again is answered with what is recorded, another is refused.
CREATE TABLE telemetry (
    tenant_id       TEXT    NOT NULL,
    telemetry_id    TEXT    NOT NULL,
    telemetry_hash  TEXT    NOT NULL,
    subject         TEXT    NOT NULL,
    as_of           TEXT    NOT NULL CHECK (length(as_of) = 27),
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (telemetry_id, tenant_id)
);
CREATE INDEX telemetry_log ON telemetry (tenant_id, sequence_number);

-- What later windows look back at; rows leave when they are too old, and an entry says so. None is ever changed.
CREATE TABLE telemetry_buffer (
    tenant_id    TEXT    NOT NULL,
    subject      TEXT    NOT NULL,
    as_of        TEXT    NOT NULL CHECK (length(as_of) = 27),
    telemetry_id TEXT    NOT NULL,
    text         TEXT    NOT NULL,
    PRIMARY KEY (subject, tenant_id, as_of, telemetry_id)
);

-- Up to when records of a subject have left the buffer.
CREATE TABLE telemetry_drop (
    tenant_id       TEXT    NOT NULL,
    subject         TEXT    NOT NULL,
    dropped_until   TEXT    NOT NULL CHECK (length(dropped_until) = 27),
    records         INTEGER NOT NULL CHECK (records >= 1),
    dropped_at      TEXT    NOT NULL,
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (subject, tenant_id, sequence_number)
);

-- One row for each verdict entry. A held one is followed by at most one that settles it, and a token is used once.
CREATE TABLE verdict_index (
    tenant_id       TEXT    NOT NULL,
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    telemetry_id    TEXT    NOT NULL,
    rule_id         TEXT    NOT NULL,
    subject         TEXT    NOT NULL,
    as_of           TEXT    NOT NULL CHECK (length(as_of) = 27),
    standing        TEXT    NOT NULL CHECK (standing IN ('final', 'held')),
    verdict         TEXT    NOT NULL,
    status          TEXT    NOT NULL,
    tier            TEXT    NOT NULL,
    path            TEXT,
    kg_version_hash TEXT    NOT NULL,
    recorded_at     TEXT    NOT NULL,
    ticket_id       TEXT,
    held_entry      INTEGER,
    attestation     TEXT,
    PRIMARY KEY (tenant_id, sequence_number)
);
CREATE INDEX verdict_index_telemetry ON verdict_index (telemetry_id, tenant_id, sequence_number);
CREATE INDEX verdict_index_rule ON verdict_index (rule_id, tenant_id, sequence_number);
CREATE INDEX verdict_index_subject ON verdict_index (subject, tenant_id, sequence_number);
CREATE INDEX verdict_index_as_of ON verdict_index (as_of, tenant_id, sequence_number);
CREATE INDEX verdict_index_held ON verdict_index (tenant_id, standing, sequence_number) WHERE standing = 'held';
CREATE INDEX verdict_index_judged ON verdict_index (tenant_id, sequence_number, status) WHERE held_entry IS NULL AND path IS NULL;
CREATE UNIQUE INDEX verdict_index_ticket ON verdict_index (ticket_id, tenant_id) WHERE ticket_id IS NOT NULL;
CREATE UNIQUE INDEX verdict_index_settles ON verdict_index (held_entry, tenant_id) WHERE held_entry IS NOT NULL;
CREATE UNIQUE INDEX verdict_index_token ON verdict_index (attestation, tenant_id) WHERE attestation IS NOT NULL;

-- The Coverage Register (SKI 9.2): counts that anybody can work out again from the verdicts, so its rows change.
CREATE TABLE coverage (
    tenant_id TEXT    NOT NULL,
    subject   TEXT    NOT NULL,
    text      TEXT    NOT NULL,
    PRIMARY KEY (subject, tenant_id)
);
CREATE INDEX coverage_of_tenant ON coverage (tenant_id, subject);

-- Attempts of evaluation to leave the perimeter (SKI 6.3), so many at once; none at all: a person looked into those before.
CREATE TABLE egress_note (
    tenant_id       TEXT    NOT NULL,
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    attempts        INTEGER NOT NULL CHECK (attempts >= 0),
    noted_at        TEXT    NOT NULL,
    PRIMARY KEY (tenant_id, sequence_number)
);

-- How often in a row a rule's assertions were the same (SKI 5.6): a short cut too.
CREATE TABLE rule_stability (
    tenant_id TEXT    NOT NULL,
    rule_id   TEXT    NOT NULL,
    pattern   TEXT    NOT NULL,
    count     INTEGER NOT NULL CHECK (count >= 0),
    PRIMARY KEY (rule_id, tenant_id)
);

-- Append-only at the storage layer (SKI 7.2): no change, no deletion, no replacement.
CREATE TRIGGER graph_version_no_replace BEFORE INSERT ON graph_version WHEN EXISTS (SELECT 1 FROM graph_version WHERE document_hash = NEW.document_hash AND tenant_id = NEW.tenant_id) OR EXISTS (SELECT 1 FROM graph_version WHERE sequence_number = NEW.sequence_number AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'graph_version is append-only: that place is taken'); END;
CREATE TRIGGER graph_version_no_update BEFORE UPDATE ON graph_version BEGIN SELECT RAISE(ABORT, 'graph_version is append-only: UPDATE refused'); END;
CREATE TRIGGER graph_version_no_delete BEFORE DELETE ON graph_version BEGIN SELECT RAISE(ABORT, 'graph_version is append-only: DELETE refused'); END;
CREATE TRIGGER graph_review_no_replace BEFORE INSERT ON graph_review WHEN EXISTS (SELECT 1 FROM graph_review WHERE ticket_id = NEW.ticket_id AND made_by = NEW.made_by AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'graph_review is append-only: that place is taken'); END;
CREATE TRIGGER graph_review_no_update BEFORE UPDATE ON graph_review BEGIN SELECT RAISE(ABORT, 'graph_review is append-only: UPDATE refused'); END;
CREATE TRIGGER graph_review_no_delete BEFORE DELETE ON graph_review BEGIN SELECT RAISE(ABORT, 'graph_review is append-only: DELETE refused'); END;
CREATE TRIGGER graph_activation_no_replace BEFORE INSERT ON graph_activation WHEN EXISTS (SELECT 1 FROM graph_activation WHERE sequence_number = NEW.sequence_number AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'graph_activation is append-only: that place is taken'); END;
CREATE TRIGGER graph_activation_no_update BEFORE UPDATE ON graph_activation BEGIN SELECT RAISE(ABORT, 'graph_activation is append-only: UPDATE refused'); END;
CREATE TRIGGER graph_activation_no_delete BEFORE DELETE ON graph_activation BEGIN SELECT RAISE(ABORT, 'graph_activation is append-only: DELETE refused'); END;
CREATE TRIGGER telemetry_no_replace BEFORE INSERT ON telemetry WHEN EXISTS (SELECT 1 FROM telemetry WHERE telemetry_id = NEW.telemetry_id AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'telemetry is append-only: that place is taken'); END;
CREATE TRIGGER telemetry_no_update BEFORE UPDATE ON telemetry BEGIN SELECT RAISE(ABORT, 'telemetry is append-only: UPDATE refused'); END;
CREATE TRIGGER telemetry_no_delete BEFORE DELETE ON telemetry BEGIN SELECT RAISE(ABORT, 'telemetry is append-only: DELETE refused'); END;
CREATE TRIGGER telemetry_drop_no_replace BEFORE INSERT ON telemetry_drop WHEN EXISTS (SELECT 1 FROM telemetry_drop WHERE subject = NEW.subject AND sequence_number = NEW.sequence_number AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'telemetry_drop is append-only: that place is taken'); END;
CREATE TRIGGER telemetry_drop_no_update BEFORE UPDATE ON telemetry_drop BEGIN SELECT RAISE(ABORT, 'telemetry_drop is append-only: UPDATE refused'); END;
CREATE TRIGGER telemetry_drop_no_delete BEFORE DELETE ON telemetry_drop BEGIN SELECT RAISE(ABORT, 'telemetry_drop is append-only: DELETE refused'); END;
CREATE TRIGGER verdict_index_no_replace BEFORE INSERT ON verdict_index WHEN EXISTS (SELECT 1 FROM verdict_index WHERE sequence_number = NEW.sequence_number AND tenant_id = NEW.tenant_id) OR EXISTS (SELECT 1 FROM verdict_index WHERE ticket_id = NEW.ticket_id AND tenant_id = NEW.tenant_id) OR EXISTS (SELECT 1 FROM verdict_index WHERE held_entry = NEW.held_entry AND tenant_id = NEW.tenant_id) OR EXISTS (SELECT 1 FROM verdict_index WHERE attestation = NEW.attestation AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'verdict_index is append-only: that place is taken'); END;
CREATE TRIGGER verdict_index_no_update BEFORE UPDATE ON verdict_index BEGIN SELECT RAISE(ABORT, 'verdict_index is append-only: UPDATE refused'); END;
CREATE TRIGGER verdict_index_no_delete BEFORE DELETE ON verdict_index BEGIN SELECT RAISE(ABORT, 'verdict_index is append-only: DELETE refused'); END;
CREATE TRIGGER egress_note_no_replace BEFORE INSERT ON egress_note WHEN EXISTS (SELECT 1 FROM egress_note WHERE sequence_number = NEW.sequence_number AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'egress_note is append-only: that place is taken'); END;
CREATE TRIGGER egress_note_no_update BEFORE UPDATE ON egress_note BEGIN SELECT RAISE(ABORT, 'egress_note is append-only: UPDATE refused'); END;
CREATE TRIGGER egress_note_no_delete BEFORE DELETE ON egress_note BEGIN SELECT RAISE(ABORT, 'egress_note is append-only: DELETE refused'); END;
CREATE TRIGGER telemetry_buffer_no_replace BEFORE INSERT ON telemetry_buffer WHEN EXISTS (SELECT 1 FROM telemetry_buffer WHERE subject = NEW.subject AND as_of = NEW.as_of AND telemetry_id = NEW.telemetry_id AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'telemetry_buffer is append-only: that place is taken'); END;
CREATE TRIGGER telemetry_buffer_no_update BEFORE UPDATE ON telemetry_buffer BEGIN SELECT RAISE(ABORT, 'telemetry_buffer is never changed: UPDATE refused'); END;
