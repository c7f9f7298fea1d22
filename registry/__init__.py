"""Which agents there are, what they say of themselves, and how to reach them.

`manifests` reads and checks what an agent says, `actions` stores it, and `specs` is what a run needs of it, without a
query in the way. Reaching an agent is `registry.transports`; finding one for a query is `registry.routing`.
"""
