-- The entries that bring something into force, each kind by itself: whoever goes by a row about such a thing asks the
-- ledger whether a later entry took its place. There are few of them, so these indexes cost nothing.
CREATE INDEX ledger_policies ON ledger (tenant_id, kind, sequence_number) WHERE kind = 'claims.policy';
CREATE INDEX ledger_graphs ON ledger (tenant_id, kind, sequence_number) WHERE kind = 'graph.activated';
CREATE INDEX ledger_models ON ledger (tenant_id, kind, sequence_number) WHERE kind = 'model.activated';

-- What each decision about claims is about, read from the very text that is hashed: whoever goes by the rows of a bundle,
-- or of an agent's turns, asks here whether one is missing. Quotation marks inside a JSON string are escaped, so that no
-- word of an agent can stand where these members are looked for.
CREATE INDEX ledger_decisions ON ledger (substr(CAST(text AS TEXT), instr(CAST(text AS TEXT), '"bundle_hash":"') + 15, 71), tenant_id, sequence_number) WHERE kind = 'claims.decided';
CREATE INDEX ledger_turns ON ledger (CASE WHEN instr(CAST(text AS TEXT), '"turn":{"of":"') > 0 THEN substr(CAST(text AS TEXT), instr(CAST(text AS TEXT), '"turn":{"of":"') + 14, instr(substr(CAST(text AS TEXT), instr(CAST(text AS TEXT), '"turn":{"of":"') + 14), '"') - 1) END, tenant_id, sequence_number) WHERE kind = 'claims.decided';
-- Without statistics a planner would rather walk all entries of a tenant.
CREATE VIEW claims_logged AS SELECT tenant_id, sequence_number, substr(CAST(text AS TEXT), instr(CAST(text AS TEXT), '"bundle_hash":"') + 15, 71) AS bundle_hash FROM ledger INDEXED BY ledger_decisions WHERE kind = 'claims.decided';
CREATE VIEW claims_logged_turn AS SELECT tenant_id, sequence_number, CASE WHEN instr(CAST(text AS TEXT), '"turn":{"of":"') > 0 THEN substr(CAST(text AS TEXT), instr(CAST(text AS TEXT), '"turn":{"of":"') + 14, instr(substr(CAST(text AS TEXT), instr(CAST(text AS TEXT), '"turn":{"of":"') + 14), '"') - 1) END AS submitted_by FROM ledger INDEXED BY ledger_turns WHERE kind = 'claims.decided';
