"""HTTP: authenticated requests in, answers or problem details out.

request -> guard (who is it, may they) -> strict parse -> one flow -> response, or a problem with its code
May import: wiring and everything below. One file per group of routes.
"""
