"""`pool.toml`: who may do what, groups, and the names of batch users."""

from __future__ import annotations

import tomllib
from enum import StrEnum
from pathlib import Path

import msgspec

from outboard.errors import OutboardError


class Role(StrEnum):
    USER = "user"
    DAEMON = "daemon"
    BATCH = "batch"  # leases for others, with ids that contain a dot
    MONITOR = "monitor"  # reads everything
    ADMIN = "admin"


class Roles(msgspec.Struct, forbid_unknown_fields=True):
    """Names as in tokens ("certificate ada", "uid 1000", "loopback"); a plain "ada" means the
    certificate."""

    admin: list[str] = []
    batch: list[str] = []
    monitor: list[str] = []
    daemon: list[str] = []  # only for those without a certificate


class Settings(msgspec.Struct, forbid_unknown_fields=True):
    roles: Roles = msgspec.field(default_factory=Roles)
    groups: dict[str, list[str]] = {}
    users: dict[str, str] = {}  # Unix user of a batch job -> holder
    socket_mode: str = "600"  # of the Unix socket

    def roles_of(self, holder: str) -> set[Role]:
        """Returns the roles that the file gives to a holder."""
        given = {
            Role.ADMIN: self.roles.admin,
            Role.BATCH: self.roles.batch,
            Role.MONITOR: self.roles.monitor,
            Role.DAEMON: self.roles.daemon,
        }
        return {role for role, names in given.items() if holder in map(holder_named, names)}

    def groups_of(self, holder: str) -> list[str]:
        return [g for g, names in self.groups.items() if holder in map(holder_named, names)]

    def batch_user(self, user: str) -> str:
        return holder_named(self.users.get(user, user))


def holder_named(name: str) -> str:
    """Returns the holder that a name in the file, or on the command line, means."""
    return (
        name
        if name == "loopback" or name.startswith(("certificate ", "uid "))
        else (f"certificate {name}")
    )


def read_settings(file: Path | None) -> Settings:
    if file is None:
        return Settings()
    try:
        settings = msgspec.convert(tomllib.loads(file.read_text()), Settings)
        int(settings.socket_mode, 8)
    except OSError as error:
        raise OutboardError(f"cannot read {file} ({error.strerror})") from error
    except (ValueError, msgspec.ValidationError) as error:
        raise OutboardError(f"{file} is no settings of a pool ({error}) correct it") from error
    return settings
