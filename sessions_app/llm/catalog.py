"""Which language model this site uses: the configured server's, or the follower where none is configured."""

from functools import cache

from django.conf import settings

from sessions_app.llm.base import LanguageModel
from sessions_app.llm.follower import Follower

_follower = Follower()


def language_model() -> LanguageModel:
    """The one shared instance for the present settings."""
    if not settings.LLM_BASE_URL:
        return _follower
    return _chat(settings.LLM_BASE_URL, settings.LLM_API_KEY, settings.LLM_MODEL, settings.LLM_TIMEOUT)


@cache
def _chat(base_url: str, api_key: str, model: str, timeout: float) -> LanguageModel:
    # The client library costs 0.7 s and 29 MB, which a site that follows few-shots need not pay.
    from sessions_app.llm.openai_chat import OpenAIChat

    return OpenAIChat(base_url=base_url, api_key=api_key, model=model, timeout=timeout)


async def close_language_model() -> None:
    """Lets go of this event loop's connections to the model server."""
    await language_model().aclose()
