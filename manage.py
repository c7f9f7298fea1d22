#!/usr/bin/env python
"""Django's command line for this project; starts the embedded PostgreSQL where no DATABASE_URL is given."""

import os
import sys
from pathlib import Path

import environ


def main() -> None:
    # Before the settings do: where the database is, and whether to start one, is decided here.
    environ.Env.read_env(Path(__file__).with_name(".env"))
    if sys.argv[1:2] == ["mcp"]:
        from bridges.mcp.stdio import main as mcp

        sys.exit(mcp(sys.argv[2:]))  # it speaks to a running site, from wherever a desktop client starts it
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
