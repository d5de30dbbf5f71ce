-- Mandates: standing approvals, what they were used for, and their end. An instant is text of 27 characters.

-- A standing approval that people signed; `text` is its terms as canonical JSON.
CREATE TABLE mandate (
    tenant_id       TEXT NOT NULL,
    mandate_id      TEXT NOT NULL,
    agent           TEXT NOT NULL,
    tool            TEXT NOT NULL,
    text            TEXT NOT NULL,
    seats           TEXT NOT NULL,
    signed_by       TEXT NOT NULL,
    proposed_by     TEXT NOT NULL,
    ticket_id       TEXT NOT NULL,
    signed_at       TEXT NOT NULL CHECK (length(signed_at) = 27),
    expires_at      TEXT NOT NULL CHECK (length(expires_at) = 27),
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (mandate_id, tenant_id)
);
CREATE UNIQUE INDEX mandate_in_order ON mandate (tenant_id, sequence_number);
CREATE INDEX mandate_of_agent ON mandate (agent, tenant_id, expires_at);
-- One call that it covered; `total` is what is used of the budget after it.
CREATE TABLE mandate_use (
    tenant_id       TEXT NOT NULL,
    mandate_id      TEXT NOT NULL,
    position        INTEGER NOT NULL CHECK (position >= 1),
    bundle_hash     TEXT NOT NULL,
    amount          TEXT NOT NULL,
    total           TEXT NOT NULL,
    used_at         TEXT NOT NULL CHECK (length(used_at) = 27),
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (mandate_id, tenant_id, position)
);
CREATE UNIQUE INDEX mandate_use_in_order ON mandate_use (tenant_id, sequence_number);
-- Revoked before its time.
CREATE TABLE mandate_end (
    tenant_id       TEXT NOT NULL,
    mandate_id      TEXT NOT NULL,
    made_by         TEXT NOT NULL,
    reason          TEXT NOT NULL,
    ended_at        TEXT NOT NULL CHECK (length(ended_at) = 27),
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (mandate_id, tenant_id)
);
CREATE UNIQUE INDEX mandate_end_in_order ON mandate_end (tenant_id, sequence_number);

-- Append-only at the storage layer: no change, no deletion, no replacement.
CREATE TRIGGER mandate_no_replace BEFORE INSERT ON mandate WHEN EXISTS (SELECT 1 FROM mandate WHERE mandate_id = NEW.mandate_id AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'mandate is append-only: that place is taken'); END;
CREATE TRIGGER mandate_no_update BEFORE UPDATE ON mandate BEGIN SELECT RAISE(ABORT, 'mandate is append-only: UPDATE refused'); END;
CREATE TRIGGER mandate_no_delete BEFORE DELETE ON mandate BEGIN SELECT RAISE(ABORT, 'mandate is append-only: DELETE refused'); END;
CREATE TRIGGER mandate_use_no_replace BEFORE INSERT ON mandate_use WHEN EXISTS (SELECT 1 FROM mandate_use WHERE mandate_id = NEW.mandate_id AND tenant_id = NEW.tenant_id AND position = NEW.position) BEGIN SELECT RAISE(ABORT, 'mandate_use is append-only: that place is taken'); END;
CREATE TRIGGER mandate_use_no_update BEFORE UPDATE ON mandate_use BEGIN SELECT RAISE(ABORT, 'mandate_use is append-only: UPDATE refused'); END;
CREATE TRIGGER mandate_use_no_delete BEFORE DELETE ON mandate_use BEGIN SELECT RAISE(ABORT, 'mandate_use is append-only: DELETE refused'); END;
CREATE TRIGGER mandate_end_no_replace BEFORE INSERT ON mandate_end WHEN EXISTS (SELECT 1 FROM mandate_end WHERE mandate_id = NEW.mandate_id AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'mandate_end is append-only: that place is taken'); END;
CREATE TRIGGER mandate_end_no_update BEFORE UPDATE ON mandate_end BEGIN SELECT RAISE(ABORT, 'mandate_end is append-only: UPDATE refused'); END;
CREATE TRIGGER mandate_end_no_delete BEFORE DELETE ON mandate_end BEGIN SELECT RAISE(ABORT, 'mandate_end is append-only: DELETE refused'); END;

-- Which entries the ledger itself has about a mandate: a deleted use gives nothing back, a deleted end revives nothing.
CREATE INDEX ledger_mandates ON ledger (substr(CAST(text AS TEXT), instr(CAST(text AS TEXT), '"mandate_id":"') + 14, 30), tenant_id, kind, sequence_number) WHERE kind IN ('mandate.signed', 'mandate.used', 'mandate.ended');
CREATE VIEW mandate_logged AS SELECT tenant_id, sequence_number, kind, substr(CAST(text AS TEXT), instr(CAST(text AS TEXT), '"mandate_id":"') + 14, 30) AS mandate_id FROM ledger INDEXED BY ledger_mandates WHERE kind IN ('mandate.signed', 'mandate.used', 'mandate.ended');
