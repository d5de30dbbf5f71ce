-- The ledger of SKI 7.1: its columns, and the canonical text that is hashed and proven.
CREATE TABLE ledger (
    tenant_id         TEXT    NOT NULL,
    sequence_number   INTEGER NOT NULL CHECK (sequence_number >= 1),
    previous_hash     TEXT    NOT NULL,
    entry_hash        TEXT    NOT NULL,
    leaf_hash         BLOB    NOT NULL CHECK (length(leaf_hash) = 32),
    timestamp         TEXT    NOT NULL,
    kind              TEXT    NOT NULL,
    telemetry_id      TEXT,
    telemetry_hash    TEXT,
    verdict           TEXT,
    rule_id           TEXT,
    kg_version_hash   TEXT,
    model_weight_hash TEXT,
    llm_transcript    TEXT,
    verifier_result   TEXT,
    schema_version    TEXT    NOT NULL,
    text              BLOB    NOT NULL,
    PRIMARY KEY (tenant_id, sequence_number)
) WITHOUT ROWID;

-- REPLACE would delete without firing a DELETE trigger, so an existing place is refused before the insert.
CREATE TRIGGER ledger_links BEFORE INSERT ON ledger BEGIN
    SELECT CASE
        WHEN EXISTS (SELECT 1 FROM ledger WHERE tenant_id = NEW.tenant_id AND sequence_number = NEW.sequence_number)
            THEN RAISE(ABORT, 'ledger is append-only: that place is taken')
        WHEN NEW.sequence_number = 1 AND NEW.previous_hash <> 'sha256:0000000000000000000000000000000000000000000000000000000000000000'
            THEN RAISE(ABORT, 'ledger chain broken: entry 1 must follow the zero hash')
        WHEN NEW.sequence_number > 1 AND NEW.previous_hash IS NOT
            (SELECT entry_hash FROM ledger WHERE tenant_id = NEW.tenant_id AND sequence_number = NEW.sequence_number - 1)
            THEN RAISE(ABORT, 'ledger chain broken: previous_hash is not the hash of the entry before')
    END;
END;
CREATE TRIGGER ledger_no_update BEFORE UPDATE ON ledger BEGIN SELECT RAISE(ABORT, 'ledger is append-only: UPDATE refused'); END;
CREATE TRIGGER ledger_no_delete BEFORE DELETE ON ledger BEGIN SELECT RAISE(ABORT, 'ledger is append-only: DELETE refused'); END;

-- The end of each chain, and the epoch of the writer that may move it: the only ledger fact that changes.
CREATE TABLE chain (
    tenant_id       TEXT    NOT NULL PRIMARY KEY,
    epoch           INTEGER NOT NULL,
    holder          TEXT    NOT NULL,
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 0),
    entry_hash      TEXT    NOT NULL
) WITHOUT ROWID;
CREATE TRIGGER chain_never_shrinks BEFORE UPDATE ON chain
    WHEN NEW.sequence_number < OLD.sequence_number OR NEW.epoch < OLD.epoch
    BEGIN SELECT RAISE(ABORT, 'a chain never shrinks'); END;
CREATE TRIGGER chain_no_delete BEFORE DELETE ON chain BEGIN SELECT RAISE(ABORT, 'a chain is never deleted'); END;

-- The tree: one hash for each finished subtree of 256^level leaves, and full tiles of 256 hashes.
CREATE TABLE subtree (
    tenant_id TEXT    NOT NULL,
    level     INTEGER NOT NULL CHECK (level >= 1),
    position  INTEGER NOT NULL CHECK (position >= 0),
    hash      BLOB    NOT NULL CHECK (length(hash) = 32),
    PRIMARY KEY (tenant_id, level, position)
) WITHOUT ROWID;
CREATE TABLE tile (
    tenant_id TEXT    NOT NULL,
    level     INTEGER NOT NULL CHECK (level >= 0),
    position  INTEGER NOT NULL CHECK (position >= 0),
    hashes    BLOB    NOT NULL CHECK (length(hashes) = 8192),
    PRIMARY KEY (tenant_id, level, position)
);
CREATE TABLE checkpoint (
    tenant_id TEXT    NOT NULL,
    number    INTEGER NOT NULL CHECK (number >= 1),
    size      INTEGER NOT NULL CHECK (size >= 0),
    root_hash TEXT    NOT NULL,
    signed_at TEXT    NOT NULL,
    note      TEXT    NOT NULL,
    PRIMARY KEY (tenant_id, number)
);

