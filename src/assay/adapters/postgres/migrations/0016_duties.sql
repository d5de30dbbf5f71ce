-- Amendments that widen power and wait for a second administrator. The ticket of each shows the hash of the text, and the
-- row goes when the ticket is decided: it may hold the hash of a password.
CREATE TABLE assay.desk_pending (
    tenant_id text COLLATE "C" NOT NULL,
    ticket_id text COLLATE "C" NOT NULL,
    text      text             NOT NULL,
    PRIMARY KEY (ticket_id, tenant_id)
);
