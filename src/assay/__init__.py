"""Assay: may I act on this AI output, why, and can anyone prove it later?

intake -> authorise -> reason -> gate -> mark -> record -> deliver -> learn
Importing this package imports nothing heavy; rooms are imported when they are used.
"""

__all__ = ["__version__"]

__version__ = "0.1.0"
