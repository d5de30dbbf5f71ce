-- Rules of graphs and contracts were rows of entries that say nothing of them. They are recorded anew, from the graphs and
-- contracts, when the node is opened.
ALTER TABLE assay.rule_version DISABLE TRIGGER rule_version_no_change;
DELETE FROM assay.rule_version AS t WHERE EXISTS (SELECT 1 FROM assay.ledger AS l WHERE l.tenant_id = t.tenant_id AND l.sequence_number = t.sequence_number AND l.kind IN ('graph.activated', 'contract.released'));
ALTER TABLE assay.rule_version ENABLE ALWAYS TRIGGER rule_version_no_change;
ALTER TABLE assay.rule_certification DISABLE TRIGGER rule_certification_no_change;
DELETE FROM assay.rule_certification AS t WHERE EXISTS (SELECT 1 FROM assay.ledger AS l WHERE l.tenant_id = t.tenant_id AND l.sequence_number = t.sequence_number AND l.kind = 'graph.activated');
ALTER TABLE assay.rule_certification ENABLE ALWAYS TRIGGER rule_certification_no_change;

-- Counters are the row of the last entry that records them; those of older entries are counted again.
DELETE FROM assay.rule_counter;
ALTER TABLE assay.rule_counter ADD COLUMN sequence_number bigint NOT NULL DEFAULT 0;

-- Findings are in the order of their entries. Only those of a remark were committed to by an entry.
ALTER TABLE assay.answer_finding DISABLE TRIGGER answer_finding_no_change;
DELETE FROM assay.answer_finding AS t WHERE NOT EXISTS (SELECT 1 FROM assay.ledger AS l WHERE l.tenant_id = t.tenant_id AND l.sequence_number = t.sequence_number AND l.kind = 'answer.remarked');
ALTER TABLE assay.answer_finding ENABLE ALWAYS TRIGGER answer_finding_no_change;
ALTER TABLE assay.answer_finding DROP CONSTRAINT answer_finding_pkey;
ALTER TABLE assay.answer_finding DROP COLUMN position;
ALTER TABLE assay.answer_finding ADD PRIMARY KEY (answer_id, sequence_number, tenant_id);

-- The turns of an answer follow from its entries, and events that were given up from theirs.
DROP TABLE assay.trace_loop;
DROP TABLE assay.webhook_letter;
CREATE TABLE assay.webhook_attempt (
    tenant_id  text COLLATE "C" NOT NULL,
    webhook_id text COLLATE "C" NOT NULL,
    position   bigint           NOT NULL CHECK (position >= 1),
    attempts   bigint           NOT NULL CHECK (attempts >= 0),
    changed_at text COLLATE "C" NOT NULL CHECK (length(changed_at) = 27),
    mac        text COLLATE "C" NOT NULL,
    PRIMARY KEY (webhook_id, tenant_id)
);
