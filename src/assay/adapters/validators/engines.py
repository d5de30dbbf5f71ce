"""The engines that this deployment has, by the names that contracts use."""

from collections.abc import Iterable, Mapping

from assay.ports.validator import Validator, ValidatorError


class NamedEngines:
    """Implements `ports.validator.Engines`."""

    def __init__(self, validators: Iterable[Validator]) -> None:
        self._validators: dict[str, Validator] = {}
        for validator in validators:
            if validator.name in self._validators:
                raise ValidatorError.duplicate_engine(f"expected each engine once, got `{validator.name}` again")
            self._validators[validator.name] = validator

    @property
    def versions(self) -> Mapping[str, str]:
        return {name: self._validators[name].version for name in sorted(self._validators)}

    def find(self, name: str) -> Validator | None:
        return self._validators.get(name)

    def get(self, name: str) -> Validator:
        found = self.find(name)
        if found is None:
            known = ", ".join(sorted(self._validators)) or "none"
            raise ValidatorError.unavailable(f"no engine `{name}` is configured here, only `{known}`")
        return found
