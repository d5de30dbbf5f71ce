-- A fingerprint has a row under the keys that its entry names. Under the other keys whose observations carry its evidence
-- it is found by that evidence, so the rows that stood there go. The id of a resemblance is made of what its entry says.
ALTER TABLE assay.truth_record DISABLE TRIGGER truth_record_no_change;
DELETE FROM assay.truth_record AS t WHERE kind = 'fingerprint' AND NOT EXISTS (SELECT 1 FROM assay.ledger AS l WHERE l.tenant_id = t.tenant_id AND l.sequence_number = t.sequence_number AND jsonb_exists(convert_from(l.text, 'UTF8')::jsonb -> 'body' -> 'truthkeys', t.truthkey));
UPDATE assay.truth_record SET record_id = 'embedding.' || substr(record_id, strpos(record_id, '.') + 1) || '.' || record_hash WHERE kind = 'fingerprint' AND substr(record_id, 1, 10) = 'embedding_';
ALTER TABLE assay.truth_record ENABLE ALWAYS TRIGGER truth_record_no_change;
