-- Rows of the registry name the entry that they follow from; those that are there get its number.

ALTER TABLE switch_fact ADD COLUMN sequence_number INTEGER;
DROP TRIGGER switch_fact_no_update;
UPDATE switch_fact AS t SET sequence_number = (SELECT min(l.sequence_number) FROM ledger AS l WHERE l.tenant_id = t.tenant_id AND l.kind = 'switch.' || t.kind AND json_extract(CAST(l.text AS TEXT), '$.body.service_id') = t.service_id AND json_extract(CAST(l.text AS TEXT), '$.body.episode') = json_extract(t.text, '$.episode'));
CREATE TRIGGER switch_fact_no_update BEFORE UPDATE ON switch_fact BEGIN SELECT RAISE(ABORT, 'switch_fact is append-only: UPDATE refused'); END;

ALTER TABLE service_key ADD COLUMN sequence_number INTEGER;
DROP TRIGGER service_key_no_update;
UPDATE service_key AS t SET sequence_number = (SELECT min(l.sequence_number) FROM ledger AS l WHERE l.tenant_id = t.tenant_id AND l.kind = 'service.key_added' AND json_extract(CAST(l.text AS TEXT), '$.body.service_id') = t.service_id AND json_extract(CAST(l.text AS TEXT), '$.body.key_id') = t.key_id);
CREATE TRIGGER service_key_no_update BEFORE UPDATE ON service_key BEGIN SELECT RAISE(ABORT, 'service_key is append-only: UPDATE refused'); END;

ALTER TABLE service_key_end ADD COLUMN sequence_number INTEGER;
DROP TRIGGER service_key_end_no_update;
UPDATE service_key_end AS t SET sequence_number = (SELECT min(l.sequence_number) FROM ledger AS l WHERE l.tenant_id = t.tenant_id AND l.kind = 'service.key_revoked' AND json_extract(CAST(l.text AS TEXT), '$.body.service_id') = t.service_id AND json_extract(CAST(l.text AS TEXT), '$.body.key_id') = t.key_id);
CREATE TRIGGER service_key_end_no_update BEFORE UPDATE ON service_key_end BEGIN SELECT RAISE(ABORT, 'service_key_end is append-only: UPDATE refused'); END;

ALTER TABLE service_proof ADD COLUMN sequence_number INTEGER;
DROP TRIGGER service_proof_no_update;
UPDATE service_proof AS t SET sequence_number = (SELECT min(l.sequence_number) FROM ledger AS l WHERE l.tenant_id = t.tenant_id AND l.kind = 'proof.measured' AND json_extract(CAST(l.text AS TEXT), '$.body.service_id') = t.service_id AND json_extract(CAST(l.text AS TEXT), '$.body.proof_hash') = t.proof_hash);
CREATE TRIGGER service_proof_no_update BEFORE UPDATE ON service_proof BEGIN SELECT RAISE(ABORT, 'service_proof is append-only: UPDATE refused'); END;
