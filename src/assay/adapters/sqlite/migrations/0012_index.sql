-- Indexes of the ledger whose roots are logged: each covers a stretch of entries and follows the one before it.
CREATE TABLE index_segment (
    tenant_id       TEXT    NOT NULL,
    sequence_number INTEGER NOT NULL CHECK (sequence_number > last),
    first           INTEGER NOT NULL CHECK (first >= 1),
    last            INTEGER NOT NULL CHECK (last >= first),
    leaves          INTEGER NOT NULL CHECK (leaves >= 1),
    root            TEXT    NOT NULL,
    previous        INTEGER,
    PRIMARY KEY (tenant_id, sequence_number)
);
CREATE UNIQUE INDEX index_segment_last ON index_segment (tenant_id, last);

-- The sorted leaves of an index, some hundred in each page; one page is read to look a term up.
CREATE TABLE index_page (
    tenant_id       TEXT    NOT NULL,
    sequence_number INTEGER NOT NULL,
    position        INTEGER NOT NULL CHECK (position >= 0),
    first_key       BLOB    NOT NULL CHECK (length(first_key) = 16),
    root            BLOB    NOT NULL CHECK (length(root) = 32),
    content         BLOB    NOT NULL,
    PRIMARY KEY (tenant_id, sequence_number, position)
);
CREATE UNIQUE INDEX index_page_key ON index_page (tenant_id, sequence_number, first_key);

-- Append-only at the storage layer: no change, no deletion, no replacement.
CREATE TRIGGER index_segment_no_replace BEFORE INSERT ON index_segment WHEN EXISTS (SELECT 1 FROM index_segment WHERE tenant_id = NEW.tenant_id AND (sequence_number = NEW.sequence_number OR last = NEW.last)) BEGIN SELECT RAISE(ABORT, 'index_segment is append-only: that place is taken'); END;
CREATE TRIGGER index_segment_no_update BEFORE UPDATE ON index_segment BEGIN SELECT RAISE(ABORT, 'index_segment is append-only: UPDATE refused'); END;
CREATE TRIGGER index_segment_no_delete BEFORE DELETE ON index_segment BEGIN SELECT RAISE(ABORT, 'index_segment is append-only: DELETE refused'); END;
CREATE TRIGGER index_page_no_replace BEFORE INSERT ON index_page WHEN EXISTS (SELECT 1 FROM index_page WHERE tenant_id = NEW.tenant_id AND sequence_number = NEW.sequence_number AND (position = NEW.position OR first_key = NEW.first_key)) BEGIN SELECT RAISE(ABORT, 'index_page is append-only: that place is taken'); END;
CREATE TRIGGER index_page_no_update BEFORE UPDATE ON index_page BEGIN SELECT RAISE(ABORT, 'index_page is append-only: UPDATE refused'); END;
CREATE TRIGGER index_page_no_delete BEFORE DELETE ON index_page BEGIN SELECT RAISE(ABORT, 'index_page is append-only: DELETE refused'); END;

-- Which entry logged the newest index is asked of the ledger itself; there are few of them.
CREATE INDEX ledger_indexes ON ledger (tenant_id, kind, sequence_number) WHERE kind = 'index.sealed';
