"""How somebody else's client speaks to the platform: other protocols into our agents, sessions and models.

A folder a protocol. Each finds out who calls, loads what it needs through the apps below, and calls their actions;
nothing below knows that it is there.
"""
