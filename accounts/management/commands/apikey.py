"""`manage.py apikey USERNAME`: a new API key, alone on standard output, for scripts."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts import actions
from accounts.models import User
from common.errors import FixieError


class Command(BaseCommand):
    help = "Makes an API key for a user and prints it alone on standard output. It is not stored: keep it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--name", default="command line", help="what the key is for")

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(username=options["username"], is_active=True).first()
        if user is None:
            raise CommandError(f"There is no active user named {options['username']}.")
        try:
            new = actions.create_api_key(user=user, name=options["name"])
        except FixieError as error:
            raise CommandError(error.message) from None
        self.stdout.write(new.token)
