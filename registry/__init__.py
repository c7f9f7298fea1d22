"""Which agents there are, what they say of themselves, and how to reach them.

`reading` fetches a manifest, `manifests` checks it, `actions` stores it, and `specs` is what a run needs of it, without
a query in the way. Reaching an agent is `registry.transports`.
"""
