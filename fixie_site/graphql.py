"""The root of the GraphQL API: the schema, of a part from each app, and the one place where its errors get a face."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import strawberry
import structlog
from django.conf import settings
from graphql import DocumentNode, GraphQLError, get_operation_ast, parse, specified_rules
from strawberry.extensions import SchemaExtension
from strawberry.schema.schema import validate_document
from strawberry.types import ExecutionContext
from strawberry.types.graphql import OperationType

from accounts.auth import Caller
from accounts.graphql import Context
from accounts.graphql import Query as AccountsQuery
from common.db import RETRYABLE
from common.errors import FixieError, InvalidRequest, Unavailable
from fixie_site.graphql_limits import check_cost, check_shape
from registry.corrections.graphql import Mutation as CorrectionsMutation
from registry.corrections.graphql import Query as CorrectionsQuery
from registry.graphql import Query as RegistryQuery
from registry.graphql_changes import Mutation as RegistryMutation
from registry.routing.graphql import Query as RoutingQuery
from sessions_app.conversation_graphql import Mutation as ConversationMutation
from sessions_app.conversation_graphql import Query as ConversationQuery
from sessions_app.graphql import Mutation as SessionsMutation
from sessions_app.graphql import Query as SessionsQuery
from sessions_app.graphql_events import Subscription as SessionsSubscription

log = structlog.get_logger()

# Documents are remembered: so many, up to this length each.
DOCUMENTS = 200
DOCUMENT_LENGTH = 10_000


@strawberry.type
class Query(AccountsQuery, RegistryQuery, RoutingQuery, CorrectionsQuery, SessionsQuery, ConversationQuery):
    pass


@strawberry.type
class Mutation(RegistryMutation, CorrectionsMutation, SessionsMutation, ConversationMutation):
    pass


@strawberry.type
class Subscription(SessionsSubscription):
    pass


@dataclass(slots=True)
class Connection:
    """A socket on which operations arrive, one `Context` each."""

    scope: dict[str, Any]
    connection_params: dict[str, Any] | None = None
    caller: Caller | None = None


class Operation(SchemaExtension):
    """The way of every operation: what comes from a client is parsed and validated once, and bounded."""

    checked: "Checked | None"
    over_socket = False

    def on_operation(self) -> Iterator[None]:
        operation = self.execution_context
        operation.parse_options["max_tokens"] = settings.GRAPHQL_MAX_TOKENS
        if isinstance(operation.context, Connection):
            # Nothing that was loaded for one operation serves the next: the key may have been revoked meanwhile.
            assert operation.context.caller is not None
            operation.context = Context(operation.context.caller)
            self.over_socket = True
        yield

    def on_parse(self) -> Iterator[None]:
        # What cannot be parsed is left to strawberry, which parses again and answers with the error.
        self.checked = _checked(self.execution_context.query or "")
        if self.checked is not None:
            self.execution_context.graphql_document = self.checked.document
        yield

    def on_validate(self) -> Iterator[None]:
        assert self.checked is not None
        operation = self.execution_context
        operation.pre_execution_errors = self.checked.errors
        if operation.operation_type is OperationType.SUBSCRIPTION and not self.over_socket:
            operation.pre_execution_errors = [GraphQLError("A subscription needs a WebSocket: graphql-transport-ws.")]
        yield

    def on_execute(self) -> Iterator[None]:
        operation = self.execution_context
        assert operation.graphql_document is not None
        node = get_operation_ast(operation.graphql_document, operation.operation_name)
        assert node is not None
        check_cost(schema._schema, operation.graphql_document, node, operation.variables or {})
        yield


@dataclass(frozen=True, slots=True)
class Checked:
    document: DocumentNode
    errors: list[GraphQLError]


def _checked(text: str) -> Checked | None:
    return (_remembered if len(text) <= DOCUMENT_LENGTH else _check)(text)


def _check(text: str) -> Checked | None:
    """A document and what is wrong with it. None where it is no document."""
    try:
        document = parse(text, max_tokens=settings.GRAPHQL_MAX_TOKENS)
    except (GraphQLError, RecursionError):
        return None
    try:
        check_shape(document)
    except InvalidRequest as error:
        return Checked(document, [GraphQLError(error.message, original_error=error)])
    return Checked(document, validate_document(schema._schema, document, tuple(specified_rules)))


_remembered = lru_cache(DOCUMENTS)(_check)


class Schema(strawberry.Schema):
    def process_errors(self, errors: list[GraphQLError], execution_context: ExecutionContext | None = None) -> None:
        """Gives every error that goes to a client the message and the `extensions` of a FixieError."""
        for error in errors:
            public = _public(error)
            error.message = public.message
            error.extensions = extensions_of(public)


def extensions_of(error: FixieError) -> dict[str, Any]:
    return {name: value for name, value in error.as_dict().items() if name != "message"}


def _public(error: GraphQLError) -> FixieError:
    cause = error.original_error
    # A value of the wrong type is wrapped in several layers.
    while isinstance(cause, GraphQLError):
        cause = cause.original_error
    if isinstance(cause, FixieError):
        return cause
    if cause is None:
        return InvalidRequest(error.message)
    if isinstance(cause, RecursionError):
        return InvalidRequest("The query is nested too deeply.", field="query")
    if isinstance(cause, RETRYABLE):
        log.warning("database_away", path="/graphql", error=type(cause).__name__)
        return Unavailable("The database is away for a moment. Please try again.")
    log.error("unhandled_error", path="/graphql", exc_info=cause)
    return FixieError("Something went wrong on our side; it has been logged.")


schema = Schema(query=Query, mutation=Mutation, subscription=Subscription, extensions=[Operation])
