"""Pages of accounts: API keys, letting a program in, and the key set that agents read."""

from accounts.views.api_keys import api_keys, revoke_api_key
from accounts.views.authorization import authorize, token
from accounts.views.key_set import jwks

__all__ = ["api_keys", "authorize", "jwks", "revoke_api_key", "token"]
