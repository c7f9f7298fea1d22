"""What tests of corpora share."""

from collections.abc import AsyncIterator, Iterator

import pytest
from django.test import override_settings

from registry.corpora.extraction import aclose_extraction
from tests.registry.corpora.websites import Website


@pytest.fixture(scope="session", autouse=True)
async def extraction() -> AsyncIterator[None]:
    """Ends the processes that extract, which tests share, after the last of them."""
    yield
    await aclose_extraction()


@pytest.fixture(autouse=True)
def as_many_readers_as_there_are() -> Iterator[None]:
    """What a site on the same database reads for another test keeps nobody here waiting."""
    with override_settings(CORPUS_READERS=1000):
        yield


@pytest.fixture
def website() -> Iterator[Website]:
    with Website() as website:
        yield website
