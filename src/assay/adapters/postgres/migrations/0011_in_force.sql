-- The entries that bring something into force, each kind by itself: whoever goes by a row about such a thing asks the
-- ledger whether a later entry took its place. There are few of them, so these indexes cost nothing.
CREATE INDEX ledger_policies ON assay.ledger (tenant_id, kind, sequence_number) WHERE kind = 'claims.policy';
CREATE INDEX ledger_graphs ON assay.ledger (tenant_id, kind, sequence_number) WHERE kind = 'graph.activated';
CREATE INDEX ledger_models ON assay.ledger (tenant_id, kind, sequence_number) WHERE kind = 'model.activated';
