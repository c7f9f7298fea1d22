"""Settings: all documented, and production refuses to start without what it needs."""

import os
import re
import subprocess
import sys

import pytest

from tests.sites import ROOT

PRODUCTION = {
    "SECRET_KEY": "x" * 50,
    "ALLOWED_HOSTS": "fixie.example.com",
    "SITE_URL": "https://fixie.example.com",
    "DATABASE_URL": "postgresql:///nowhere",
}


def test_env_example_lists_every_setting_and_no_other() -> None:
    code = (ROOT / "fixie_site/settings.py").read_text()
    read = set(re.findall(r'(?:env\.\w+|required)\(\s*f?"([A-Z_]+)"', code))
    read |= {f"{name}_{part}" for name in ("GOOGLE", "GITHUB") for part in ("CLIENT_ID", "CLIENT_SECRET")}
    listed = set(re.findall(r"^#([A-Z_]+)=", (ROOT / ".env.example").read_text(), re.MULTILINE))
    assert listed == read


def start(**environment: str) -> subprocess.CompletedProcess[str]:
    clean = {"PATH": os.environ["PATH"], "DJANGO_SETTINGS_MODULE": "fixie_site.settings", **environment}
    command = [sys.executable, "-c", "from django.conf import settings; settings.DEBUG"]
    return subprocess.run(command, cwd=ROOT, env=clean, capture_output=True, text=True, check=False)


def test_production_starts_with_all_it_needs() -> None:
    assert start(**PRODUCTION).returncode == 0


@pytest.mark.parametrize("missing", PRODUCTION)
def test_production_refuses_to_start_without_its_secrets(missing: str) -> None:
    result = start(**{name: value for name, value in PRODUCTION.items() if name != missing})
    assert result.returncode != 0
    assert f"{missing} must be set" in result.stderr
