"""What a tool gives back: words for the model, and the same as a document."""

from typing import Any

import mcp_types as types

from bridges.mcp.outputs import Output, Task
from sessions_app.frames import Frame


def answered(task: Task) -> types.CallToolResult:
    """A task that is done: the agent's own words, and a link to each of its embeds."""
    words = types.TextContent(text=task.result or "")
    return types.CallToolResult(content=[words, *_links(task.embeds or {})], structured_content=task.document())


def accepted(task: Task) -> types.CallToolResult:
    """A task that goes on in the background."""
    words = f"{task.agent_id} works on the task {task.task_id}. agent_status with this task_id tells what came of it."
    return said(words, task)


def said(words: str, output: Output) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=words)], structured_content=output.document())


def _links(embeds: dict[str, Frame]) -> list[types.ContentBlock]:
    return [_link(key, embed) for key, embed in embeds.items()]


def _link(key: str, embed: dict[str, Any]) -> types.ResourceLink:
    """A signed address, which needs no key and expires."""
    return types.ResourceLink(name=f"#{key}", uri=embed["uri"], mime_type=embed["content_type"], size=embed["size"])
