-- The gateway: its table of tools, approved definitions, and calls. An instant is text of 27 characters.

-- The tools that a gateway may call, and as what; `text` is the rows as canonical JSON. The last version is in force.
CREATE TABLE gateway_table (
    tenant_id       TEXT NOT NULL,
    version         INTEGER NOT NULL CHECK (version >= 1),
    text            TEXT NOT NULL,
    key_id          TEXT NOT NULL,
    signature       TEXT NOT NULL,
    made_by         TEXT NOT NULL,
    released_at     TEXT NOT NULL CHECK (length(released_at) = 27),
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (version, tenant_id)
);
CREATE UNIQUE INDEX gateway_table_in_order ON gateway_table (tenant_id, sequence_number);
-- Another definition of a tool that may be called.
CREATE TABLE gateway_definition (
    tenant_id       TEXT NOT NULL,
    tool            TEXT NOT NULL,
    definition_hash TEXT NOT NULL,
    made_by         TEXT NOT NULL,
    reason          TEXT NOT NULL,
    approved_at     TEXT NOT NULL CHECK (length(approved_at) = 27),
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (sequence_number, tenant_id)
);
CREATE UNIQUE INDEX gateway_definition_in_order ON gateway_definition (tenant_id, sequence_number);
-- A call that went through a gateway: hashes, and what guardians made of its result.
CREATE TABLE gateway_call (
    tenant_id       TEXT NOT NULL,
    tool            TEXT NOT NULL,
    agent           TEXT NOT NULL,
    definition_hash TEXT NOT NULL,
    arguments_hash  TEXT NOT NULL,
    result_hash     TEXT NOT NULL,
    permit_id       TEXT,
    threat          TEXT NOT NULL,
    is_withheld     INTEGER NOT NULL CHECK (is_withheld IN (0, 1)),
    called_at       TEXT NOT NULL CHECK (length(called_at) = 27),
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (sequence_number, tenant_id)
);
CREATE UNIQUE INDEX gateway_call_in_order ON gateway_call (tenant_id, sequence_number);
CREATE INDEX gateway_call_of_agent ON gateway_call (agent, tenant_id, sequence_number);

-- Append-only at the storage layer: no change, no deletion, no replacement.
CREATE TRIGGER gateway_table_no_replace BEFORE INSERT ON gateway_table WHEN EXISTS (SELECT 1 FROM gateway_table WHERE version = NEW.version AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'gateway_table is append-only: that place is taken'); END;
CREATE TRIGGER gateway_table_no_update BEFORE UPDATE ON gateway_table BEGIN SELECT RAISE(ABORT, 'gateway_table is append-only: UPDATE refused'); END;
CREATE TRIGGER gateway_table_no_delete BEFORE DELETE ON gateway_table BEGIN SELECT RAISE(ABORT, 'gateway_table is append-only: DELETE refused'); END;
CREATE TRIGGER gateway_definition_no_replace BEFORE INSERT ON gateway_definition WHEN EXISTS (SELECT 1 FROM gateway_definition WHERE sequence_number = NEW.sequence_number AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'gateway_definition is append-only: that place is taken'); END;
CREATE TRIGGER gateway_definition_no_update BEFORE UPDATE ON gateway_definition BEGIN SELECT RAISE(ABORT, 'gateway_definition is append-only: UPDATE refused'); END;
CREATE TRIGGER gateway_definition_no_delete BEFORE DELETE ON gateway_definition BEGIN SELECT RAISE(ABORT, 'gateway_definition is append-only: DELETE refused'); END;
CREATE TRIGGER gateway_call_no_replace BEFORE INSERT ON gateway_call WHEN EXISTS (SELECT 1 FROM gateway_call WHERE sequence_number = NEW.sequence_number AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'gateway_call is append-only: that place is taken'); END;
CREATE TRIGGER gateway_call_no_update BEFORE UPDATE ON gateway_call BEGIN SELECT RAISE(ABORT, 'gateway_call is append-only: UPDATE refused'); END;
CREATE TRIGGER gateway_call_no_delete BEFORE DELETE ON gateway_call BEGIN SELECT RAISE(ABORT, 'gateway_call is append-only: DELETE refused'); END;
