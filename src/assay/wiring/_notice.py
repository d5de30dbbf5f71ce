"""Who started us, and wants to know how we stand."""

import os
from collections.abc import Mapping

from assay.adapters.service_notice import send_notice

__all__ = ["tell_supervisor"]

_VARIABLE = "NOTIFY_SOCKET"


def tell_supervisor(text: str, environment: Mapping[str, str] = os.environ) -> None:
    """`READY=1` and such, where systemd started us with `Type=notify`; else nothing."""
    send_notice(environment.get(_VARIABLE), text)
