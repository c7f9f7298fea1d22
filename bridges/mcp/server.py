"""The MCP server: which tools a caller has, and what each of them does."""

from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
import structlog
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError

from bridges.mcp import tools
from bridges.mcp.agents import agent_of_tool, agent_page, published_agents
from bridges.mcp.arguments import Delegation, Listing, Prompted, StatusOf, check_place
from bridges.mcp.choosing import agents_for
from bridges.mcp.delegation import Delegated, delegate
from bridges.mcp.errors import rpc_error
from bridges.mcp.exchange import KEY, Exchange, given_up_by
from bridges.mcp.results import said
from bridges.mcp.status import overview, task_of
from common.db import RETRYABLE, run_db
from common.errors import FixieError, InvalidRequest, Unavailable

NAME = "fixie"
VERSION = "1"
# Agents whose tools stand on one page of the list.
PAGE = 100

Context = ServerRequestContext[Any, Any]
Tool = Callable[[dict[str, Any] | None, Exchange, Context], Awaitable[types.CallToolResult]]

log = structlog.get_logger()


def mcp_server() -> Server[Any]:
    """A server that knows its callers by the `Exchange` in the ASGI scope of their requests."""
    server: Server[Any] = Server(
        NAME,
        version=VERSION,
        title="Fixie",
        instructions=tools.INSTRUCTIONS,
        on_list_tools=_list_tools,
        on_call_tool=_call_tool,
        get_tool_input_schema=lambda name: None,  # no argument travels in a header
    )
    server.add_notification_handler("notifications/cancelled", types.CancelledNotificationParams, _cancel)
    return server


async def _list_tools(context: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    """The site's own tools, then those of agents, page by page."""
    after = (params.cursor if params else None) or ""
    try:
        check_place(after, field="cursor")
        agents, following = await run_db(published_agents, _exchange(context).user, after=after, limit=PAGE)
    except FixieError as error:
        raise rpc_error(error) from error
    own = [] if after else tools.OWN_TOOLS
    return types.ListToolsResult(tools=[*own, *tools.tools_of(agents)], next_cursor=following)


async def _call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    exchange = _exchange(context)
    with exchange.at_work(context.request_id):
        try:
            return await _tool(params.name)(params.arguments, exchange, context)
        except FixieError as error:
            raise rpc_error(error) from error
        except RETRYABLE as error:
            log.warning("database_away", tool=params.name, error=type(error).__name__)
            raise rpc_error(Unavailable("The database is away for a moment. Please try again.")) from error
        except MCPError:
            raise
        except Exception as error:
            log.exception("unhandled_error", tool=params.name)
            raise rpc_error(FixieError("Something went wrong on our side; it has been logged.")) from error


async def _cancel(context: Context, params: types.CancelledNotificationParams) -> None:
    """Stops what works for an earlier request of the same client."""
    if params.request_id is not None:
        given_up_by(_exchange(context), params.request_id)


def _exchange(context: Context) -> Exchange:
    assert context.request is not None
    exchange: Exchange = context.request.scope[KEY]
    return exchange


def _tool(name: str) -> Tool:
    """Raises InvalidRequest where there is no such tool."""
    if name in _OWN:
        return _OWN[name]
    agent = agent_of_tool(name)
    if agent is None:
        raise InvalidRequest(f"There is no tool {name[:100]}.", field="name")

    async def ask_agent(arguments: dict[str, Any] | None, exchange: Exchange, context: Context) -> types.CallToolResult:
        work = Delegated(["/".join(agent)], Prompted.read(arguments), {})
        return await delegate(work, exchange, context.session.report_progress)

    return ask_agent


async def _delegate_task(
    arguments: dict[str, Any] | None, exchange: Exchange, context: Context
) -> types.CallToolResult:
    task = Delegation.read(arguments)
    work = Delegated(await agents_for(task, exchange), task, task.context or {}, task.background)
    return await delegate(work, exchange, context.session.report_progress)


async def _agent_status(arguments: dict[str, Any] | None, exchange: Exchange, _: Context) -> types.CallToolResult:
    asked = StatusOf.read(arguments)
    if asked.task_id is None:
        whole = await run_db(overview, exchange.user)
        return said(f"{len(whole.tasks)} tasks, {len(whole.agents)} agents.", whole)
    task = await run_db(task_of, exchange.user, asked.task_id)
    return said(task.result or f"{task.agent_id}: {task.status}", task)


async def _list_agents(arguments: dict[str, Any] | None, exchange: Exchange, _: Context) -> types.CallToolResult:
    asked = Listing.read(arguments)
    page = await run_db(agent_page, exchange.user, query=asked.query, after=asked.after, limit=asked.limit)
    return said("\n".join(f"{agent.agent_id}: {agent.name}" for agent in page.agents) or "No agents.", page)


_OWN: dict[str, Tool] = {
    tools.DELEGATE_TASK.name: _delegate_task,
    tools.AGENT_STATUS.name: _agent_status,
    tools.LIST_AGENTS.name: _list_agents,
}
