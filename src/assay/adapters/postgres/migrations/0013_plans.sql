-- Each of the two indexes is of use to one question alone, and its condition says so: as long as the server has not counted
-- what is in them it takes either for the other, and then reads and parses every decision of a tenant to find one.
DROP INDEX assay.ledger_decisions;
DROP INDEX assay.ledger_turns;
CREATE INDEX ledger_decisions ON assay.ledger ((substring(encode(text, 'escape') from '"bundle_hash":"(sha256:[0-9a-f]{64})"') COLLATE "C"), tenant_id, sequence_number) WHERE kind = 'claims.decided' AND (substring(encode(text, 'escape') from '"bundle_hash":"(sha256:[0-9a-f]{64})"') COLLATE "C") IS NOT NULL;
CREATE INDEX ledger_turns ON assay.ledger ((substring(encode(text, 'escape') from '"turn":{"of":"([^"]+)"') COLLATE "C"), tenant_id, sequence_number) WHERE kind = 'claims.decided' AND (substring(encode(text, 'escape') from '"turn":{"of":"([^"]+)"') COLLATE "C") IS NOT NULL;
