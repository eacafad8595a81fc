"""Makes the environment of the drop-in library from options and inherited variables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from outboard import addresses, preload, settings_table
from outboard.errors import OutboardError

Value = str | int | bool | tuple[str, ...] | None
# The status for wrong options. Variables that stand for options have the same.
_USAGE_ERROR = 2


class Settings:
    """Values for settings of the library, by their names in settings/settings.toml.

    None, False and an empty tuple leave the variable as it is.
    """

    def __init__(self, mode: Value = None, **others: Value) -> None:
        chosen: dict[str, Value] = {"mode": mode, **others}
        known = {row.name for row in settings_table.rows() if row.of_library}
        if unknown := chosen.keys() - known:
            raise TypeError(f"there is no setting {', '.join(sorted(unknown))}")
        self._chosen = {
            name: value
            for name, value in chosen.items()
            if value is not None and value is not False and value != ()
        }

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Settings) and self._chosen == other._chosen

    def __hash__(self) -> int:
        return hash(frozenset(self._chosen.items()))

    def __repr__(self) -> str:
        return f"Settings({', '.join(f'{n}={v!r}' for n, v in self._chosen.items())})"

    @property
    def mode(self) -> str | None:
        return self.text("mode")

    @property
    def servers(self) -> tuple[str, ...]:
        value = self._chosen.get("servers", ())
        assert isinstance(value, tuple)
        return value

    @property
    def quiet(self) -> bool:
        return bool(self._chosen.get("quiet"))

    def text(self, name: str) -> str | None:
        """Returns the text that the variable of `name` gets; None if the variable stays as it
        is."""
        value = self._chosen.get(name)
        if value is None:
            return None
        if value is True:
            return "1"
        return ",".join(value) if isinstance(value, tuple) else str(value)

    def replaced(self, **changes: Value) -> Settings:
        """Returns these settings with other values for `changes`."""
        return Settings(**{**self._chosen, **changes})

    def variables(self, library: Path, inherited: Mapping[str, str]) -> dict[str, str]:
        """Returns the variables to set: LD_PRELOAD first, the others in the order of the table."""
        entries = preload.entries(str(library), inherited.get("LD_PRELOAD", ""))
        return {"LD_PRELOAD": entries, **self.without_preload()}

    def without_preload(self) -> dict[str, str]:
        """Returns the variables to set without LD_PRELOAD."""
        result = {}
        for row in settings_table.rows():
            text = self.text(row.name)
            if text is not None:
                result[row.variable] = text
        return result


def preloadable(library: Path, folder: Path) -> Path:
    """Returns a path of `library` that LD_PRELOAD can hold. If necessary, it is a link in
    `folder`."""
    return Path(preload.loadable(str(library), str(folder)))


def inherited_mode(environment: Mapping[str, str]) -> str | None:
    """Returns the mode that `environment` sets, checked."""
    row = settings_table.row("mode")
    mode = environment.get(row.variable)
    if mode and mode not in row.choices:
        raise OutboardError(
            f"{row.variable}={mode} is no mode (there are {', '.join(row.choices)})", _USAGE_ERROR
        )
    return mode or None


def inherited_servers(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the servers that `environment` names, checked; empty if it names none."""
    for name in settings_table.row("servers").variables:
        text = environment.get(name)
        if text:
            try:
                return addresses.check_servers(text)
            except ValueError as error:
                raise OutboardError(f"{name}: {error}", _USAGE_ERROR) from error
    return ()


def inherited(name: str, environment: Mapping[str, str]) -> str | None:
    """Returns the text that `environment` gives the setting `name`."""
    return environment.get(settings_table.row(name).variable) or None


def without_library(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns `environment` for programs of ours: with no preloaded library and without its
    settings."""
    removed = {"LD_PRELOAD"}
    for row in settings_table.rows():
        if row.of_library:
            removed.update(row.variables)
    return {name: value for name, value in environment.items() if name not in removed}
