"""Bus: committed events, handed to subscribers that remember how far they came.

outbox -> subscriber's own thread -> handler -> cursor
May import: ports and below.
"""
