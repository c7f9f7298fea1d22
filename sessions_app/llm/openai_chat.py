"""Language models behind any server that speaks the OpenAI chat completions protocol."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx2
import openai
import structlog
from openai import AsyncStream
from openai.types.chat import ChatCompletionChunk

from common.errors import ModelUnavailable
from common.openai_client import OpenAIClients
from sessions_app.llm.base import LanguageModel, ModelOptions, Prompt, Usage
from sessions_app.llm.chat_prompt import STOP, messages

log = structlog.get_logger()

# A server that asks for a longer pause before the one retry is left alone. Seconds.
LONGEST_RETRY_AFTER = 20.0
DEFAULT_RETRY_AFTER = 1.0
# Servers differ in what they take: whatever of these one refuses is left out (or renamed) from then on.
OPTIONAL = ("stream_options", "stop", "temperature", "max_tokens", "max_completion_tokens")
RENAMED = {"max_tokens": "max_completion_tokens"}

Request = dict[str, Any]


class OpenAIChat(LanguageModel):
    """A model of one server. `timeout` is a whole completion's, in seconds.

    Has one HTTP client for each event loop, and keeps in mind which optional parameters a model refused.
    """

    def __init__(self, *, base_url: str, api_key: str, model: str, timeout: float) -> None:
        self._model = model
        self._timeout = timeout
        self._clients = OpenAIClients(base_url=base_url, api_key=api_key, timeout=timeout, retries=0)
        self._refused: dict[str, list[str]] = {}

    async def complete(self, prompt: Prompt, options: ModelOptions) -> AsyncGenerator[str | Usage]:
        """A completion that the server cut for its length is passed on as it is."""
        request = self._request(prompt, options)
        deadline = asyncio.get_running_loop().time() + self._timeout
        try:
            async with asyncio.timeout_at(deadline):
                stream = await self._open(request)
            try:
                async with aclosing(self._items(stream, deadline)) as items:
                    async for item in items:
                        yield item
            finally:
                await stream.close()
        except TimeoutError:
            raise self._too_slow() from None
        except (openai.OpenAIError, httpx2.HTTPError, ValueError) as error:
            raise self._unavailable(error, request["model"]) from None

    async def aclose(self) -> None:
        await self._clients.aclose()

    def _request(self, prompt: Prompt, options: ModelOptions) -> Request:
        request: Request = {
            "model": options.model or self._model,
            "messages": messages(prompt),
            "stream_options": {"include_usage": True},
            "stop": list(STOP),
            "temperature": options.temperature,
            "max_tokens": options.max_tokens,
        }
        for name in self._refused.get(request["model"], ()):
            _leave_out(request, name)
        return {name: value for name, value in request.items() if value is not None}

    async def _open(self, request: Request) -> AsyncStream[ChatCompletionChunk]:
        """Starts a completion: once more without what the server refuses, once more after 429 or 5xx."""
        has_retried = False
        refused: list[str] = []
        while True:
            try:
                stream = await self._clients.client().chat.completions.create(stream=True, **request)
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                name = _refused_parameter(error, request)
                if name is None:
                    raise
                refused.append(name)
                _leave_out(request, name)
            except (openai.RateLimitError, openai.InternalServerError) as error:
                delay = _retry_delay(error.response)
                if has_retried or delay is None:
                    raise
                has_retried = True
                log.warning("model_retry", status=error.status_code, delay=delay)
                await asyncio.sleep(delay)
            else:
                self._refused.setdefault(request["model"], []).extend(refused)
                return stream

    async def _items(self, stream: AsyncStream[ChatCompletionChunk], deadline: float) -> AsyncGenerator[str | Usage]:
        usage: Usage | None = None
        is_whole = False
        while True:
            async with asyncio.timeout_at(deadline):
                chunk = await anext(stream, None)
            if chunk is None:
                break
            text, ends, counted = _contents(chunk)
            usage, is_whole = counted or usage, is_whole or ends
            if text:
                yield text
        if not is_whole:
            raise ModelUnavailable("The language model broke off in the middle of its answer.")
        if usage is not None:
            yield usage

    def _too_slow(self) -> ModelUnavailable:
        return ModelUnavailable(
            f"The language model took longer than {self._timeout:g} seconds.", timeout=self._timeout
        )

    def _unavailable(self, error: Exception, model: str) -> ModelUnavailable:
        """A plain sentence. What the server said is left out: it may quote the prompt or the key."""
        log.warning("model_failed", error=type(error).__name__, status=getattr(error, "status_code", None))
        match error:
            case openai.APITimeoutError():
                return self._too_slow()
            case openai.APIStatusError():
                return _status_error(error.status_code, model)
            case openai.APIConnectionError() if error.__cause__ and _is_refusal(error.__cause__):
                return ModelUnavailable("The language model server cannot be reached.")
            case openai.APIError() | httpx2.HTTPError():
                return ModelUnavailable("The language model broke off in the middle of its answer.")
        return ModelUnavailable("The language model server sent something that is not an answer.")


def _is_refusal(error: BaseException) -> bool:
    return isinstance(error, httpx2.ConnectError | httpx2.UnsupportedProtocol)


def _status_error(status: int, model: str) -> ModelUnavailable:
    if status in (401, 403):
        text = "The language model server refused the site's key."
    elif status == 404:
        text = f"The language model server does not know the model {model}."
    elif status == 413:
        text = "The conversation is too long for the language model."
    elif status == 429:
        text = "The language model has too much to do right now. Please try again in a moment."
    elif status >= 500:
        text = f"The language model server has trouble of its own (HTTP {status})."
    else:
        text = f"The language model server refused the request (HTTP {status})."
    return ModelUnavailable(text, status=status)


def _retry_delay(response: httpx2.Response) -> float | None:
    """Seconds to wait before the one retry; None where the server asks for more than we wait."""
    asked = response.headers.get("retry-after", "")
    try:
        delay = float(asked)
    except ValueError:
        delay = _seconds_until(asked)
    return max(delay, 0.0) if delay <= LONGEST_RETRY_AFTER else None


def _seconds_until(http_date: str) -> float:
    try:
        return (parsedate_to_datetime(http_date) - datetime.now(UTC)).total_seconds()
    except (ValueError, TypeError):
        return DEFAULT_RETRY_AFTER


def _refused_parameter(error: openai.APIStatusError, request: Request) -> str | None:
    """The optional parameter of `request` that the server says it does not take."""
    if error.param in OPTIONAL and error.param in request:
        return error.param
    words = f"{error.message} {error.body}"
    return next((name for name in OPTIONAL if name in request and name in words), None)


def _leave_out(request: Request, name: str) -> None:
    value = request.pop(name, None)
    if value is not None and name in RENAMED:
        request[RENAMED[name]] = value


def _contents(chunk: ChatCompletionChunk) -> tuple[str, bool, Usage | None]:
    """Text, whether the completion ends here, and usage. The client checks no types: ValueError where they differ."""
    try:
        choices = list(chunk.choices or ())
        texts = [choice.delta.content or "" for choice in choices if choice.delta is not None]
        ends = any(choice.finish_reason is not None for choice in choices)
        usage = chunk.usage and Usage(int(chunk.usage.prompt_tokens or 0), int(chunk.usage.completion_tokens or 0))
        return "".join(texts), ends, usage or None
    except (AttributeError, TypeError):
        raise ValueError("not a chat completion chunk") from None
