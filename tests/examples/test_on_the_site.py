"""The samples on a real site: registered, asked, answered, with the site's own tokens and key set."""

import json
import re
import time
import urllib.request
from typing import Any

import pytest

from examples.agents import SAMPLES

ASKED = {
    "dice": ("Roll 4d20", r"\d+ \d+ \d+ \d+"),
    "calculator": ("What is 15% of 200?", "30"),
    "units": ("How far is 10 km in miles?", "10 kilometers = 6.21371 miles"),
    "textstats": ("Count the words in: to be or not to be", "6 words"),
    "almanac": ("Is 2028 a leap year?", "Yes, 2028 is a leap year. It has a 29 February, a Tuesday."),
}
# Of documents: they are embedded too, which a busy machine takes a while for.
READING_SECONDS = 60.0


def posted(url: str, key: str, document: object) -> Any:
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    request = urllib.request.Request(url, json.dumps(document).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


@pytest.fixture
def asker(site: Any, make_user: Any, api_key: Any) -> tuple[str, str]:
    user = make_user()
    return user.username, api_key(user)


def test_every_sample_answers_on_the_site(site: Any, asker: tuple[str, str], run_agent: Any) -> None:
    owner, key = asker
    arguments = ("--port", "0", "--fixie", site.url, "--owner", owner, "--until-stdin-closes")
    with run_agent("-m", "examples.agents", *arguments) as (_, port):
        for handle, name, description in SAMPLES:
            agent = {"handle": handle, "name": name, "description": description}
            url = f"http://127.0.0.1:{port}/{handle}"
            registered = posted(f"{site.url}/api/agents", key, {**agent, "deployment_url": url})
            assert registered["revision"]["error"] == ""
        for handle, (query, answer) in ASKED.items():
            told = posted(f"{site.url}/api/agents/{owner}/{handle}", key, {"message": {"text": query}})
            assert told["type"] == "response"
            assert re.fullmatch(answer, told["message"]["text"])
        assert_the_handbook_answers(site, owner, key)


def assert_the_handbook_answers(site: Any, owner: str, key: str) -> None:
    """As soon as the site has read the document, by its name: an address of the agent is gone when it moves."""
    end = time.monotonic() + READING_SECONDS
    text = ""
    while "Source: docs/recipes/add-an-agent.md" not in text:
        assert time.monotonic() < end, text
        time.sleep(0.2)
        query = {"message": {"text": "How do I add an agent?"}}
        text = posted(f"{site.url}/api/agents/{owner}/handbook", key, query)["message"]["text"]
    assert text.startswith("# Add an agent\n")
