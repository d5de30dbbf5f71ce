"""Assay: may I act on this AI output, why, and can anyone prove it later?

intake -> authorise -> reason -> gate -> mark -> record -> deliver -> learn
Importing this package imports nothing heavy; rooms are imported when they are used.
"""

# As `typing` has it, without importing `typing`.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from assay.surfaces.attach import attach

__all__ = ["__version__", "attach"]

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """`assay.attach` comes with everything it needs, when it is first asked for."""
    if name == "attach":
        from assay.surfaces.attach import attach  # noqa: PLC0415 - importing the package imports nothing heavy

        return attach
    raise AttributeError(f"module `assay` has no attribute `{name}`")
