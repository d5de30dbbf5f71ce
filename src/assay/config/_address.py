"""Addresses in messages."""

from ipaddress import ip_network

_LONGEST = 80


def shown_address(url: str) -> str:
    """An address that was refused, for a message: without the name and password that it may begin with."""
    before, at, host = url.rpartition("@")
    return f"{'…' if before else ''}{at}{host}"[:_LONGEST]


def is_network(text: str) -> bool:
    """Whether it is an address, or a network such as `10.0.0.0/8`."""
    try:
        ip_network(text, strict=False)
    except ValueError:
        return False
    return True
