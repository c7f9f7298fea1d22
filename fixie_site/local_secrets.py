"""Secrets of a newcomer's machine: made on the first start and kept under `$VAR`, readable by its user alone."""

import os
import secrets
from pathlib import Path


def kept(path: Path, make: str | None = None) -> str:
    """The text in `path`; where there is none, `make` (or a fresh random text) is written there first."""
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        value = make or secrets.token_urlsafe(48)
        path.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(value + "\n")
        return value


def secret_key(var: Path) -> str:
    return kept(var / "secret-key")
