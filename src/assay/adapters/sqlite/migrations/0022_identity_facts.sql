-- What each entry about people and credentials is about, read from the very text that is hashed: a credential by its
-- id, a password by its principal, a version by its principal. Versions and ends are read from these entries, so they
-- have no tables of their own any more; names are in `disclosure`. Quotation marks inside a JSON string are escaped,
-- so that no text of a caller can be where these members are looked for.
CREATE INDEX ledger_identity ON ledger (CASE WHEN instr(CAST(text AS TEXT), '"credential_id":"') > 0 THEN substr(CAST(text AS TEXT), instr(CAST(text AS TEXT), '"credential_id":"') + 17, instr(substr(CAST(text AS TEXT), instr(CAST(text AS TEXT), '"credential_id":"') + 17), '"') - 1) WHEN instr(CAST(text AS TEXT), '"principal_id":"') > 0 THEN substr(CAST(text AS TEXT), instr(CAST(text AS TEXT), '"principal_id":"') + 16, instr(substr(CAST(text AS TEXT), instr(CAST(text AS TEXT), '"principal_id":"') + 16), '"') - 1) ELSE substr(CAST(text AS TEXT), instr(CAST(text AS TEXT), '"id":"') + 6, instr(substr(CAST(text AS TEXT), instr(CAST(text AS TEXT), '"id":"') + 6), '"') - 1) END, tenant_id, sequence_number) WHERE kind IN ('principal.added', 'principal.changed', 'credential.issued', 'credential.revoked');
-- Without statistics a planner would rather walk all entries of a tenant.
CREATE VIEW identity_logged AS SELECT tenant_id, sequence_number, kind, CASE WHEN instr(CAST(text AS TEXT), '"credential_id":"') > 0 THEN substr(CAST(text AS TEXT), instr(CAST(text AS TEXT), '"credential_id":"') + 17, instr(substr(CAST(text AS TEXT), instr(CAST(text AS TEXT), '"credential_id":"') + 17), '"') - 1) WHEN instr(CAST(text AS TEXT), '"principal_id":"') > 0 THEN substr(CAST(text AS TEXT), instr(CAST(text AS TEXT), '"principal_id":"') + 16, instr(substr(CAST(text AS TEXT), instr(CAST(text AS TEXT), '"principal_id":"') + 16), '"') - 1) ELSE substr(CAST(text AS TEXT), instr(CAST(text AS TEXT), '"id":"') + 6, instr(substr(CAST(text AS TEXT), instr(CAST(text AS TEXT), '"id":"') + 6), '"') - 1) END AS subject, CAST(text AS TEXT) AS said FROM ledger INDEXED BY ledger_identity WHERE kind IN ('principal.added', 'principal.changed', 'credential.issued', 'credential.revoked');

DROP TABLE principal;
DROP TABLE principal_name;
DROP TABLE revocation;
DROP TABLE signing_key_end;

-- A credential names the entry that issued it; those that are there get its number.
ALTER TABLE credential RENAME TO credential_before;
CREATE TABLE credential (
    tenant_id       TEXT    NOT NULL,
    credential_id   TEXT    NOT NULL,
    kind            TEXT    NOT NULL CHECK (kind IN ('api_key', 'password', 'session')),
    principal_id    TEXT    NOT NULL,
    record          TEXT    NOT NULL,
    sequence_number INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, sequence_number)
);
INSERT INTO credential SELECT tenant_id, credential_id, kind, principal_id, record, coalesce((SELECT min(l.sequence_number) FROM identity_logged AS l WHERE l.subject = credential_id AND l.tenant_id = c.tenant_id AND l.kind = 'credential.issued'), -c.rowid) FROM credential_before AS c WHERE kind <> 'password';
INSERT INTO credential SELECT c.tenant_id, 'password/' || c.principal_id, c.kind, c.principal_id, c.record, coalesce(n.sequence_number, -c.rowid) FROM credential_before AS c LEFT JOIN (SELECT tenant_id, subject, sequence_number, row_number() OVER (PARTITION BY tenant_id, subject ORDER BY sequence_number) AS position FROM identity_logged WHERE kind = 'credential.issued') AS n ON n.tenant_id = c.tenant_id AND n.subject = c.principal_id AND n.position = c.position WHERE c.kind = 'password';
DROP TABLE credential_before;
CREATE INDEX credential_by_id ON credential (credential_id);
-- All passwords of a principal have one id, and any other id is given once.
CREATE UNIQUE INDEX credential_once ON credential (credential_id) WHERE kind <> 'password';
CREATE INDEX credential_of ON credential (tenant_id, principal_id, kind, sequence_number);
CREATE TRIGGER credential_no_replace BEFORE INSERT ON credential WHEN EXISTS (SELECT 1 FROM credential WHERE (tenant_id = NEW.tenant_id AND sequence_number = NEW.sequence_number) OR (credential_id = NEW.credential_id AND kind <> 'password')) BEGIN SELECT RAISE(ABORT, 'credential is append-only: that place is taken'); END;
CREATE TRIGGER credential_no_update BEFORE UPDATE ON credential BEGIN SELECT RAISE(ABORT, 'credential is append-only: UPDATE refused'); END;
CREATE TRIGGER credential_no_delete BEFORE DELETE ON credential BEGIN SELECT RAISE(ABORT, 'credential is append-only: DELETE refused'); END;

ALTER TABLE signing_key ADD COLUMN sequence_number INTEGER;
DROP TRIGGER signing_key_no_update;
UPDATE signing_key AS t SET sequence_number = (SELECT min(l.sequence_number) FROM identity_logged AS l WHERE l.subject = t.key_id AND l.tenant_id = t.tenant_id AND l.kind = 'credential.issued');
CREATE TRIGGER signing_key_no_update BEFORE UPDATE ON signing_key BEGIN SELECT RAISE(ABORT, 'signing_key is append-only: UPDATE refused'); END;
