-- A bundle is found by the id that its agent gave it: the same call of the same run finds its bundle again.
CREATE INDEX claims_bundle_by_id ON assay.claims_bundle (bundle_id, tenant_id, sequence_number);
