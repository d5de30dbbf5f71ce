-- Which tickets ask about which graph, and the answers to a ticket, read from the very text that is hashed: reviews of
-- graphs are read from these entries, so they have no table of their own any more. Quotation marks inside a JSON string
-- are escaped, so that no text of a caller can be where these members are looked for.
CREATE INDEX ledger_graph_questions ON ledger (CASE WHEN instr(CAST(text AS TEXT), '"about":"graph:') > 0 THEN substr(CAST(text AS TEXT), instr(CAST(text AS TEXT), '"about":"graph:') + 15, 71) END, tenant_id, sequence_number) WHERE kind = 'ticket.opened';
CREATE INDEX ledger_ticket_answers ON ledger (substr(CAST(text AS TEXT), instr(CAST(text AS TEXT), '"ticket_id":"') + 13, instr(substr(CAST(text AS TEXT), instr(CAST(text AS TEXT), '"ticket_id":"') + 13), '"') - 1), tenant_id, sequence_number) WHERE kind = 'ticket.answered';
-- Without statistics a planner would rather walk all entries of a tenant.
CREATE VIEW graph_question_logged AS SELECT tenant_id, sequence_number, CASE WHEN instr(CAST(text AS TEXT), '"about":"graph:') > 0 THEN substr(CAST(text AS TEXT), instr(CAST(text AS TEXT), '"about":"graph:') + 15, 71) END AS content_hash FROM ledger INDEXED BY ledger_graph_questions WHERE kind = 'ticket.opened';
CREATE VIEW ticket_answer_logged AS SELECT tenant_id, sequence_number, substr(CAST(text AS TEXT), instr(CAST(text AS TEXT), '"ticket_id":"') + 13, instr(substr(CAST(text AS TEXT), instr(CAST(text AS TEXT), '"ticket_id":"') + 13), '"') - 1) AS ticket_id FROM ledger INDEXED BY ledger_ticket_answers WHERE kind = 'ticket.answered';
DROP TABLE graph_review;
-- The latest time up to which records of a subject were dropped.
CREATE INDEX telemetry_drop_until ON telemetry_drop (subject, tenant_id, dropped_until, sequence_number);

-- Records, their windows, the Coverage Register and the stability of rules follow from verdicts, and are read from these.
DROP TABLE telemetry;
DROP TABLE telemetry_buffer;
DROP TABLE coverage;
DROP TABLE rule_stability;
CREATE INDEX verdict_index_window ON verdict_index (subject, tenant_id, as_of, telemetry_id, sequence_number) WHERE held_entry IS NULL;
-- A row is bound (1) where its entry says the ticket, the entry that it settles or the tier; those of 0.1.0 do not.
ALTER TABLE verdict_index ADD COLUMN bound INTEGER;
