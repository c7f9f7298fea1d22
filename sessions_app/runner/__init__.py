"""Executing runs: `execute` from a lease to an ending, `code_shot` the loop, `live` what followers see meanwhile.

`process` and `heartbeat` are the life of a process that holds runs. Nothing here is the only copy of anything: a run
that loses its process goes on in another one from its stored steps.
"""
