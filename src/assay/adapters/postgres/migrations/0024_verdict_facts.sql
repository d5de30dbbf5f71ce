-- Which tickets ask about which graph, and the answers to a ticket, read from the very text that is hashed: reviews of
-- graphs are read from these entries, so they have no table of their own any more. Quotation marks inside a JSON string
-- are escaped, so that no text of a caller can be where these members are looked for.
CREATE INDEX ledger_graph_questions ON assay.ledger ((substring(encode(text, 'escape') from '"about":"graph:(sha256:[0-9a-f]{64})"') COLLATE "C"), tenant_id, sequence_number) WHERE kind = 'ticket.opened';
CREATE INDEX ledger_ticket_answers ON assay.ledger ((substring(encode(text, 'escape') from '"ticket_id":"([^"]+)"') COLLATE "C"), tenant_id, sequence_number) WHERE kind = 'ticket.answered';
CREATE VIEW assay.graph_question_logged AS SELECT tenant_id, sequence_number, substring(encode(text, 'escape') from '"about":"graph:(sha256:[0-9a-f]{64})"') COLLATE "C" AS content_hash FROM assay.ledger WHERE kind = 'ticket.opened';
CREATE VIEW assay.ticket_answer_logged AS SELECT tenant_id, sequence_number, substring(encode(text, 'escape') from '"ticket_id":"([^"]+)"') COLLATE "C" AS ticket_id FROM assay.ledger WHERE kind = 'ticket.answered';
DROP TABLE assay.graph_review;
-- The latest time up to which records of a subject were dropped.
CREATE INDEX telemetry_drop_until ON assay.telemetry_drop (subject, tenant_id, dropped_until, sequence_number);

-- Records, their windows, the Coverage Register and the stability of rules follow from verdicts, and are read from these.
DROP TABLE assay.telemetry;
DROP TABLE assay.telemetry_buffer;
DROP TABLE assay.coverage;
DROP TABLE assay.rule_stability;
CREATE INDEX verdict_index_window ON assay.verdict_index (subject, tenant_id, as_of, telemetry_id, sequence_number) WHERE held_entry IS NULL;
-- A row is bound (1) where its entry says the ticket, the entry that it settles or the tier; those of 0.1.0 do not.
ALTER TABLE assay.verdict_index ADD COLUMN bound INTEGER;
