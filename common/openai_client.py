"""Clients of servers that speak OpenAI's protocols, for language models and for embeddings."""

import asyncio
from weakref import WeakKeyDictionary

import httpx2
from openai import AsyncOpenAI

CONNECT_TIMEOUT = 10.0


class OpenAIClients:
    """One client for each event loop. `timeout` is a whole request's, in seconds."""

    def __init__(self, *, base_url: str, api_key: str, timeout: float, retries: int) -> None:
        self._base_url = base_url
        self._api_key = api_key
        self._timeout = timeout
        self._retries = retries
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncOpenAI] = WeakKeyDictionary()

    def client(self) -> AsyncOpenAI:
        """That of the running event loop."""
        loop = asyncio.get_running_loop()
        found = self._clients.get(loop)
        if found is None:
            found = self._clients[loop] = AsyncOpenAI(
                base_url=self._base_url,
                # Servers at home often want no key, while the client insists on one.
                api_key=self._api_key or "none",
                timeout=httpx2.Timeout(self._timeout, connect=min(CONNECT_TIMEOUT, self._timeout)),
                max_retries=self._retries,
            )
        return found

    async def aclose(self) -> None:
        """Lets go of the running event loop's connections."""
        found = self._clients.pop(asyncio.get_running_loop(), None)
        if found is not None:
            await found.close()
