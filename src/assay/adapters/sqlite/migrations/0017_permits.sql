-- Permits: what may run, once. An instant is text of 27 characters.

-- A call that was permitted, once.
CREATE TABLE permit (
    tenant_id       TEXT NOT NULL,
    permit_id       TEXT NOT NULL,
    bundle_hash     TEXT NOT NULL,
    agent           TEXT NOT NULL,
    text            TEXT NOT NULL,
    key_id          TEXT NOT NULL,
    expires_at      TEXT NOT NULL CHECK (length(expires_at) = 27),
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (permit_id, tenant_id)
);
CREATE UNIQUE INDEX permit_in_order ON permit (tenant_id, sequence_number);
CREATE INDEX permit_of_bundle ON permit (bundle_hash, tenant_id, sequence_number);
CREATE INDEX permit_of_agent ON permit (agent, tenant_id, sequence_number);
-- Who may run it: one claim for each permit, however many ask.
CREATE TABLE permit_claim (
    tenant_id       TEXT NOT NULL,
    permit_id       TEXT NOT NULL,
    claimed_by      TEXT NOT NULL,
    claimed_at      TEXT NOT NULL CHECK (length(claimed_at) = 27),
    report_due_at   TEXT NOT NULL CHECK (length(report_due_at) = 27),
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (permit_id, tenant_id)
);
CREATE UNIQUE INDEX permit_claim_in_order ON permit_claim (tenant_id, sequence_number);
CREATE INDEX permit_claim_due ON permit_claim (tenant_id, report_due_at);
-- What the claimer says became of it.
CREATE TABLE permit_report (
    tenant_id       TEXT NOT NULL,
    permit_id       TEXT NOT NULL,
    effect          TEXT NOT NULL,
    result_hash     TEXT,
    detail          TEXT NOT NULL,
    reported_at     TEXT NOT NULL CHECK (length(reported_at) = 27),
    is_late         INTEGER NOT NULL CHECK (is_late IN (0, 1)),
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (tenant_id, sequence_number)
);
CREATE INDEX permit_report_of ON permit_report (permit_id, tenant_id, sequence_number);
-- Revoked before its use, or an unknown effect that a person reconciled.
CREATE TABLE permit_end (
    tenant_id       TEXT NOT NULL,
    permit_id       TEXT NOT NULL,
    how             TEXT NOT NULL,
    made_by         TEXT NOT NULL,
    reason          TEXT NOT NULL,
    ticket_id       TEXT,
    ended_at        TEXT NOT NULL CHECK (length(ended_at) = 27),
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (permit_id, tenant_id)
);
CREATE UNIQUE INDEX permit_end_in_order ON permit_end (tenant_id, sequence_number);

-- Append-only at the storage layer: no change, no deletion, no replacement.
CREATE TRIGGER permit_no_replace BEFORE INSERT ON permit WHEN EXISTS (SELECT 1 FROM permit WHERE permit_id = NEW.permit_id AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'permit is append-only: that place is taken'); END;
CREATE TRIGGER permit_no_update BEFORE UPDATE ON permit BEGIN SELECT RAISE(ABORT, 'permit is append-only: UPDATE refused'); END;
CREATE TRIGGER permit_no_delete BEFORE DELETE ON permit BEGIN SELECT RAISE(ABORT, 'permit is append-only: DELETE refused'); END;
CREATE TRIGGER permit_claim_no_replace BEFORE INSERT ON permit_claim WHEN EXISTS (SELECT 1 FROM permit_claim WHERE permit_id = NEW.permit_id AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'permit_claim is append-only: that place is taken'); END;
CREATE TRIGGER permit_claim_no_update BEFORE UPDATE ON permit_claim BEGIN SELECT RAISE(ABORT, 'permit_claim is append-only: UPDATE refused'); END;
CREATE TRIGGER permit_claim_no_delete BEFORE DELETE ON permit_claim BEGIN SELECT RAISE(ABORT, 'permit_claim is append-only: DELETE refused'); END;
CREATE TRIGGER permit_report_no_replace BEFORE INSERT ON permit_report WHEN EXISTS (SELECT 1 FROM permit_report WHERE tenant_id = NEW.tenant_id AND sequence_number = NEW.sequence_number) BEGIN SELECT RAISE(ABORT, 'permit_report is append-only: that place is taken'); END;
CREATE TRIGGER permit_report_no_update BEFORE UPDATE ON permit_report BEGIN SELECT RAISE(ABORT, 'permit_report is append-only: UPDATE refused'); END;
CREATE TRIGGER permit_report_no_delete BEFORE DELETE ON permit_report BEGIN SELECT RAISE(ABORT, 'permit_report is append-only: DELETE refused'); END;
CREATE TRIGGER permit_end_no_replace BEFORE INSERT ON permit_end WHEN EXISTS (SELECT 1 FROM permit_end WHERE permit_id = NEW.permit_id AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'permit_end is append-only: that place is taken'); END;
CREATE TRIGGER permit_end_no_update BEFORE UPDATE ON permit_end BEGIN SELECT RAISE(ABORT, 'permit_end is append-only: UPDATE refused'); END;
CREATE TRIGGER permit_end_no_delete BEFORE DELETE ON permit_end BEGIN SELECT RAISE(ABORT, 'permit_end is append-only: DELETE refused'); END;

-- Which permits the ledger itself has entries about: a deleted row is missed.
CREATE INDEX ledger_permits ON ledger (substr(CAST(text AS TEXT), instr(CAST(text AS TEXT), '"permit_id":"') + 13, 30), tenant_id, sequence_number) WHERE kind IN ('permit.issued', 'permit.claimed', 'permit.reported', 'permit.ended');
CREATE INDEX ledger_permits_issued ON ledger (substr(CAST(text AS TEXT), instr(CAST(text AS TEXT), '"bundle_hash":"') + 15, 71), tenant_id, sequence_number) WHERE kind = 'permit.issued';
CREATE VIEW permit_logged AS SELECT tenant_id, sequence_number, substr(CAST(text AS TEXT), instr(CAST(text AS TEXT), '"permit_id":"') + 13, 30) AS permit_id FROM ledger INDEXED BY ledger_permits WHERE kind IN ('permit.issued', 'permit.claimed', 'permit.reported', 'permit.ended');
CREATE VIEW permit_issued_logged AS SELECT tenant_id, sequence_number, substr(CAST(text AS TEXT), instr(CAST(text AS TEXT), '"bundle_hash":"') + 15, 71) AS bundle_hash FROM ledger INDEXED BY ledger_permits_issued WHERE kind = 'permit.issued';
