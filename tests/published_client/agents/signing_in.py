"""A Code Shot agent that signs its users in to another service."""

import os

import fixieai

SERVICE = os.environ["SERVICE"]
PARAMS = fixieai.OAuthParams("our-id", "our-secret", f"{SERVICE}/authorize", f"{SERVICE}/token", ["read", "write"])
FEW_SHOTS = """
Q: What is my token?
Ask Func[token]: my token
Func[token] says: It is abc.
A: It is abc.
"""

agent = fixieai.CodeShotAgent("I sign people in.", FEW_SHOTS, oauth_params=PARAMS)


@agent.register_func
def token(query: fixieai.Message, oauth_handler: fixieai.OAuthHandler) -> str:
    found = oauth_handler.user_token()
    return f"It is {found}." if found else f"Sign in at {oauth_handler.get_authorization_url()}"
