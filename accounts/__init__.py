"""Who is asking, and what they may still ask today.

`auth` makes a `Caller` of a key or a cookie; `keyring`, `keys` and `tokens` are this site's signatures; `adapter` is
sign-up. Knows nothing of agents and sessions: usage names an agent by a number.
"""
