"""`manage.py rotate_signing_key`: from now on the next key signs."""

from typing import Any

from django.core.management.base import BaseCommand

from accounts import actions


class Command(BaseCommand):
    help = (
        "Signs with the next key from now on and publishes a new next one. "
        "Keys and tokens signed before stay good. "
        "Wait a minute before you rotate again: agents look for new keys every 30 seconds."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        active = actions.rotate_signing_key()
        self.stdout.write(f"Now signing with {active.kid}.")
