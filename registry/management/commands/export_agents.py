"""`manage.py export_agents [FILE]`: what `import_agents` reads, of the agents and rules that there are."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts.models import Owner
from common.handles import SITE_OWNER
from registry.agents_toml.exporting import export_agents


class Command(BaseCommand):
    help = "Writes an owner's agents that are programs, and the site's routing rules, as TOML for `import_agents`."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", nargs="?", type=Path, help="default: standard output")
        parser.add_argument("--owner", default=SITE_OWNER, help=f"whose agents (default: {SITE_OWNER})")
        parser.add_argument(
            "--with-env", action="store_true", help="also the values of environments, which may be secrets"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        owner, path = options["owner"], options["file"]
        if not Owner.objects.filter(handle=owner).exists():
            raise CommandError(f"There is no user or organization {owner}.")
        text = export_agents(owner=owner, with_env=options["with_env"])
        if path is None:
            self.stdout.write(text, ending="")
            return
        try:
            # For its owner's eyes alone where it is new: there may be secrets in it.
            path.touch(mode=0o600)
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise CommandError(f"{path}: {error.strerror}") from None
