-- The door: keys that requests are signed with, nonces that were used, and logins that failed.
-- Keys and their ends are facts; the other two are memory and are forgotten. An instant is text of 27 characters.

CREATE TABLE signing_key (
    key_id       TEXT NOT NULL PRIMARY KEY,
    tenant_id    TEXT NOT NULL,
    principal_id TEXT NOT NULL,
    record       TEXT NOT NULL
);
CREATE INDEX signing_key_of ON signing_key (tenant_id, principal_id, key_id);
CREATE TABLE signing_key_end (
    key_id    TEXT NOT NULL PRIMARY KEY,
    tenant_id TEXT NOT NULL,
    record    TEXT NOT NULL
);
CREATE TABLE request_nonce (
    key_id      TEXT NOT NULL,
    nonce       TEXT NOT NULL,
    signed_hash TEXT NOT NULL,
    expires_at  TEXT NOT NULL CHECK (length(expires_at) = 27),
    PRIMARY KEY (key_id, nonce)
);
CREATE INDEX request_nonce_by_end ON request_nonce (expires_at);
-- By the hash of an account or of an address: whose it is stands nowhere.
CREATE TABLE login_failure (
    subject   TEXT    NOT NULL PRIMARY KEY,
    count     INTEGER NOT NULL CHECK (count >= 1),
    failed_at TEXT    NOT NULL CHECK (length(failed_at) = 27)
);
CREATE INDEX login_failure_by_age ON login_failure (failed_at);

CREATE TRIGGER signing_key_no_replace BEFORE INSERT ON signing_key WHEN EXISTS (SELECT 1 FROM signing_key WHERE key_id = NEW.key_id) BEGIN SELECT RAISE(ABORT, 'signing_key is append-only: that place is taken'); END;
CREATE TRIGGER signing_key_no_update BEFORE UPDATE ON signing_key BEGIN SELECT RAISE(ABORT, 'signing_key is append-only: UPDATE refused'); END;
CREATE TRIGGER signing_key_no_delete BEFORE DELETE ON signing_key BEGIN SELECT RAISE(ABORT, 'signing_key is append-only: DELETE refused'); END;
CREATE TRIGGER signing_key_end_no_replace BEFORE INSERT ON signing_key_end WHEN EXISTS (SELECT 1 FROM signing_key_end WHERE key_id = NEW.key_id) BEGIN SELECT RAISE(ABORT, 'signing_key_end is append-only: that place is taken'); END;
CREATE TRIGGER signing_key_end_no_update BEFORE UPDATE ON signing_key_end BEGIN SELECT RAISE(ABORT, 'signing_key_end is append-only: UPDATE refused'); END;
CREATE TRIGGER signing_key_end_no_delete BEFORE DELETE ON signing_key_end BEGIN SELECT RAISE(ABORT, 'signing_key_end is append-only: DELETE refused'); END;
