"""A folder with a TOML file and a program, and an organization whose agents the file is about."""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django.core.management import CommandError, call_command

if TYPE_CHECKING:
    from registry.models import Agent, RoutingRule

PROGRAM = "#!/bin/sh\ncat\n"


@dataclass(frozen=True)
class Told:
    """What a command wrote. `error` is why it failed; empty where it did not."""

    text: str
    problems: list[str]
    error: str

    @property
    def out(self) -> list[str]:
        return self.text.removesuffix("\n").split("\n") if self.text else []


@dataclass(frozen=True)
class Workshop:
    """`owner` is the organization's handle, `admin` the name of an administrator who is no member of it."""

    folder: Path
    owner: str
    admin: str

    @property
    def file(self) -> Path:
        return self.folder / "agents.toml"

    def load(self, text: str, *args: str, **options: Any) -> Told:
        """Writes the file and imports it."""
        self.file.write_text(text, encoding="utf-8", newline="")
        return self.run("import_agents", str(self.file), *args, **{"by": self.admin, **options})

    def export(self, *args: str) -> str:
        told = self.run("export_agents", *args)
        assert told.error == ""
        return told.text

    def run(self, command: str, *args: str, **options: Any) -> Told:
        out, err, error = io.StringIO(), io.StringIO(), ""
        try:
            call_command(command, *args, **{"owner": self.owner, **options}, stdout=out, stderr=err, no_color=True)
        except CommandError as failed:
            error = str(failed)
        lines = err.getvalue().splitlines()
        return Told(out.getvalue(), [line.removeprefix(f"{self.file}:") for line in lines], error)

    def agent(self, handle: str = "my-agent") -> "Agent":
        from registry.models import Agent

        return Agent.objects.select_related("owner", "current_revision").get(owner__handle=self.owner, handle=handle)

    def rules(self) -> "list[RoutingRule]":
        from registry.models import RoutingRule

        return list(RoutingRule.objects.order_by("pk"))

    def rows(self) -> list[tuple[Any, ...]]:
        """Every row that an import may write, with the transaction that wrote it."""
        from django.db import connection

        found: list[tuple[Any, ...]] = []
        with connection.cursor() as cursor:
            for table in ("agent", "revision", "routingrule", "routingpreference"):
                cursor.execute(f"SELECT '{table}', id, xmin::text FROM registry_{table} ORDER BY id")
                found += cursor.fetchall()
            cursor.execute("SELECT 'membership', id, xmin::text FROM accounts_membership ORDER BY id")
            found += cursor.fetchall()
            cursor.execute("SELECT 'owner', id, xmin::text FROM accounts_owner WHERE handle = %s", [self.owner])
            found += cursor.fetchall()
        return found


@pytest.fixture
def workshop(tmp_path: Path, people: Any, make_user: Any) -> Iterator[Workshop]:
    from registry.actions import delete_agent
    from registry.models import Agent, RoutingRule

    program = tmp_path / "my-agent"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    RoutingRule.objects.all().delete()  # of tests that are over
    admin = make_user(is_superuser=True)
    yield Workshop(tmp_path, people.organization.owner.handle, admin.username)
    RoutingRule.objects.all().delete()
    for agent in Agent.objects.filter(owner=people.organization.owner):
        delete_agent(agent=agent)
