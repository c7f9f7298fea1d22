"""`manage.py front_agent USERNAME`: the agent that answers where none is named, on a site that `up` did not make."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts.models import User
from common.errors import FixieError
from common.handles import SITE_OWNER
from registry.bootstrap import ensure_front_agent, ensure_organization


class Command(BaseCommand):
    help = "Makes fixie/fixie, which finds the right agents for a query. The user becomes an admin of its organization."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username")

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(username=options["username"], is_active=True).first()
        if user is None:
            raise CommandError(f"There is no active user named {options['username']}.")
        try:
            ensure_organization(handle=SITE_OWNER, name="Fixie", member=user)
            self.stdout.write(ensure_front_agent().agent_id)
        except FixieError as error:
            raise CommandError(error.message) from None
