-- Indexes of the ledger whose roots are logged: each covers a stretch of entries and follows the one before it.
CREATE TABLE assay.index_segment (
    tenant_id       text COLLATE "C" NOT NULL,
    sequence_number bigint           NOT NULL,
    first           bigint           NOT NULL CHECK (first >= 1),
    last            bigint           NOT NULL CHECK (last >= first),
    leaves          bigint           NOT NULL CHECK (leaves >= 1),
    root            text COLLATE "C" NOT NULL,
    previous        bigint,
    PRIMARY KEY (tenant_id, sequence_number),
    CHECK (sequence_number > last)
);
CREATE UNIQUE INDEX index_segment_last ON assay.index_segment (tenant_id, last);

-- The sorted leaves of an index, some hundred in each page; one page is read to look a term up.
CREATE TABLE assay.index_page (
    tenant_id       text COLLATE "C" NOT NULL,
    sequence_number bigint           NOT NULL,
    position        bigint           NOT NULL CHECK (position >= 0),
    first_key       bytea            NOT NULL CHECK (length(first_key) = 16),
    root            bytea            NOT NULL CHECK (length(root) = 32),
    content         bytea            NOT NULL,
    PRIMARY KEY (tenant_id, sequence_number, position)
);
CREATE UNIQUE INDEX index_page_key ON assay.index_page (tenant_id, sequence_number, first_key);

-- Append-only at the storage layer: no change, no deletion, no truncation.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['index_segment', 'index_page'] LOOP
        EXECUTE format(
            'CREATE TRIGGER %1$s_no_change BEFORE UPDATE OR DELETE ON assay.%1$I'
            ' FOR EACH ROW EXECUTE FUNCTION assay.refuse_change()', name);
        EXECUTE format('ALTER TABLE assay.%1$I ENABLE ALWAYS TRIGGER %1$s_no_change', name);
        EXECUTE format(
            'CREATE TRIGGER %1$s_no_truncate BEFORE TRUNCATE ON assay.%1$I'
            ' FOR EACH STATEMENT EXECUTE FUNCTION assay.refuse_change()', name);
        EXECUTE format('ALTER TABLE assay.%1$I ENABLE ALWAYS TRIGGER %1$s_no_truncate', name);
    END LOOP;
END $$;

-- Which entry logged the newest index is asked of the ledger itself; there are few of them.
CREATE INDEX ledger_indexes ON assay.ledger (tenant_id, kind, sequence_number) WHERE kind = 'index.sealed';
