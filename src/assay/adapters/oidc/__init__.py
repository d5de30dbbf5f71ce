"""OpenID Connect over HTTP: the provider's documents and keys, fetched from checked addresses alone.

issuer -> discovery document -> keys;   code + verifier -> token endpoint -> ID token -> signature -> claims
"""
