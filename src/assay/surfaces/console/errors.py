"""What the console refuses on its own account.

ConsoleError
└── FormFieldError     a field of a form is missing or unreadable   console.form_field
"""

from assay.kernel.errors import Blame, Error


class ConsoleError(Error):
    """The console refuses."""

    code = "console.refused"
    blame = Blame.USAGE


class FormFieldError(ConsoleError):
    """A field of a form is missing, or is not what it should be."""

    code = "console.form_field"
