"""Identity: roles beyond the built-in ones."""

from msgspec import Struct

from assay.identity.principal import BuiltInRole
from assay.identity.problem import NAME_FORM, Problem, when


class IdentityConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`roles` are names beyond the built-in ones that principals may hold, such as roles that a contract or a gate
    policy names. Any other role is refused when a principal is added or amended.
    """

    roles: tuple[str, ...] = ()


def identity_problems(identity: IdentityConfig) -> tuple[Problem, ...]:
    problems: tuple[Problem, ...] = ()
    for role in identity.roles:
        is_odd = NAME_FORM.fullmatch(role) is None
        problems += when(is_odd, "identity.roles", f"expected a name of `[a-z0-9_]`, got `{role[:40]}`")
        problems += when(role in set(BuiltInRole), "identity.roles", f"`{role[:40]}` is built in")
    return problems
