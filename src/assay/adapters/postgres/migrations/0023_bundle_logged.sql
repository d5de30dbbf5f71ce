-- Which bundles the ledger itself has under an id (a UUID, 36 characters): a deleted row is missed, and not sent again.
CREATE INDEX ledger_bundle_ids ON assay.ledger ((substring(encode(text, 'escape') from '"bundle_id":"([0-9a-f-]{36})"') COLLATE "C"), tenant_id, sequence_number) WHERE kind = 'claims.received';
CREATE VIEW assay.bundle_logged AS SELECT tenant_id, sequence_number, substring(encode(text, 'escape') from '"bundle_id":"([0-9a-f-]{36})"') COLLATE "C" AS bundle_id FROM assay.ledger WHERE kind = 'claims.received';
