"""What permits refuse.

PermitError               permit.refused
├── PermitFormError       permit.form         it is no permit, in either form
├── PermitUseError        permit.use          another tool, audience or arguments than those that were approved
├── PermitExpiredError    permit.expired
└── MandateError          mandate.refused     a mandate cannot be signed, or does not cover a call
"""

from assay.kernel.errors import Blame, Error


class PermitError(Error):
    """A permit cannot be issued, read or used."""

    code = "permit.refused"
    blame = Blame.INPUT


class PermitFormError(PermitError):
    """A text or bytes are not a permit in one of its two forms."""

    code = "permit.form"


class PermitUseError(PermitError):
    """A permit is for another tool, audience, tenant or other arguments than this call has."""

    code = "permit.use"


class PermitExpiredError(PermitError):
    """The time in which a permit can be claimed is over."""

    code = "permit.expired"
    blame = Blame.ANSWER


class MandateError(PermitError):
    """A mandate has limits that nobody could check, or may never be given."""

    code = "mandate.refused"
