-- The entries that bring something into force, each kind by itself: whoever goes by a row about such a thing asks the
-- ledger whether a later entry took its place. There are few of them, so these indexes cost nothing.
CREATE INDEX ledger_policies ON assay.ledger (tenant_id, kind, sequence_number) WHERE kind = 'claims.policy';
CREATE INDEX ledger_graphs ON assay.ledger (tenant_id, kind, sequence_number) WHERE kind = 'graph.activated';
CREATE INDEX ledger_models ON assay.ledger (tenant_id, kind, sequence_number) WHERE kind = 'model.activated';

-- What each decision about claims is about, read from the very text that is hashed: whoever goes by the rows of a bundle,
-- or of an agent's turns, asks here whether one is missing. Quotation marks inside a JSON string are escaped, so that no
-- word of an agent can stand where these members are looked for.
CREATE INDEX ledger_decisions ON assay.ledger ((substring(encode(text, 'escape') from '"bundle_hash":"(sha256:[0-9a-f]{64})"') COLLATE "C"), tenant_id, sequence_number) WHERE kind = 'claims.decided';
CREATE INDEX ledger_turns ON assay.ledger ((substring(encode(text, 'escape') from '"turn":{"of":"([^"]+)"') COLLATE "C"), tenant_id, sequence_number) WHERE kind = 'claims.decided';
CREATE VIEW assay.claims_logged AS SELECT tenant_id, sequence_number, substring(encode(text, 'escape') from '"bundle_hash":"(sha256:[0-9a-f]{64})"') COLLATE "C" AS bundle_hash FROM assay.ledger WHERE kind = 'claims.decided';
CREATE VIEW assay.claims_logged_turn AS SELECT tenant_id, sequence_number, substring(encode(text, 'escape') from '"turn":{"of":"([^"]+)"') COLLATE "C" AS submitted_by FROM assay.ledger WHERE kind = 'claims.decided';
