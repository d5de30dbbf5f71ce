"""Forja: what a service says of itself and lets agents do, as one ASGI application without a framework.

request -> outcome counted;   endpoint -> document;   action -> ruling -> log -> run;   errors -> switch -> restore
May import: wiring and everything below. Must not import: a web framework, another surface.
"""
