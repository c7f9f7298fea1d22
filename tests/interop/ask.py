"""Asks by the published client of the Agent API: prints each event as a line of JSON."""

import sys

from agentscope_runtime.engine.helpers.agent_api_client import HTTPAgentAPIClient
from agentscope_runtime.engine.schemas.agent_schemas import AgentRequest, Message, TextContent

endpoint, token, text = sys.argv[1:]
message = Message(role="user", content=[TextContent(text=text)])
for event in HTTPAgentAPIClient(endpoint, token=token).stream(AgentRequest(input=[message])):
    print(event.model_dump_json(exclude_none=True), flush=True)
