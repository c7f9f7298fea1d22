"""Agents that are programs on this machine, asked in JSON-RPC 2.0 over stdin and stdout (seed `stdio-json-rpc-agents`).

`options` says what is run and within which limits, `spawn` runs it in a process of its own that ends whatever comes of
it, `process` is one running program, `pool` all of an agent's, `documents` what is said over the pipes, `talk` one call
to one of them, `transport` the call that picks it. docs/stdio-agents.md is for those who write such programs.
"""
