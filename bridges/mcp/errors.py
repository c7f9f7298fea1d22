"""Our errors as MCP tells them: JSON-RPC errors, and results of tools that failed.

The codes are those of the seed `stdio-json-rpc-agents` and its delegation: what keeps an agent from being asked is a
JSON-RPC error, what an agent says of its own failure is the tool's result.
"""

from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from common.errors import (
    AgentFailed,
    AgentInvalidResponse,
    AgentSwitchedOff,
    AgentTimeout,
    AgentUnreachable,
    Canceled,
    FixieError,
    ModelUnavailable,
    NotFound,
    RateLimited,
    SessionBusy,
    Unavailable,
)

RATE_LIMITED = -32000
AGENT_NOT_FOUND = -32001
UNAVAILABLE = -32002

_UNAVAILABLE = (AgentUnreachable, AgentTimeout, AgentSwitchedOff, ModelUnavailable, Unavailable, SessionBusy)
_FAILURES = (AgentFailed, AgentInvalidResponse, Canceled)


def result_of(error: FixieError, task: dict[str, Any]) -> types.CallToolResult:
    """The result of a tool whose agent was asked and failed; `task` says what is known of it.

    Raises MCPError for any other error.
    """
    if not isinstance(error, _FAILURES):
        raise rpc_error(error) from error
    status = "canceled" if isinstance(error, Canceled) else "failed"
    return types.CallToolResult(
        content=[types.TextContent(text=error.message)],
        structured_content={**task, "status": status, "error": error.as_dict()},
        is_error=True,
    )


def rpc_error(error: FixieError) -> MCPError:
    """The JSON-RPC error. Its `data` is ours, with `retry_after` (seconds) where that is known."""
    data = error.as_dict()
    if "retry_after" in error.details:
        data["retry_after"] = error.details["retry_after"]
    return MCPError(_code_of(error), error.message, data)


def _code_of(error: FixieError) -> int:
    if isinstance(error, RateLimited):
        return RATE_LIMITED
    if isinstance(error, NotFound) and error.details.get("field") in ("agent", "agent_id"):
        return AGENT_NOT_FOUND
    if isinstance(error, _UNAVAILABLE):
        return UNAVAILABLE
    return types.INVALID_PARAMS if error.http_status < 500 else types.INTERNAL_ERROR
