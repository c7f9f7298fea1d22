"""The name of this process in leases: new with every start, so that a restarted process owns nothing of its past."""

from uuid import uuid4

PROCESS = uuid4()
