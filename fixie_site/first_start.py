"""What a newcomer's site has after its first start: an administrator `demo`, their key, and the agents inside."""

import secrets
from dataclasses import dataclass

from django.conf import settings

from accounts.actions import create_api_key
from accounts.models import ApiKey, User
from fixie_site.local_secrets import kept
from registry.bootstrap import ensure_front_agent, ensure_internal_agent, ensure_organization

USERNAME = "demo"


@dataclass(frozen=True, slots=True)
class Demo:
    user_id: int
    username: str
    password: str
    api_key: str


def prepare() -> Demo:
    """Makes whatever is missing; a second start finds everything there and changes nothing."""
    password = kept(settings.VAR / "demo-password", secrets.token_urlsafe(9))
    user = User.objects.filter(username=USERNAME).first() or User.objects.create_superuser(
        USERNAME, f"{USERNAME}@localhost", password
    )
    ensure_organization(handle="fixie", name="Fixie", member=user)
    ensure_front_agent()
    ensure_internal_agent(
        owner_handle="fixie",
        handle="echo",
        name="Echo",
        description="Answers with your own words.",
        target="echo",
    )
    return Demo(user.pk, USERNAME, password, _api_key(user))


def _api_key(user: User) -> str:
    """The key kept under `$VAR`; a new one where it is lost or revoked."""
    path = settings.VAR / "demo-api-key"
    if path.exists() and ApiKey.objects.filter(user=user, name="make run", revoked=None).exists():
        return path.read_text().strip()
    path.unlink(missing_ok=True)
    return kept(path, create_api_key(user=user, name="make run").token)
