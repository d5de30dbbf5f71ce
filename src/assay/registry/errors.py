"""What the registry refuses. Codes `FRJ-*` are the protocol's own and reach problem details as they are.

RegistryError                   registry.refused
├── InvalidManifestError        registry.manifest           carries every problem with its JSON pointer
├── InvalidAnnounceError        registry.announce           the same
├── RefusedAnnounceError        registry.announce_refused
├── UnsignedManifestError       registry.unsigned
├── SchemaError                 registry.mask_schema
├── MaskWidthError              registry.mask_width
├── ReservedBitError            registry.reserved_bit
├── UnknownPermissionError      registry.unknown_permission
├── UnknownActionError          registry.unknown_action
├── InvalidRuleError            registry.invalid_rule
├── SwitchRuleError             registry.switch_rule
├── WindowFormError             registry.window
├── NotYoursError               forja.not_yours
├── RestoreError                registry.restore
├── SwitchHistoryError          registry.switch_history
├── DuplicateServiceError       registry.duplicate_service
├── FleetHistoryError           registry.fleet_history
├── UnknownServiceError         registry.unknown_service
├── RevokedKeyError             registry.key_revoked
├── AlreadyUndoneError          registry.already_undone
└── DeniedError                 registry.denied             an honest no
    ├── BitsMissingError        registry.bits_missing
    ├── RestrictedError         registry.restricted
    ├── TierClosedError         registry.tier_closed
    ├── UndeclaredError         FRJ-005
    ├── NotLoggedError          FRJ-007
    ├── NoRollbackError         FRJ-008
    ├── RollbackTokenError      FRJ-009
    ├── SelfEscalationError     FRJ-011
    └── TierChangeError         FRJ-015
"""

from collections.abc import Sequence

from assay.kernel.errors import Blame, Error
from assay.registry.problem import ManifestProblem, render_manifest_problems


class RegistryError(Error):
    """A manifest, a mask, an announce or a request is refused."""

    code = "registry.refused"
    blame = Blame.INPUT


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


class UnsignedManifestError(RegistryError):
    """A manifest is not signed, or by no key that is known for its service."""

    code = "registry.unsigned"


class SchemaError(RegistryError):
    """A schema of permission bits contradicts itself or the universal blocks."""

    code = "registry.mask_schema"


class MaskWidthError(RegistryError):
    """A mask is not a whole number of the schema's width."""

    code = "registry.mask_width"


class ReservedBitError(RegistryError):
    """A mask sets a bit that the schema reserves."""

    code = "registry.reserved_bit"


class UnknownPermissionError(RegistryError):
    """A name is no permission of the schema, or a value is not exactly one permission."""

    code = "registry.unknown_permission"


class UnknownActionError(RegistryError):
    """A table says nothing about this action or role."""

    code = "registry.unknown_action"


class InvalidRuleError(RegistryError):
    """An action, a grant or a request contradicts itself."""

    code = "registry.invalid_rule"


class SwitchRuleError(RegistryError):
    """The settings of a kill switch contradict themselves."""

    code = "registry.switch_rule"


class WindowFormError(RegistryError):
    """Counts of outcomes contradict themselves."""

    code = "registry.window"


class RestoreError(RegistryError):
    """A fired switch is not restored by this: only a person's settled ticket about this firing does that."""

    code = "registry.restore"
    blame = Blame.ANSWER


class SwitchHistoryError(RegistryError):
    """Facts about a switch do not follow one another."""

    code = "registry.switch_history"
    blame = Blame.OURS


class DuplicateServiceError(RegistryError):
    """Two services of one index have the same id."""

    code = "registry.duplicate_service"


class FleetHistoryError(RegistryError):
    """A change of the fleet does not begin where the snapshot stands; ask for the whole."""

    code = "registry.fleet_history"
    blame = Blame.INPUT


class UnknownServiceError(RegistryError):
    """The index knows no service of this id."""

    code = "registry.unknown_service"
    blame = Blame.ANSWER


class RevokedKeyError(RegistryError):
    """A key that was revoked does not become known again; a service goes on with a new one."""

    code = "registry.key_revoked"
    blame = Blame.ANSWER


class AlreadyUndoneError(RegistryError):
    """A logged action was undone before, or nobody knows how far its undoing came."""

    code = "registry.already_undone"
    blame = Blame.ANSWER


class DeniedError(RegistryError):
    """The request was understood, and the answer is no."""

    code = "registry.denied"
    blame = Blame.ANSWER


class BitsMissingError(DeniedError):
    """A needed bit is missing in the service's capability mask or in the principal's trust mask."""

    code = "registry.bits_missing"


class RestrictedError(DeniedError):
    """The service keeps this action from every agent."""

    code = "registry.restricted"


class TierClosedError(DeniedError):
    """The action's tier is above the active one."""

    code = "registry.tier_closed"


class UndeclaredError(DeniedError):
    """What no table declares has tier 0, and tier 0 is off for everyone."""

    code = "FRJ-005"


class NotLoggedError(DeniedError):
    """An action of tier 2 or above was not logged before it was to run."""

    code = "FRJ-007"


class NoRollbackError(DeniedError):
    """An action of tier 2 or above has no rollback descriptor."""

    code = "FRJ-008"


class RollbackTokenError(DeniedError):
    """A rollback needs a person's session token."""

    code = "FRJ-009"


class SelfEscalationError(DeniedError):
    """An agent asked for a tier or for bits above what it was issued; the attempt is counted."""

    code = "FRJ-011"


class TierChangeError(DeniedError):
    """A tier changes only by an authorised person, and never one's own."""

    code = "FRJ-015"


class NotYoursError(RegistryError):
    """A principal spoke in the name of a service that it is not."""

    code = "forja.not_yours"
    blame = Blame.ANSWER
