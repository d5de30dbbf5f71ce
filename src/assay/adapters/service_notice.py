"""Tell the service supervisor how it stands: datagrams to the socket that systemd names (`sd_notify`)."""

import socket
from contextlib import suppress


def send_notice(address: str | None, text: str) -> None:
    """Nothing happens where nobody listens: a supervisor that is gone is no reason to stop."""
    if not address or address[0] not in "/@":
        return
    # A name that begins with `@` is in the kernel's own name space, where it begins with a zero byte.
    place = f"\0{address[1:]}" if address[0] == "@" else address
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as one:
        one.connect(place)
        one.send(text.encode())
