"""Which transports there are. docs/recipes/add-a-transport.md says how to add one."""

from common.errors import AgentUnreachable
from registry.transports.agentscope.transport import AgentScopeTransport
from registry.transports.base import Transport
from registry.transports.code_shot import CodeShotTransport
from registry.transports.internal import InternalTransport
from registry.transports.query_http import QueryHttpTransport
from registry.transports.stdio_jsonrpc.transport import StdioJsonRpcTransport

TRANSPORTS: dict[str, type[Transport]] = {
    transport.kind: transport
    for transport in (
        AgentScopeTransport,
        CodeShotTransport,
        InternalTransport,
        QueryHttpTransport,
        StdioJsonRpcTransport,
    )
}

_instances: dict[str, Transport] = {}


def transport(kind: str) -> Transport:
    """The transport of a kind, made on first use and shared. Raises AgentUnreachable for a kind unknown here."""
    found = _instances.get(kind)
    if found is None:
        if kind not in TRANSPORTS:
            raise AgentUnreachable(f"This site cannot speak to agents by {kind or 'an unnamed transport'}.")
        found = _instances[kind] = TRANSPORTS[kind]()
    return found


async def aclose_all() -> None:
    """Closes what the transports hold open on this event loop; the next call opens it again."""
    for instance in _instances.values():
        await instance.aclose()
