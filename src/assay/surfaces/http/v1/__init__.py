"""`/api/v1`: the rooms as one interface, with one shape for pages, one for single things, and one for changes.

list -> {"items", "next"};  thing -> ETag, 304;  change -> Idempotency-Key, on record before it is answered
Shapes are in `shapes.py`, without the web framework: the client reads answers by them.
"""
