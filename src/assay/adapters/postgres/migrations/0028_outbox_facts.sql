-- Entries record the hashes of their events; cursors and kept answers carry a MAC. Answers from before have none and
-- are not given again; their keys stay, so that no request takes effect twice.
ALTER TABLE assay.outbox RENAME COLUMN ledger_sequence TO sequence_number;
ALTER TABLE assay.outbox_cursor ADD COLUMN mac text;
ALTER TABLE assay.kept_request ADD COLUMN mac text;
