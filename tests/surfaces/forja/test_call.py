"""Who a request says it is from: one credential, named once, or nobody."""

import pytest

from assay.surfaces.forja.call import Call

_KEY, _TOKEN = (b"x-api-key", b"ask_1"), (b"authorization", b"Bearer ast_2")


@pytest.mark.parametrize(
    ("headers", "credential"),
    [
        ([], None),
        ([_KEY], "ask_1"),
        ([_TOKEN], "ast_2"),
        ([_KEY, _TOKEN], None),
        ([_KEY, (b"x-api-key", b"ask_3")], None),
        ([_TOKEN, _TOKEN], None),
        ([(b"authorization", b"Basic eDp5")], None),
        ([(b"x-api-key", b"k" * 513)], None),
    ],
)
def test_a_credential_is_named_once_or_not_at_all(headers: list[tuple[bytes, bytes]], credential: str | None) -> None:
    """Of two, whoever stands before the service may have looked at the other one."""
    assert Call({"type": "http", "headers": headers}).credential() == credential
