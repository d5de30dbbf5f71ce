"""A node's own database as the memory of a service that runs inside the node."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from assay.ports.database import Database
from assay.ports.registry_store import RegistryStore

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeMemory:
    """Implements `ports.registry_store.ServiceMemory`; closing the node is the business of whoever opened it."""

    database: Database

    def write(self, work: Callable[[RegistryStore], T]) -> T:
        return self.database.write(lambda unit: work(unit.registry))

    def read(self, work: Callable[[RegistryStore], T]) -> T:
        return self.database.read(lambda unit: work(unit.registry))

    def close(self) -> None:
        """Nothing of its own to close."""
