#!/usr/bin/env python
"""Django's command line for this project; starts the embedded PostgreSQL where no DATABASE_URL is given."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fixie_site.settings")
    os.environ.setdefault("FIXIE_ENV", "local")
    from django.core.management import execute_from_command_line

    from fixie_site import embedded

    try:
        with embedded.database():
            execute_from_command_line(sys.argv)
    except embedded.CannotStart as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
