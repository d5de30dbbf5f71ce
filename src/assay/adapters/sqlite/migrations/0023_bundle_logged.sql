-- Which bundles the ledger itself has under an id (a UUID, 36 characters): a deleted row is missed, and not sent again.
CREATE INDEX ledger_bundle_ids ON ledger (substr(CAST(text AS TEXT), instr(CAST(text AS TEXT), '"bundle_id":"') + 13, 36), tenant_id, sequence_number) WHERE kind = 'claims.received';
CREATE VIEW bundle_logged AS SELECT tenant_id, sequence_number, substr(CAST(text AS TEXT), instr(CAST(text AS TEXT), '"bundle_id":"') + 13, 36) AS bundle_id FROM ledger INDEXED BY ledger_bundle_ids WHERE kind = 'claims.received';
