"""Everybody who might want what an agent keeps about a user, each with what they have to show for it."""

from collections.abc import Callable
from contextlib import ExitStack

import httpx2
import jwt
from django.conf import settings
from django.test import Client

from accounts.actions import create_api_key, revoke_api_key
from accounts.keyring import keyring
from accounts.models import Organization, User
from accounts.organizations import save_organization
from registry.actions import create_agent
from tests.sites import Site
from tests.storage_kv.memories import Memory, call_token, memory


class World:
    """A private agent of an organization that keeps the text `kept` under `key` about a user, and all the others."""

    def __init__(self, site: Site, make_user: Callable[..., User], stack: ExitStack) -> None:
        self.site, self.stack, self.make_user = site, stack, make_user
        self.user, self.owner, teammate, outsider = (make_user() for _ in range(4))
        self.agent = self._agent_of_two(self.owner, teammate)
        self.storage = memory(site, self.agent, self.user)
        self.storage.set("key", "kept")
        self.people = {"the agent's owner": self.owner, "the owner's teammate": teammate, "an outsider": outsider}

    def _agent_of_two(self, owner: User, teammate: User) -> str:
        handle = f"org-{owner.username[5:]}"
        organization = save_organization(organization=Organization(name="Org"), handle=handle)
        organization.members.add(owner, through_defaults={"role": "admin"})
        organization.members.add(teammate)
        return create_agent(by=owner, owner=handle, handle="keeper").agent_id

    def as_(self, who: str) -> Memory:
        token = self._tokens(who)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        if who == "the user's browser":
            headers = {"Cookie": self._cookie()}
        http = httpx2.Client(base_url=self.site.url, headers=headers, timeout=30)
        return Memory(self.agent, self.stack.enter_context(http))

    def _tokens(self, who: str) -> str | None:
        if who in self.people:
            return create_api_key(user=self.people[who], name="test").token
        makers: dict[str, Callable[[], str]] = {
            "the agent": lambda: call_token(self.agent, self.user),
            "another agent": lambda: call_token(create_agent(by=self.owner, handle="other").agent_id, self.user),
            "the agent, for somebody else": lambda: call_token(self.agent, self.make_user()),
            "the user": lambda: create_api_key(user=self.user, name="test").token,
            "expired": lambda: call_token(self.agent, self.user, lifetime=-5),
            "anonymous agent": self._anonymous,
            "revoked key": self._revoked,
            "inactive user's agent": lambda: call_token(self.agent, self._gone()),
            "inactive user": self._inactive_key,
            "tampered": lambda: call_token(self.agent, self.user)[:-8] + "AAAAAAAA",
        }
        return makers[who]() if who in makers else None

    def _anonymous(self) -> str:
        signer = keyring.current().signer
        claims = jwt.decode(call_token(self.agent, self.user), options={"verify_signature": False})
        return jwt.encode(
            {name: value for name, value in claims.items() if name != "sub"},
            signer.private_key,
            "EdDSA",
            headers={"kid": signer.kid},
        )

    def _revoked(self) -> str:
        new = create_api_key(user=self.user, name="test")
        revoke_api_key(key=new.key, by=self.user)
        return new.token

    def _gone(self) -> User:
        gone = self.make_user()
        User.objects.filter(pk=gone.pk).update(is_active=False)
        return gone

    def _inactive_key(self) -> str:
        gone = self.make_user()
        token = create_api_key(user=gone, name="test").token
        User.objects.filter(pk=gone.pk).update(is_active=False)
        return token

    def _cookie(self) -> str:
        browser = Client()
        browser.force_login(self.user, "django.contrib.auth.backends.ModelBackend")
        name = settings.SESSION_COOKIE_NAME
        return f"{name}={browser.cookies[name].value}"
