-- Amendments that widen power and wait for a second administrator. The ticket of each shows the hash of the text, and the
-- row goes when the ticket is decided: it may hold the hash of a password.
CREATE TABLE desk_pending (
    tenant_id TEXT NOT NULL,
    ticket_id TEXT NOT NULL,
    text      TEXT NOT NULL,
    PRIMARY KEY (ticket_id, tenant_id)
);
