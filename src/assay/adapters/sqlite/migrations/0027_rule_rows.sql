-- Rules of graphs and contracts were rows of entries that say nothing of them. They are recorded anew, from the graphs and
-- contracts, when the node is opened.
DROP TRIGGER rule_version_no_delete;
DELETE FROM rule_version WHERE EXISTS (SELECT 1 FROM ledger AS l WHERE l.tenant_id = rule_version.tenant_id AND l.sequence_number = rule_version.sequence_number AND l.kind IN ('graph.activated', 'contract.released'));
CREATE TRIGGER rule_version_no_delete BEFORE DELETE ON rule_version BEGIN SELECT RAISE(ABORT, 'rule_version is append-only: DELETE refused'); END;
DROP TRIGGER rule_certification_no_delete;
DELETE FROM rule_certification WHERE EXISTS (SELECT 1 FROM ledger AS l WHERE l.tenant_id = rule_certification.tenant_id AND l.sequence_number = rule_certification.sequence_number AND l.kind = 'graph.activated');
CREATE TRIGGER rule_certification_no_delete BEFORE DELETE ON rule_certification BEGIN SELECT RAISE(ABORT, 'rule_certification is append-only: DELETE refused'); END;

-- Counters are the row of the last entry that records them; those of older entries are counted again.
DELETE FROM rule_counter;
ALTER TABLE rule_counter ADD COLUMN sequence_number INTEGER NOT NULL DEFAULT 0;

-- Findings are in the order of their entries. Only those of a remark were committed to by an entry.
ALTER TABLE answer_finding RENAME TO answer_finding_before;
CREATE TABLE answer_finding (
    tenant_id       TEXT    NOT NULL,
    answer_id       TEXT    NOT NULL,
    text            TEXT    NOT NULL,
    sequence_number INTEGER NOT NULL CHECK (sequence_number >= 1),
    PRIMARY KEY (answer_id, sequence_number, tenant_id)
);
INSERT INTO answer_finding SELECT f.tenant_id, f.answer_id, f.text, f.sequence_number FROM answer_finding_before AS f JOIN ledger AS l ON l.tenant_id = f.tenant_id AND l.sequence_number = f.sequence_number WHERE l.kind = 'answer.remarked';
DROP TABLE answer_finding_before;
CREATE TRIGGER answer_finding_no_replace BEFORE INSERT ON answer_finding WHEN EXISTS (SELECT 1 FROM answer_finding WHERE answer_id = NEW.answer_id AND sequence_number = NEW.sequence_number AND tenant_id = NEW.tenant_id) BEGIN SELECT RAISE(ABORT, 'answer_finding is append-only: that place is taken'); END;
CREATE TRIGGER answer_finding_no_update BEFORE UPDATE ON answer_finding BEGIN SELECT RAISE(ABORT, 'answer_finding is append-only: UPDATE refused'); END;
CREATE TRIGGER answer_finding_no_delete BEFORE DELETE ON answer_finding BEGIN SELECT RAISE(ABORT, 'answer_finding is append-only: DELETE refused'); END;

-- The turns of an answer follow from its entries, and events that were given up from theirs.
DROP TABLE trace_loop;
DROP TABLE webhook_letter;
CREATE TABLE webhook_attempt (
    tenant_id  TEXT    NOT NULL,
    webhook_id TEXT    NOT NULL,
    position   INTEGER NOT NULL CHECK (position >= 1),
    attempts   INTEGER NOT NULL CHECK (attempts >= 0),
    changed_at TEXT    NOT NULL CHECK (length(changed_at) = 27),
    mac        TEXT    NOT NULL,
    PRIMARY KEY (webhook_id, tenant_id)
);
