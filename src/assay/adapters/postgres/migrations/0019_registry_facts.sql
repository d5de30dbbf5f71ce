-- Rows of the registry name the entry that they follow from; those that are there get its number.

ALTER TABLE assay.switch_fact ADD COLUMN sequence_number bigint;
ALTER TABLE assay.switch_fact DISABLE TRIGGER switch_fact_no_change;
UPDATE assay.switch_fact AS t SET sequence_number = (SELECT min(l.sequence_number) FROM assay.ledger AS l WHERE l.tenant_id = t.tenant_id AND l.kind = 'switch.' || t.kind AND convert_from(l.text, 'UTF8')::jsonb->'body'->>'service_id' = t.service_id AND convert_from(l.text, 'UTF8')::jsonb->'body'->>'episode' = t.text::jsonb->>'episode');
ALTER TABLE assay.switch_fact ENABLE ALWAYS TRIGGER switch_fact_no_change;

ALTER TABLE assay.service_key ADD COLUMN sequence_number bigint;
ALTER TABLE assay.service_key DISABLE TRIGGER service_key_no_change;
UPDATE assay.service_key AS t SET sequence_number = (SELECT min(l.sequence_number) FROM assay.ledger AS l WHERE l.tenant_id = t.tenant_id AND l.kind = 'service.key_added' AND convert_from(l.text, 'UTF8')::jsonb->'body'->>'service_id' = t.service_id AND convert_from(l.text, 'UTF8')::jsonb->'body'->>'key_id' = t.key_id);
ALTER TABLE assay.service_key ENABLE ALWAYS TRIGGER service_key_no_change;

ALTER TABLE assay.service_key_end ADD COLUMN sequence_number bigint;
ALTER TABLE assay.service_key_end DISABLE TRIGGER service_key_end_no_change;
UPDATE assay.service_key_end AS t SET sequence_number = (SELECT min(l.sequence_number) FROM assay.ledger AS l WHERE l.tenant_id = t.tenant_id AND l.kind = 'service.key_revoked' AND convert_from(l.text, 'UTF8')::jsonb->'body'->>'service_id' = t.service_id AND convert_from(l.text, 'UTF8')::jsonb->'body'->>'key_id' = t.key_id);
ALTER TABLE assay.service_key_end ENABLE ALWAYS TRIGGER service_key_end_no_change;

ALTER TABLE assay.service_proof ADD COLUMN sequence_number bigint;
ALTER TABLE assay.service_proof DISABLE TRIGGER service_proof_no_change;
UPDATE assay.service_proof AS t SET sequence_number = (SELECT min(l.sequence_number) FROM assay.ledger AS l WHERE l.tenant_id = t.tenant_id AND l.kind = 'proof.measured' AND convert_from(l.text, 'UTF8')::jsonb->'body'->>'service_id' = t.service_id AND convert_from(l.text, 'UTF8')::jsonb->'body'->>'proof_hash' = t.proof_hash);
ALTER TABLE assay.service_proof ENABLE ALWAYS TRIGGER service_proof_no_change;