-- The node's own keys: who vouches for which, and when a key ends; each fact names the ledger entry that records it.
CREATE TABLE key_fact (
    position        INTEGER NOT NULL PRIMARY KEY CHECK (position >= 1),
    kind            TEXT    NOT NULL CHECK (kind IN ('endorsement', 'retirement')),
    tenant_id       TEXT    NOT NULL,
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    record          TEXT    NOT NULL
);

-- Language model transcripts (SKI 7.4).
CREATE TABLE transcript (
    tenant_id     TEXT NOT NULL,
    transcript_id TEXT NOT NULL,
    record        TEXT NOT NULL,
    PRIMARY KEY (tenant_id, transcript_id)
);

-- Salts and values behind commitments: with names, the one thing that may be deleted.
CREATE TABLE disclosure (
    tenant_id       TEXT    NOT NULL,
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    pointer         TEXT    NOT NULL,
    salt            TEXT    NOT NULL,
    value           TEXT    NOT NULL,
    PRIMARY KEY (tenant_id, sequence_number, pointer)
);
CREATE TRIGGER disclosure_no_update BEFORE UPDATE ON disclosure BEGIN SELECT RAISE(ABORT, 'a disclosure is kept or erased, never changed'); END;

-- Events committed with the entries that caused them, and how far each subscriber has confirmed.
CREATE TABLE outbox (
    tenant_id       TEXT    NOT NULL,
    position        INTEGER NOT NULL CHECK (position >= 1),
    ledger_sequence INTEGER NOT NULL CHECK (ledger_sequence >= 1),
    type            TEXT    NOT NULL,
    subject         TEXT    NOT NULL,
    occurred_at     TEXT    NOT NULL,
    body            TEXT    NOT NULL,
    PRIMARY KEY (tenant_id, position)
);
CREATE TABLE outbox_cursor (
    tenant_id  TEXT    NOT NULL,
    subscriber TEXT    NOT NULL,
    position   INTEGER NOT NULL CHECK (position >= 0),
    PRIMARY KEY (tenant_id, subscriber)
) WITHOUT ROWID;

-- People, agents and services: each version of a record is kept, the latest one counts.
CREATE TABLE principal (
    tenant_id       TEXT    NOT NULL,
    principal_id    TEXT    NOT NULL,
    version         INTEGER NOT NULL CHECK (version >= 1),
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    record          TEXT    NOT NULL,
    PRIMARY KEY (tenant_id, principal_id, version)
);
-- What people are called is kept apart, where it can be erased with the disclosure of the entry that logged it.
CREATE TABLE principal_name (
    tenant_id       TEXT    NOT NULL,
    principal_id    TEXT    NOT NULL,
    version         INTEGER NOT NULL CHECK (version >= 1),
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    name            TEXT    NOT NULL,
    PRIMARY KEY (tenant_id, principal_id, version)
);
CREATE TRIGGER principal_name_no_update BEFORE UPDATE ON principal_name BEGIN SELECT RAISE(ABORT, 'a name is kept or erased, never changed'); END;
-- Credentials are facts too: an API key, a password, a session; and their end is a later fact.
CREATE TABLE credential (
    credential_id TEXT    NOT NULL PRIMARY KEY,
    kind          TEXT    NOT NULL CHECK (kind IN ('api_key', 'password', 'session')),
    tenant_id     TEXT    NOT NULL,
    principal_id  TEXT    NOT NULL,
    position      INTEGER NOT NULL CHECK (position >= 1),
    record        TEXT    NOT NULL
);
CREATE INDEX credential_of ON credential (tenant_id, principal_id, kind, position);
CREATE TABLE revocation (
    credential_id TEXT    NOT NULL,
    position      INTEGER NOT NULL CHECK (position >= 1),
    record        TEXT    NOT NULL,
    PRIMARY KEY (credential_id, position)
);

-- The review desk: a ticket, the answers to it, and how it was settled.
CREATE TABLE ticket (
    tenant_id TEXT    NOT NULL,
    ticket_id TEXT    NOT NULL,
    position  INTEGER NOT NULL CHECK (position >= 1),
    kind      TEXT    NOT NULL,
    opened_at TEXT    NOT NULL,
    record    TEXT    NOT NULL,
    PRIMARY KEY (tenant_id, ticket_id),
    UNIQUE (tenant_id, position)
);
CREATE TABLE answer (
    tenant_id TEXT    NOT NULL,
    ticket_id TEXT    NOT NULL,
    position  INTEGER NOT NULL CHECK (position >= 1),
    answered_by TEXT NOT NULL,
    record    TEXT    NOT NULL,
    PRIMARY KEY (tenant_id, ticket_id, position),
    UNIQUE (tenant_id, ticket_id, answered_by)
);
CREATE TABLE settlement (
    tenant_id TEXT NOT NULL,
    ticket_id TEXT NOT NULL,
    record    TEXT NOT NULL,
    PRIMARY KEY (tenant_id, ticket_id)
);

