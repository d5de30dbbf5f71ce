"""Who started us, and wants to know how we stand."""

import os

from assay.adapters.service_notice import send_notice

_VARIABLE = "NOTIFY_SOCKET"


def tell_supervisor(text: str) -> None:
    """Tell systemd `READY=1` and such, where it started us with `Type=notify`; else tell nobody."""
    send_notice(os.environ.get(_VARIABLE), text)
