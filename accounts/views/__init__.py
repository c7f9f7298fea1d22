"""Pages of accounts: profile, API keys, organizations, letting a program in, and the key set that agents read."""

from accounts.views.api_keys import api_keys, revoke_api_key
from accounts.views.authorization import authorize, token
from accounts.views.key_set import jwks
from accounts.views.organizations import delete_organization, organization, organizations, remove_member, set_member
from accounts.views.profile import account

__all__ = [
    "account",
    "api_keys",
    "authorize",
    "delete_organization",
    "jwks",
    "organization",
    "organizations",
    "remove_member",
    "revoke_api_key",
    "set_member",
    "token",
]
