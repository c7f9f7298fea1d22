"""`manage.py rotate_signing_key`: from now on the next key signs."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts import actions
from accounts.models import User


class Command(BaseCommand):
    help = (
        "Signs with the next key from now on and publishes a new next one. "
        "Keys and tokens signed before stay good. "
        "Wait a minute before you rotate again: agents look for new keys every 30 seconds."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--by", metavar="USERNAME", help="who does it, for the audit log")

    def handle(self, *args: Any, **options: Any) -> None:
        active = actions.rotate_signing_key(by=_operator(options["by"]))
        self.stdout.write(f"Now signing with {active.kid}.")


def _operator(username: str | None) -> User | None:
    """None where nobody is named: the key is rotated in any case, and the site's log tells of it."""
    if username is None:
        return None
    found = User.objects.filter(username=username, is_active=True).first()
    if found is None:
        raise CommandError(f"There is no active user named {username}.")
    return found
