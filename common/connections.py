"""Connections to the very addresses that were checked, and what happens on them."""

import ssl
from collections.abc import Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import httpcore2
from django.conf import settings

from common.addresses import resolve

# How long the first of several addresses may keep silent before the next one is tried.
CONNECT_SECONDS = 3.0


@dataclass(slots=True)
class Exchange:
    """What happened on the wire while one request waited for its answer's head."""

    connected: bool = False
    answered: bool = False


current_exchange: ContextVar[Exchange] = ContextVar("current_exchange")


class _WatchedStream(httpcore2.AsyncNetworkStream):
    """A connection that notes when the first byte of an answer arrives."""

    def __init__(self, stream: httpcore2.AsyncNetworkStream) -> None:
        self._stream = stream

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        data = await self._stream.read(max_bytes, timeout)
        exchange = current_exchange.get(None)
        if data and exchange is not None:
            exchange.answered = True
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        return _WatchedStream(await self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class PinnedBackend(httpcore2.AsyncNetworkBackend):
    """Opens connections to the addresses it has just checked, so that a name cannot move in between.

    Connections are pooled, and TLS is verified, by name: that is settled above this class.
    """

    def __init__(self, allow_private: bool | None) -> None:
        self._allow_private = allow_private
        self._sockets = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        current_exchange.get().connected = True
        allowed = settings.AGENT_URL_ALLOW_PRIVATE if self._allow_private is None else self._allow_private
        *others, last = await resolve(host, port, allow_private=allowed)
        for address in others:
            try:
                return _WatchedStream(await self._sockets.connect_tcp(address, port, CONNECT_SECONDS))
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue
        return _WatchedStream(await self._sockets.connect_tcp(last, port, timeout))
