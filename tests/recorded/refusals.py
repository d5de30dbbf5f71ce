"""The refusals that every route has in common: of a caller, and of a body."""

from tests.recorded.tape import Tape

__all__ = ["refuse_body", "refuse_caller"]


def refuse_caller(tape: Tape, method: str, path: str, *, body: object = None, role: str | None = None) -> None:
    """Ask without a credential, with one that is not known, one of another scope, and as `role`, which may not."""
    tape.send(method, path, None, body=body)
    tape.send(method, path, "unknown", body=body)
    tape.send(method, path, "narrow", body=body)
    if role is not None:
        tape.send(method, path, role, body=body)


def refuse_body(tape: Tape, path: str, *, by: str) -> None:
    """Send no body, no JSON, another kind of value, a member that is not known, and another media type."""
    tape.post(path, b"", by)
    tape.post(path, b'{"cut', by)
    tape.post(path, [], by)
    tape.post(path, {"surprise": 1}, by)
    tape.post(path, b"a=b", by, media="application/x-www-form-urlencoded")
