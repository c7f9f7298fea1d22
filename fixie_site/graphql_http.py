"""GraphQL over HTTP, and GraphiQL for the site's staff at the same address."""

from typing import Any, cast

import orjson
import structlog
from cross_web import AsyncHTTPRequestAdapter, HTTPException
from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.http import HttpRequest, HttpResponse
from django.http.multipartparser import MultiPartParserError
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt
from strawberry.django.views import AsyncGraphQLView, TemporalHttpResponse
from strawberry.http import GraphQLHTTPResponse, GraphQLRequestData

from accounts.auth import caller_of
from accounts.graphql import Context
from common.db import RETRYABLE, run_db
from common.errors import FixieError, InvalidRequest, NotFound, PayloadTooLarge, Unauthenticated, Unavailable
from fixie_site.answers import error_response
from fixie_site.graphql import extensions_of, schema

log = structlog.get_logger()


class GraphQL(AsyncGraphQLView[Context, None]):
    """What is wrong with a request as a whole is told in the shape of its errors, with the status of REST."""

    async def dispatch(  # type: ignore[override]  # Django types no async views
        self, request: HttpRequest, *args: Any, **kwargs: Any
    ) -> HttpResponseBase:
        try:
            if request.method not in ("GET", "POST"):
                return refusal(InvalidRequest(f"{request.method} is not possible here, only GET, POST."), status=405)
            if _wants_page(request):
                return await graphiql(request)
            return await self.run(request=request)
        except FixieError as error:
            return refusal(error)
        except HTTPException as error:
            return refusal(InvalidRequest(f"{error.reason.rstrip('.')}."), status=error.status_code)
        except RequestDataTooBig:
            limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
            return refusal(PayloadTooLarge(f"A body without files may have {limit} bytes.", field="body", limit=limit))
        except (MultiPartParserError, SuspiciousOperation):
            return refusal(InvalidRequest("The body is not multipart/form-data as its header says.", field="body"))
        except RETRYABLE as error:
            log.warning("database_away", path=request.path, error=type(error).__name__)
            return refusal(Unavailable("The database is away for a moment. Please try again."))

    async def get_context(self, request: HttpRequest, response: Any) -> Context:
        return Context(await caller_of(request))

    async def parse_http_body(self, request: AsyncHTTPRequestAdapter) -> GraphQLRequestData | list[GraphQLRequestData]:
        try:
            return await super().parse_http_body(request)
        except (AttributeError, LookupError, TypeError, ValueError):
            # Well-formed JSON, but no request; or a map of files that leads nowhere.
            raise InvalidRequest("The body is no GraphQL request: {query, variables}.", field="body") from None

    def decode_json(self, data: str | bytes) -> object:
        return orjson.loads(data)

    def encode_json(self, data: object) -> bytes:
        return orjson.dumps(data, default=str)

    def create_response(
        self,
        response_data: GraphQLHTTPResponse | list[GraphQLHTTPResponse],
        sub_response: TemporalHttpResponse | HttpResponse,
    ) -> HttpResponseBase:
        response = HttpResponse(self.encode_json(response_data), content_type="application/json")
        errors = cast(GraphQLHTTPResponse, response_data).get("errors") or []
        if any(cast(Any, error)["extensions"]["code"] == Unauthenticated.code for error in errors):
            # A key is found to be revoked only where its user is loaded.
            response.status_code = Unauthenticated.http_status
            response.headers["WWW-Authenticate"] = "Bearer"
        return response


def refusal(error: FixieError, *, status: int | None = None) -> HttpResponse:
    """The answer to a request that is not executed; clients of GraphQL show `errors[0].message`."""
    response = error_response(error)
    problem = {"message": error.message, "extensions": extensions_of(error)}
    response.content = orjson.dumps({"data": None, "errors": [problem]}, default=str)
    if status is not None:
        response.status_code = status
    if status == 405:
        response.headers["Allow"] = "GET, POST"
    return response


def _wants_page(request: HttpRequest) -> bool:
    return request.method == "GET" and "query" not in request.GET and "text/html" in request.headers.get("Accept", "")


async def graphiql(request: HttpRequest) -> HttpResponse:
    """The page to try queries on. Raises NotFound for who is not of the staff."""
    user = await request.auser() if hasattr(request, "auser") else None
    if user is None or not user.is_authenticated:
        return redirect_to_login(request.get_full_path())
    if not user.is_staff:
        raise NotFound("There is no page here; programs send their queries to this address with POST.")
    return await run_db(render, request, "graphql/graphiql.html")


# `caller_of` checks the CSRF token of a browser, and answers in GraphQL's own shape.
graphql = csrf_exempt(
    GraphQL.as_view(schema=schema, multipart_uploads_enabled=True, subscription_protocols=(), graphql_ide=None)
)
