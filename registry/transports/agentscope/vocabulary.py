"""The words of the Agent API protocol: its roles, message types, content types and statuses.

Names and values are those of the protocol's specification; `mcp_call_output` and `video` are what the published
`agentscope-runtime` adds. They are strings on the wire, and others than these may come.
"""

from enum import StrEnum


class Role(StrEnum):
    ASSISTANT = "assistant"
    USER = "user"
    SYSTEM = "system"
    TOOL = "tool"


class MessageType(StrEnum):
    MESSAGE = "message"
    FUNCTION_CALL = "function_call"
    FUNCTION_CALL_OUTPUT = "function_call_output"
    PLUGIN_CALL = "plugin_call"
    PLUGIN_CALL_OUTPUT = "plugin_call_output"
    COMPONENT_CALL = "component_call"
    COMPONENT_CALL_OUTPUT = "component_call_output"
    MCP_LIST_TOOLS = "mcp_list_tools"
    MCP_APPROVAL_REQUEST = "mcp_approval_request"
    MCP_TOOL_CALL = "mcp_call"
    MCP_TOOL_CALL_OUTPUT = "mcp_call_output"
    MCP_APPROVAL_RESPONSE = "mcp_approval_response"
    REASONING = "reasoning"
    HEARTBEAT = "heartbeat"
    ERROR = "error"


class ContentType(StrEnum):
    TEXT = "text"
    IMAGE = "image"
    DATA = "data"
    AUDIO = "audio"
    VIDEO = "video"
    FILE = "file"
    REFUSAL = "refusal"


class RunStatus(StrEnum):
    Created = "created"
    InProgress = "in_progress"
    Completed = "completed"
    Canceled = "canceled"
    Failed = "failed"
    Rejected = "rejected"
    Unknown = "unknown"
    Queued = "queued"
    Incomplete = "incomplete"
