-- A row is bound (1) where its entry commits to all of it; NULL where 0.1.0 wrote an entry that commits to less.
ALTER TABLE assay.outcome_signal ADD COLUMN bound INTEGER;
ALTER TABLE assay.rule_outcome ADD COLUMN bound INTEGER;
ALTER TABLE assay.root_cause ADD COLUMN bound INTEGER;
ALTER TABLE assay.root_cause_ticket ADD COLUMN bound INTEGER;
ALTER TABLE assay.root_cause_conclusion ADD COLUMN bound INTEGER;
ALTER TABLE assay.rule_proposal ADD COLUMN bound INTEGER;
ALTER TABLE assay.training_pair ADD COLUMN bound INTEGER;
ALTER TABLE assay.training_job ADD COLUMN bound INTEGER;
ALTER TABLE assay.peer_agreement ADD COLUMN bound INTEGER;
