-- A fingerprint has a row under the keys that its entry names. Under the other keys whose observations carry its evidence
-- it is found by that evidence, so the rows that stood there go. The id of a resemblance is made of what its entry says.
DROP TRIGGER truth_record_no_update;
DROP TRIGGER truth_record_no_delete;
DELETE FROM truth_record WHERE kind = 'fingerprint' AND NOT EXISTS (SELECT 1 FROM ledger AS l, json_each(CAST(l.text AS TEXT), '$.body.truthkeys') AS k WHERE l.tenant_id = truth_record.tenant_id AND l.sequence_number = truth_record.sequence_number AND k.value = truth_record.truthkey);
UPDATE truth_record SET record_id = 'embedding.' || substr(record_id, instr(record_id, '.') + 1) || '.' || record_hash WHERE kind = 'fingerprint' AND substr(record_id, 1, 10) = 'embedding_';
CREATE TRIGGER truth_record_no_update BEFORE UPDATE ON truth_record BEGIN SELECT RAISE(ABORT, 'truth_record is append-only: UPDATE refused'); END;
CREATE TRIGGER truth_record_no_delete BEFORE DELETE ON truth_record BEGIN SELECT RAISE(ABORT, 'truth_record is append-only: DELETE refused'); END;
