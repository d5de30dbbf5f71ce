"""Addresses in messages."""

__all__ = ["shown_address"]

_LONGEST = 80


def shown_address(url: str) -> str:
    """An address that was refused, for a message: without the name and password that it may begin with."""
    before, at, host = url.rpartition("@")
    return f"{'…' if before else ''}{at}{host}"[:_LONGEST]
