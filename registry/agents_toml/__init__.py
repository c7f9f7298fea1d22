"""Agents that are programs, and the rules that lead to them, as a TOML file (the seed `stdio-json-rpc-agents`)."""
