"""What the registry refuses. Codes `FRJ-*` are the protocol's own and reach problem details as they are.

RegistryError                   registry.refused
├── InvalidManifestError        registry.manifest           carries every problem with its JSON pointer
├── InvalidAnnounceError        registry.announce           the same
├── RefusedAnnounceError        registry.announce_refused
└── DeniedError                 registry.denied             an honest no
    ├── BitsMissingError        registry.bits_missing
    └── TierClosedError         registry.tier_closed
"""

from collections.abc import Sequence

from assay.kernel.errors import Blame, Code, Error
from assay.registry.problem import ManifestProblem, render_manifest_problems


class RegistryError(Error):
    """A manifest, a mask, an announce or a request is refused."""

    code = "registry.refused"
    blame = Blame.INPUT
    unsigned = Code("registry.unsigned", "A manifest is not signed, or by no key that is known for its service.")
    mask_schema = Code(
        "registry.mask_schema", "A schema of permission bits contradicts itself or the universal blocks."
    )
    mask_width = Code("registry.mask_width", "A mask is not a whole number of the schema's width.")
    reserved_bit = Code("registry.reserved_bit", "A mask sets a bit that the schema reserves.")
    unknown_permission = Code(
        "registry.unknown_permission",
        "A name is no permission of the schema, or a value is not exactly one permission.",
    )
    unknown_action = Code("registry.unknown_action", "A table says nothing about this action or role.")
    not_asgi = Code("registry.not_asgi", "Only an ASGI application can be attached, and this one is of another kind.")
    invalid_rule = Code("registry.invalid_rule", "An action, a grant or a request contradicts itself.")
    switch_rule = Code("registry.switch_rule", "The settings of a kill switch contradict themselves.")
    window = Code("registry.window", "Counts of outcomes contradict themselves.")
    restore = Code(
        "registry.restore",
        "A fired switch is not restored by this: only a person's settled ticket about this firing does that.",
        Blame.ANSWER,
    )
    switch_history = Code("registry.switch_history", "Facts about a switch do not follow one another.", Blame.OURS)
    duplicate_service = Code("registry.duplicate_service", "Two services of one index have the same id.")
    fleet_history = Code(
        "registry.fleet_history", "A change of the fleet does not begin where the snapshot stands; ask for the whole."
    )
    unknown_service = Code("registry.unknown_service", "The index knows no service of this id.", Blame.ANSWER)
    key_revoked = Code(
        "registry.key_revoked",
        "A key that was revoked does not become known again; a service goes on with a new one.",
        Blame.ANSWER,
    )
    already_undone = Code(
        "registry.already_undone",
        "A logged action was undone before, or nobody knows how far its undoing came.",
        Blame.ANSWER,
    )
    forja_not_yours = Code(
        "forja.not_yours", "A principal spoke in the name of a service that it is not.", Blame.ANSWER
    )


class InvalidManifestError(RegistryError):
    """A `codex.json` is not well formed; `problems` lists everything that is wrong with it."""

    code = "registry.manifest"

    def __init__(self, problems: Sequence[ManifestProblem]) -> None:
        super().__init__(render_manifest_problems(problems))
        self.problems = tuple(problems)


class InvalidAnnounceError(RegistryError):
    """An announce or a heartbeat is not well formed; `problems` lists everything that is wrong with it."""

    code = "registry.announce"

    def __init__(self, problems: Sequence[ManifestProblem]) -> None:
        super().__init__(render_manifest_problems(problems))
        self.problems = tuple(problems)


class RefusedAnnounceError(RegistryError):
    """An announce was not believed; nothing follows from it."""

    code = "registry.announce_refused"


class DeniedError(RegistryError):
    """The request was understood, and the answer is no."""

    code = "registry.denied"
    blame = Blame.ANSWER
    restricted = Code("registry.restricted", "The service keeps this action from every agent.")
    undeclared = Code("FRJ-005", "What no table declares has tier 0, and tier 0 is off for everyone.")
    not_logged = Code("FRJ-007", "An action of tier 2 or above was not logged before it was to run.")
    no_rollback = Code("FRJ-008", "An action of tier 2 or above has no rollback descriptor.")
    rollback_token = Code("FRJ-009", "A rollback needs a person's session token.")
    self_escalation = Code(
        "FRJ-011", "An agent asked for a tier or for bits above what it was issued; the attempt is counted."
    )
    tier_change = Code("FRJ-015", "A tier changes only by an authorised person, and never one's own.")


class BitsMissingError(DeniedError):
    """A needed bit is missing in the service's capability mask or in the principal's trust mask."""

    code = "registry.bits_missing"


class TierClosedError(DeniedError):
    """The action's tier is above the active one."""

    code = "registry.tier_closed"
