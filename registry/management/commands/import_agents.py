"""`manage.py import_agents FILE`: the agents and rules of a TOML file, all of them or none."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts.models import User
from common.errors import FixieError
from common.handles import SITE_OWNER
from registry.agents_toml.importing import Imported, import_agents
from registry.agents_toml.problems import FileRefused
from registry.agents_toml.reading import read_file


class Command(BaseCommand):
    help = (
        "Makes agents of the programs that a TOML file names, and its routing rules those of the site. "
        "Where anything is wrong with the file it says what and where, and changes nothing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="paths in it count from its own folder")
        parser.add_argument("--dry-run", action="store_true", help="only say what would change")
        parser.add_argument("--owner", default=SITE_OWNER, help=f"whose agents they are (default: {SITE_OWNER})")
        parser.add_argument("--by", metavar="USERNAME", help="the administrator in whose name (default: the first)")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        by = _administrator(options["by"])
        try:
            file = read_file(path.read_bytes(), path.parent.resolve())
            found = import_agents(file=file, owner=options["owner"], by=by, dry_run=options["dry_run"])
        except OSError as error:
            raise CommandError(f"{path}: {error.strerror}") from None
        except FileRefused as refused:
            for problem in refused.problems:
                self.stderr.write(f"{path}:{problem.line}: {problem.text}")
            raise CommandError(f"{_count(len(refused.problems), 'problem')}, nothing was changed.") from None
        except FixieError as error:
            raise CommandError(error.message) from None
        self._tell(found, options["dry_run"])

    def _tell(self, found: Imported, dry_run: bool) -> None:
        for line in found.changes:
            self.stdout.write(line)
        for line in found.untouched:
            self.stdout.write(f"= {line}: not in the file, stays as it is")
        if not found.changes:
            self.stdout.write("Nothing to change.")
        elif dry_run:
            self.stdout.write("Nothing was changed (--dry-run).")


def _administrator(username: str | None) -> User:
    people = User.objects.filter(is_active=True).order_by("pk")
    found = people.filter(username=username).first() if username else people.filter(is_superuser=True).first()
    if found is None and username:
        raise CommandError(f"There is no active user named {username}.")
    if found is None:
        raise CommandError("There is no administrator to do this: make one with `manage.py createsuperuser`.")
    return found


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
