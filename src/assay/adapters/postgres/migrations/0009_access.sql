-- The door: keys that requests are signed with, nonces that were used, and logins that failed.
-- Keys and their ends are facts; the other two are memory and are forgotten. An instant is text of 27 characters.

CREATE TABLE assay.signing_key (
    key_id       text COLLATE "C" NOT NULL PRIMARY KEY,
    tenant_id    text COLLATE "C" NOT NULL,
    principal_id text COLLATE "C" NOT NULL,
    record       text             NOT NULL
);
CREATE INDEX signing_key_of ON assay.signing_key (tenant_id, principal_id, key_id);
CREATE TABLE assay.signing_key_end (
    key_id    text COLLATE "C" NOT NULL PRIMARY KEY,
    tenant_id text COLLATE "C" NOT NULL,
    record    text             NOT NULL
);
CREATE TABLE assay.request_nonce (
    key_id      text COLLATE "C" NOT NULL,
    nonce       text COLLATE "C" NOT NULL,
    signed_hash text COLLATE "C" NOT NULL,
    expires_at  text COLLATE "C" NOT NULL CHECK (length(expires_at) = 27),
    PRIMARY KEY (key_id, nonce)
);
CREATE INDEX request_nonce_by_end ON assay.request_nonce (expires_at);
-- By the hash of an account or of an address: whose it is stands nowhere.
CREATE TABLE assay.login_failure (
    subject   text COLLATE "C" NOT NULL PRIMARY KEY,
    count     bigint           NOT NULL CHECK (count >= 1),
    failed_at text COLLATE "C" NOT NULL CHECK (length(failed_at) = 27)
);
CREATE INDEX login_failure_by_age ON assay.login_failure (failed_at);

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['signing_key', 'signing_key_end'] LOOP
        EXECUTE format(
            'CREATE TRIGGER %1$s_no_change BEFORE UPDATE OR DELETE ON assay.%1$I'
            ' FOR EACH ROW EXECUTE FUNCTION assay.refuse_change()', name);
        EXECUTE format('ALTER TABLE assay.%1$I ENABLE ALWAYS TRIGGER %1$s_no_change', name);
        EXECUTE format(
            'CREATE TRIGGER %1$s_no_truncate BEFORE TRUNCATE ON assay.%1$I'
            ' FOR EACH STATEMENT EXECUTE FUNCTION assay.refuse_change()', name);
        EXECUTE format('ALTER TABLE assay.%1$I ENABLE ALWAYS TRIGGER %1$s_no_truncate', name);
    END LOOP;
END $$;
