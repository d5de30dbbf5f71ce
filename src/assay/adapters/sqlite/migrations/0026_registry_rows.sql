-- The index of services and changes of tiers name the entry that they follow from; those that are there get its number.
ALTER TABLE service_entry ADD COLUMN sequence_number INTEGER;
UPDATE service_entry AS t SET sequence_number = (SELECT max(l.sequence_number) FROM ledger AS l WHERE l.tenant_id = t.tenant_id AND l.kind = 'service.listed' AND json_extract(CAST(l.text AS TEXT), '$.body.service_id') = t.service_id);

ALTER TABLE tier_change ADD COLUMN sequence_number INTEGER;
DROP TRIGGER tier_change_no_update;
UPDATE tier_change AS t SET sequence_number = (SELECT min(l.sequence_number) FROM ledger AS l WHERE l.tenant_id = t.tenant_id AND l.kind = 'tier.changed' AND json_extract(CAST(l.text AS TEXT), '$.body.subject') = t.subject AND json_extract(CAST(l.text AS TEXT), '$.body.version') = t.version);
CREATE TRIGGER tier_change_no_update BEFORE UPDATE ON tier_change BEGIN SELECT RAISE(ABORT, 'tier_change is append-only: UPDATE refused'); END;

-- Only the file of a service has workers and logged actions; what a node counts is an entry each. A lease without a MAC
-- is not there: services announce themselves again.
DROP TABLE service_worker;
DROP TABLE service_counter;
DROP TABLE service_action;
DELETE FROM service_lease;