-- Append-only at the storage layer (SKI 7.2): no change, no deletion, no replacement.
CREATE TRIGGER subtree_no_replace BEFORE INSERT ON subtree WHEN EXISTS (SELECT 1 FROM subtree WHERE tenant_id = NEW.tenant_id AND level = NEW.level AND position = NEW.position) BEGIN SELECT RAISE(ABORT, 'subtree is append-only: that place is taken'); END;
CREATE TRIGGER subtree_no_update BEFORE UPDATE ON subtree BEGIN SELECT RAISE(ABORT, 'subtree is append-only: UPDATE refused'); END;
CREATE TRIGGER subtree_no_delete BEFORE DELETE ON subtree BEGIN SELECT RAISE(ABORT, 'subtree is append-only: DELETE refused'); END;
CREATE TRIGGER tile_no_replace BEFORE INSERT ON tile WHEN EXISTS (SELECT 1 FROM tile WHERE tenant_id = NEW.tenant_id AND level = NEW.level AND position = NEW.position) BEGIN SELECT RAISE(ABORT, 'tile is append-only: that place is taken'); END;
CREATE TRIGGER tile_no_update BEFORE UPDATE ON tile BEGIN SELECT RAISE(ABORT, 'tile is append-only: UPDATE refused'); END;
CREATE TRIGGER tile_no_delete BEFORE DELETE ON tile BEGIN SELECT RAISE(ABORT, 'tile is append-only: DELETE refused'); END;
CREATE TRIGGER checkpoint_no_replace BEFORE INSERT ON checkpoint WHEN EXISTS (SELECT 1 FROM checkpoint WHERE tenant_id = NEW.tenant_id AND number = NEW.number) BEGIN SELECT RAISE(ABORT, 'checkpoint is append-only: that place is taken'); END;
CREATE TRIGGER checkpoint_no_update BEFORE UPDATE ON checkpoint BEGIN SELECT RAISE(ABORT, 'checkpoint is append-only: UPDATE refused'); END;
CREATE TRIGGER checkpoint_no_delete BEFORE DELETE ON checkpoint BEGIN SELECT RAISE(ABORT, 'checkpoint is append-only: DELETE refused'); END;
CREATE TRIGGER transcript_no_replace BEFORE INSERT ON transcript WHEN EXISTS (SELECT 1 FROM transcript WHERE tenant_id = NEW.tenant_id AND transcript_id = NEW.transcript_id) BEGIN SELECT RAISE(ABORT, 'transcript is append-only: that place is taken'); END;
CREATE TRIGGER transcript_no_update BEFORE UPDATE ON transcript BEGIN SELECT RAISE(ABORT, 'transcript is append-only: UPDATE refused'); END;
CREATE TRIGGER transcript_no_delete BEFORE DELETE ON transcript BEGIN SELECT RAISE(ABORT, 'transcript is append-only: DELETE refused'); END;
CREATE TRIGGER outbox_no_replace BEFORE INSERT ON outbox WHEN EXISTS (SELECT 1 FROM outbox WHERE tenant_id = NEW.tenant_id AND position = NEW.position) BEGIN SELECT RAISE(ABORT, 'outbox is append-only: that place is taken'); END;
CREATE TRIGGER outbox_no_update BEFORE UPDATE ON outbox BEGIN SELECT RAISE(ABORT, 'outbox is append-only: UPDATE refused'); END;
CREATE TRIGGER outbox_no_delete BEFORE DELETE ON outbox BEGIN SELECT RAISE(ABORT, 'outbox is append-only: DELETE refused'); END;
CREATE TRIGGER principal_no_replace BEFORE INSERT ON principal WHEN EXISTS (SELECT 1 FROM principal WHERE tenant_id = NEW.tenant_id AND principal_id = NEW.principal_id AND version = NEW.version) BEGIN SELECT RAISE(ABORT, 'principal is append-only: that place is taken'); END;
CREATE TRIGGER principal_no_update BEFORE UPDATE ON principal BEGIN SELECT RAISE(ABORT, 'principal is append-only: UPDATE refused'); END;
CREATE TRIGGER principal_no_delete BEFORE DELETE ON principal BEGIN SELECT RAISE(ABORT, 'principal is append-only: DELETE refused'); END;
CREATE TRIGGER credential_no_replace BEFORE INSERT ON credential WHEN EXISTS (SELECT 1 FROM credential WHERE credential_id = NEW.credential_id) BEGIN SELECT RAISE(ABORT, 'credential is append-only: that place is taken'); END;
CREATE TRIGGER credential_no_update BEFORE UPDATE ON credential BEGIN SELECT RAISE(ABORT, 'credential is append-only: UPDATE refused'); END;
CREATE TRIGGER credential_no_delete BEFORE DELETE ON credential BEGIN SELECT RAISE(ABORT, 'credential is append-only: DELETE refused'); END;
CREATE TRIGGER revocation_no_replace BEFORE INSERT ON revocation WHEN EXISTS (SELECT 1 FROM revocation WHERE credential_id = NEW.credential_id AND position = NEW.position) BEGIN SELECT RAISE(ABORT, 'revocation is append-only: that place is taken'); END;
CREATE TRIGGER revocation_no_update BEFORE UPDATE ON revocation BEGIN SELECT RAISE(ABORT, 'revocation is append-only: UPDATE refused'); END;
CREATE TRIGGER revocation_no_delete BEFORE DELETE ON revocation BEGIN SELECT RAISE(ABORT, 'revocation is append-only: DELETE refused'); END;
CREATE TRIGGER ticket_no_replace BEFORE INSERT ON ticket WHEN EXISTS (SELECT 1 FROM ticket WHERE tenant_id = NEW.tenant_id AND (ticket_id = NEW.ticket_id OR position = NEW.position)) BEGIN SELECT RAISE(ABORT, 'ticket is append-only: that place is taken'); END;
CREATE TRIGGER ticket_no_update BEFORE UPDATE ON ticket BEGIN SELECT RAISE(ABORT, 'ticket is append-only: UPDATE refused'); END;
CREATE TRIGGER ticket_no_delete BEFORE DELETE ON ticket BEGIN SELECT RAISE(ABORT, 'ticket is append-only: DELETE refused'); END;
CREATE TRIGGER answer_no_replace BEFORE INSERT ON answer WHEN EXISTS (SELECT 1 FROM answer WHERE tenant_id = NEW.tenant_id AND ticket_id = NEW.ticket_id AND (position = NEW.position OR answered_by = NEW.answered_by)) BEGIN SELECT RAISE(ABORT, 'answer is append-only: that place is taken'); END;
CREATE TRIGGER answer_no_update BEFORE UPDATE ON answer BEGIN SELECT RAISE(ABORT, 'answer is append-only: UPDATE refused'); END;
CREATE TRIGGER answer_no_delete BEFORE DELETE ON answer BEGIN SELECT RAISE(ABORT, 'answer is append-only: DELETE refused'); END;
CREATE TRIGGER settlement_no_replace BEFORE INSERT ON settlement WHEN EXISTS (SELECT 1 FROM settlement WHERE tenant_id = NEW.tenant_id AND ticket_id = NEW.ticket_id) BEGIN SELECT RAISE(ABORT, 'settlement is append-only: that place is taken'); END;
CREATE TRIGGER settlement_no_update BEFORE UPDATE ON settlement BEGIN SELECT RAISE(ABORT, 'settlement is append-only: UPDATE refused'); END;
CREATE TRIGGER settlement_no_delete BEFORE DELETE ON settlement BEGIN SELECT RAISE(ABORT, 'settlement is append-only: DELETE refused'); END;
CREATE TRIGGER key_fact_no_replace BEFORE INSERT ON key_fact WHEN EXISTS (SELECT 1 FROM key_fact WHERE position = NEW.position) BEGIN SELECT RAISE(ABORT, 'key_fact is append-only: that place is taken'); END;
CREATE TRIGGER key_fact_no_update BEFORE UPDATE ON key_fact BEGIN SELECT RAISE(ABORT, 'key_fact is append-only: UPDATE refused'); END;
CREATE TRIGGER key_fact_no_delete BEFORE DELETE ON key_fact BEGIN SELECT RAISE(ABORT, 'key_fact is append-only: DELETE refused'); END;
