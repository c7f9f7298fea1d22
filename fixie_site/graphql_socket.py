"""GraphQL over a WebSocket, for subscriptions: the protocol graphql-transport-ws."""

from typing import Any

import orjson
from django.conf import settings
from strawberry import UNSET
from strawberry.channels import GraphQLWSConsumer
from strawberry.exceptions import ConnectionRejectionError
from strawberry.subscriptions import GRAPHQL_TRANSPORT_WS_PROTOCOL
from strawberry.subscriptions.protocols.graphql_transport_ws.handlers import BaseGraphQLTransportWSHandler

from accounts.auth import caller_of_socket, caller_with_key
from common.db import RETRYABLE
from common.errors import FixieError
from fixie_site.graphql import Connection, schema

CLOSE_TOO_LARGE = 1009


class Handler(BaseGraphQLTransportWSHandler[Connection, None]):
    """Closes with 4400 for what is no message of the protocol; strawberry trusts their types."""

    async def handle_message(self, message: Any) -> None:
        if _is_message(message):
            await super().handle_message(message)
        else:
            await self.handle_invalid_message("That is no message of graphql-transport-ws.")


def _is_message(message: object) -> bool:
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        return False
    if message["type"] == "subscribe":
        payload = message.get("payload")
        return isinstance(message.get("id"), str) and isinstance(payload, dict) and _is_request(payload)
    return message["type"] != "complete" or isinstance(message.get("id"), str)


def _is_request(payload: dict[str, Any]) -> bool:
    return (
        isinstance(payload.get("query"), str)
        and isinstance(payload.get("variables"), dict | None)
        and isinstance(payload.get("operationName"), str | None)
    )


class GraphQLSocket(GraphQLWSConsumer[Connection, None]):
    """Known by the header `Authorization`, the same in the payload of `connection_init`, or a page's cookie.

    Format: https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md
    """

    graphql_transport_ws_handler_class = Handler
    # What happens comes from the process's own hub, as in `sessions_app.consumers`.
    channel_layer_alias = "none"

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if text_data is not None and len(text_data) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            await self.close(CLOSE_TOO_LARGE)
            return
        await super().receive(text_data, bytes_data)

    async def get_context(self, request: Any, response: Any) -> Connection:
        return Connection(self.scope)

    async def on_ws_connect(self, context: Connection) -> Any:
        """Finds out who connects. Anybody else is closed with 4403, as the protocol says."""
        try:
            key = _bearer(context.connection_params or {})
            context.caller = await (caller_with_key(key) if key else caller_of_socket(context.scope))
        except (FixieError, *RETRYABLE):
            raise ConnectionRejectionError from None
        return UNSET

    def decode_json(self, data: str | bytes) -> object:
        return orjson.loads(data)

    def encode_json(self, data: object) -> str:
        return orjson.dumps(data, default=str).decode()


def _bearer(params: dict[str, Any]) -> str | None:
    """The key of `{"authorization": "Bearer KEY"}`, whatever the case of its letters."""
    value = next((each for name, each in params.items() if name.lower() == "authorization"), None)
    scheme, _, key = value.partition(" ") if isinstance(value, str) else ("", "", "")
    return key.strip() if scheme.lower() == "bearer" else None


socket: Any = GraphQLSocket.as_asgi(
    schema=schema,
    subscription_protocols=(GRAPHQL_TRANSPORT_WS_PROTOCOL,),
    allowed_origins=settings.CSRF_TRUSTED_ORIGINS,
)
