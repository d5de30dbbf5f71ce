-- A row is bound (1) where its entry commits to all of it; NULL where 0.1.0 wrote an entry that commits to less.
ALTER TABLE outcome_signal ADD COLUMN bound INTEGER;
ALTER TABLE rule_outcome ADD COLUMN bound INTEGER;
ALTER TABLE root_cause ADD COLUMN bound INTEGER;
ALTER TABLE root_cause_ticket ADD COLUMN bound INTEGER;
ALTER TABLE root_cause_conclusion ADD COLUMN bound INTEGER;
ALTER TABLE rule_proposal ADD COLUMN bound INTEGER;
ALTER TABLE training_pair ADD COLUMN bound INTEGER;
ALTER TABLE training_job ADD COLUMN bound INTEGER;
ALTER TABLE peer_agreement ADD COLUMN bound INTEGER;
