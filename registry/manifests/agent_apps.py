"""AgentApps of AgentScope Runtime, as the published server 1.1.6 tells of itself at `GET /`.

{"service": "AgentScope Runtime", "endpoints": {"process": "/process", "health": "/health", …}, …}
"""

import re
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import orjson

from registry.transports.agentscope.asking import PROCESS, PROCESS_OPTION

# Below the address of the app, and nowhere else.
_PATH = re.compile(r"(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*){1,20}")
PATH_MAX = 200


def is_root(document: dict[str, Any]) -> bool:
    """Whether a document is what an AgentApp says of itself."""
    endpoints = document.get("endpoints")
    return isinstance(endpoints, dict) and isinstance(endpoints.get("process"), str)


def root_in(body: bytes) -> dict[str, Any] | None:
    """What an AgentApp says of itself in `body`; None where it is something else."""
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return document if isinstance(document, dict) and is_root(document) else None


def options_of(root: dict[str, Any]) -> dict[str, Any]:
    """The transport's options for the address of an app that says this of itself."""
    path = root["endpoints"]["process"] if root else ""
    return {PROCESS_OPTION: path} if len(path) <= PATH_MAX and _PATH.fullmatch(path) else {}


def root_of(url: str) -> str | None:
    """The root of the app that takes queries at `url`, where that may be such an address."""
    parts = urlsplit(url)
    if not parts.path.endswith(PROCESS):
        return None
    return urlunsplit(parts._replace(path=f"{parts.path.removesuffix(PROCESS)}/"))
