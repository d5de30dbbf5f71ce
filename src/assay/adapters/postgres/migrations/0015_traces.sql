-- The trace id of the request that an entry was written for; entries of earlier versions have none. Pages of one kind of
-- entry are read by an index of all kinds, which takes the place of those of single kinds.
ALTER TABLE assay.ledger ADD COLUMN trace_id text COLLATE "C";

CREATE INDEX ledger_traces ON assay.ledger (trace_id, tenant_id, sequence_number) WHERE trace_id IS NOT NULL;
CREATE INDEX ledger_kinds ON assay.ledger (tenant_id, kind, sequence_number);
DROP INDEX assay.ledger_policies;
DROP INDEX assay.ledger_graphs;
DROP INDEX assay.ledger_models;
DROP INDEX assay.ledger_indexes;
