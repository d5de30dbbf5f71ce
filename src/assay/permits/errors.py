"""What permits refuse.

PermitError               permit.refused
"""

from assay.kernel.errors import Blame, Code, Error


class PermitError(Error):
    """A permit cannot be issued, read or used."""

    code = "permit.refused"
    blame = Blame.INPUT
    form = Code("permit.form", "A text or bytes are not a permit in one of its two forms.")
    use = Code("permit.use", "A permit is for another tool, audience, tenant or other arguments than this call has.")
    expired = Code("permit.expired", "The time in which a permit can be claimed is over.", Blame.ANSWER)
    gateway_table = Code("gateway.table", "A table of a gateway has rows that nobody could follow.")
    mandate_refused = Code("mandate.refused", "A mandate has limits that nobody could check, or may never be given.")
