"""What the console refuses on its own account.

ConsoleError
├── FormTokenError     a form was not one that this session was given   console.form_token
└── FormFieldError     a field of a form is missing or unreadable       console.form_field
"""

from assay.kernel.errors import Blame, Error

__all__ = ["ConsoleError", "FormFieldError", "FormTokenError"]


class ConsoleError(Error):
    """The console refuses."""

    code = "console.refused"
    blame = Blame.USAGE


class FormTokenError(ConsoleError):
    """A form was sent without the token that this session's pages carry: load the page again."""

    code = "console.form_token"
    blame = Blame.INPUT


class FormFieldError(ConsoleError):
    """A field of a form is missing, or is not what it should be."""

    code = "console.form_field"
