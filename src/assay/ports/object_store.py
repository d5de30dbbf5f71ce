"""Where published files are: a folder, a bucket, or behind a URL."""

from typing import Protocol


class ObjectStore(Protocol):
    """Named objects. A write is whole or nothing and replaces what had the name; no name leads out of the store."""

    def read(self, name: str) -> bytes | None:
        """The content, or None where there is no such object."""
        ...

    def write(self, name: str, content: bytes) -> None: ...

    def remove(self, name: str) -> None:
        """Remove the object; one that is not there is no error."""
        ...

    def names(self, prefix: str) -> list[str]:
        """The names that start with the prefix, sorted."""
        ...
