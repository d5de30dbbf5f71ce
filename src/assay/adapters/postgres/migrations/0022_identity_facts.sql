-- What each entry about people and credentials is about, read from the very text that is hashed: a credential by its
-- id, a password by its principal, a version by its principal. Versions and ends are read from these entries, so they
-- have no tables of their own any more; names are in `disclosure`. Quotation marks inside a JSON string are escaped,
-- so that no text of a caller can be where these members are looked for.
CREATE INDEX ledger_identity ON assay.ledger ((coalesce(substring(encode(text, 'escape') from '"credential_id":"([^"]+)"'), substring(encode(text, 'escape') from '"principal_id":"([^"]+)"'), substring(encode(text, 'escape') from '"id":"([^"]+)"')) COLLATE "C"), tenant_id, sequence_number) WHERE kind IN ('principal.added', 'principal.changed', 'credential.issued', 'credential.revoked');
CREATE VIEW assay.identity_logged AS SELECT tenant_id, sequence_number, kind, coalesce(substring(encode(text, 'escape') from '"credential_id":"([^"]+)"'), substring(encode(text, 'escape') from '"principal_id":"([^"]+)"'), substring(encode(text, 'escape') from '"id":"([^"]+)"')) COLLATE "C" AS subject, encode(text, 'escape') AS said FROM assay.ledger WHERE kind IN ('principal.added', 'principal.changed', 'credential.issued', 'credential.revoked');

DROP TABLE assay.principal;
DROP TABLE assay.principal_name;
DROP TABLE assay.revocation;
DROP TABLE assay.signing_key_end;

-- A credential names the entry that issued it; those that are there get its number.
CREATE TABLE assay.credential_facts (
    tenant_id       text COLLATE "C" NOT NULL,
    credential_id   text COLLATE "C" NOT NULL,
    kind            text COLLATE "C" NOT NULL CHECK (kind IN ('api_key', 'password', 'session')),
    principal_id    text COLLATE "C" NOT NULL,
    record          text             NOT NULL,
    sequence_number bigint           NOT NULL,
    PRIMARY KEY (tenant_id, sequence_number)
);
INSERT INTO assay.credential_facts SELECT tenant_id, credential_id, kind, principal_id, record, coalesce((SELECT min(l.sequence_number) FROM assay.identity_logged AS l WHERE l.subject = c.credential_id AND l.tenant_id = c.tenant_id AND l.kind = 'credential.issued'), -row_number() OVER ()) FROM assay.credential AS c WHERE kind <> 'password';
INSERT INTO assay.credential_facts SELECT c.tenant_id, 'password/' || c.principal_id, c.kind, c.principal_id, c.record, coalesce(n.sequence_number, -1000000000 - row_number() OVER ()) FROM assay.credential AS c LEFT JOIN (SELECT tenant_id, subject, sequence_number, row_number() OVER (PARTITION BY tenant_id, subject ORDER BY sequence_number) AS position FROM assay.identity_logged WHERE kind = 'credential.issued') AS n ON n.tenant_id = c.tenant_id AND n.subject = c.principal_id AND n.position = c.position WHERE c.kind = 'password';
DROP TABLE assay.credential;
ALTER TABLE assay.credential_facts RENAME TO credential;
ALTER INDEX assay.credential_facts_pkey RENAME TO credential_pkey;
CREATE INDEX credential_by_id ON assay.credential (credential_id);
-- All passwords of a principal have one id, and any other id is given once.
CREATE UNIQUE INDEX credential_once ON assay.credential (credential_id) WHERE kind <> 'password';
CREATE INDEX credential_of ON assay.credential (tenant_id, principal_id, kind, sequence_number);
CREATE TRIGGER credential_no_change BEFORE UPDATE OR DELETE ON assay.credential FOR EACH ROW EXECUTE FUNCTION assay.refuse_change();
ALTER TABLE assay.credential ENABLE ALWAYS TRIGGER credential_no_change;
CREATE TRIGGER credential_no_truncate BEFORE TRUNCATE ON assay.credential FOR EACH STATEMENT EXECUTE FUNCTION assay.refuse_change();
ALTER TABLE assay.credential ENABLE ALWAYS TRIGGER credential_no_truncate;

ALTER TABLE assay.signing_key ADD COLUMN sequence_number bigint;
ALTER TABLE assay.signing_key DISABLE TRIGGER signing_key_no_change;
UPDATE assay.signing_key AS t SET sequence_number = (SELECT min(l.sequence_number) FROM assay.identity_logged AS l WHERE l.subject = t.key_id AND l.tenant_id = t.tenant_id AND l.kind = 'credential.issued');
ALTER TABLE assay.signing_key ENABLE ALWAYS TRIGGER signing_key_no_change;
