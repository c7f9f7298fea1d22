"""What tests of corpora share."""

from collections.abc import AsyncIterator, Iterator

import pytest

from registry.corpora.extraction import aclose_extraction
from tests.registry.corpora.websites import Website


@pytest.fixture(scope="session", autouse=True)
async def extraction() -> AsyncIterator[None]:
    """Ends the processes that extract, which tests share, after the last of them."""
    yield
    await aclose_extraction()


@pytest.fixture
def website() -> Iterator[Website]:
    with Website() as website:
        yield website
