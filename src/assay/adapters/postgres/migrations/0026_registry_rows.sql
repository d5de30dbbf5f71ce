-- The index of services and changes of tiers name the entry that they follow from; those that are there get its number.
ALTER TABLE assay.service_entry ADD COLUMN sequence_number bigint;
UPDATE assay.service_entry AS t SET sequence_number = (SELECT max(l.sequence_number) FROM assay.ledger AS l WHERE l.tenant_id = t.tenant_id AND l.kind = 'service.listed' AND convert_from(l.text, 'UTF8')::jsonb->'body'->>'service_id' = t.service_id);

ALTER TABLE assay.tier_change ADD COLUMN sequence_number bigint;
ALTER TABLE assay.tier_change DISABLE TRIGGER tier_change_no_change;
UPDATE assay.tier_change AS t SET sequence_number = (SELECT min(l.sequence_number) FROM assay.ledger AS l WHERE l.tenant_id = t.tenant_id AND l.kind = 'tier.changed' AND convert_from(l.text, 'UTF8')::jsonb->'body'->>'subject' = t.subject AND (convert_from(l.text, 'UTF8')::jsonb->'body'->>'version')::bigint = t.version);
ALTER TABLE assay.tier_change ENABLE ALWAYS TRIGGER tier_change_no_change;

-- Only the file of a service has workers and logged actions; what a node counts is an entry each. A lease without a MAC
-- is not there: services announce themselves again.
DROP TABLE assay.service_worker;
DROP TABLE assay.service_counter;
DROP TABLE assay.service_action;
DELETE FROM assay.service_lease;
