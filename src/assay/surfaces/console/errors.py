"""What the console refuses on its own account.

ConsoleError
"""

from assay.kernel.errors import Blame, Code, Error


class ConsoleError(Error):
    """The console refuses."""

    code = "console.refused"
    blame = Blame.USAGE
    form_field = Code("console.form_field", "A field of a form is missing, or is not what it should be.")
