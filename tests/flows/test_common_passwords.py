"""New passwords that a guesser tries first are refused, and ordinary phrases are not."""

from pathlib import Path

import pytest

from assay.flows.errors.identity import IdentityFlowError
from assay.flows.identity.common_passwords import find_weakness
from assay.kernel.ids import PrincipalId
from tests.acting import set_password
from tests.flows._people import ADMIN, TENANT, opened_desk
from tests.raising import raises


@pytest.mark.parametrize(
    "password",
    [
        *("password1234", "Password1234!", "P@ssw0rd!!!!", "passwordpassword", "aaaaaaaaaaaaaaa", "abababababab"),
        *("123456789012", "qwertyuiop12", "2024welcome2024", "letmein-letmein", "amira is great", "!@#$%^&*()_+"),
    ],
)
def test_what_is_guessed_first_is_weak(password: str) -> None:
    weakness = find_weakness(password, "user:amira")
    assert weakness is not None
    assert "choose a phrase" in weakness
    assert password not in weakness


@pytest.mark.parametrize(
    "password",
    ["correct horse battery", "an unusual password: quokka", "9f3k-77ab-x2qd", "правильная лошадь", "al has a dog now"],
)
def test_an_ordinary_phrase_is_accepted(password: str) -> None:
    assert find_weakness(password, "user:al") is None


def test_a_weak_password_is_refused_when_it_is_set(tmp_path: Path) -> None:
    with opened_desk(tmp_path) as desk:
        desk.add("user:amira")
        for weak in ("password1234", "zzzzzzzzzzzz", "amira-2026-ok"):
            with raises(IdentityFlowError.password_form, match="choose a phrase"):
                set_password(desk.tools, TENANT, PrincipalId("user:amira"), weak, by=ADMIN, at=desk.start)
