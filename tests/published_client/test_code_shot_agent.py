"""The example agent of the package: Funcs, User Storage, and Embeds in and out."""

import base64
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.published_client.package import Package
from tests.published_client.serving import served
from tests.published_client.somebody import Somebody
from tests.sites import ROOT

NUMBERS = "data:text/plain;base64," + base64.b64encode(b"12 and 30").decode()


@pytest.fixture(scope="module")
def url(package: Package, tmp_path_factory: Any) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("agents") / "dice"
    shutil.copytree(ROOT / "examples" / "fixieai_dice", folder, ignore=shutil.ignore_patterns("__pycache__"))
    with served(folder, package) as url:
        yield url


@pytest.fixture
def agent(ann: Somebody, handle: str, url: str) -> str:
    return ann.new_agent(handle, url, published=True)


def test_its_examples_are_its_sample_queries(ann: Somebody, agent: str) -> None:
    assert ann.client.get_agent(agent).queries[:2] == ["Roll 3d8", "Throw 2d6 for me"]


def test_it_rolls_what_it_is_asked_for(ann: Somebody, agent: str) -> None:
    rolled = ann.client.create_session(agent).query("Roll 4d20").split()
    assert len(rolled) == 4
    assert all(1 <= int(number) <= 20 for number in rolled)


def test_it_remembers_each_users_last_roll_in_other_sessions_too(ann: Somebody, bob: Somebody, agent: str) -> None:
    rolled = ann.client.create_session(agent).query("Throw 3d6 for me")
    assert ann.client.create_session(agent).query("What did I roll last?") == f"Your last roll was {rolled}."
    assert bob.client.create_session(agent).query("What did I roll last?") == "You have not rolled yet."


def test_it_draws_a_picture(ann: Somebody, agent: str) -> None:
    session = ann.client.create_session(agent)
    rolled = session.query("Roll 3d6")
    assert session.query("Draw my last roll") == f"{rolled}, drawn: #1"
    (found,) = session.get_embeds()
    assert (found["key"], found["embed"]["contentType"]) == (1, "image/png")
    assert found["embed"]["contentHash"]
    picture = httpx2.get(found["embed"]["url"])
    assert picture.headers["content-type"] == "image/png"
    assert picture.content.startswith(b"\x89PNG")
    assert picture.content[16:24] == (180).to_bytes(4, "big") + (60).to_bytes(4, "big")


def test_it_adds_up_the_numbers_of_a_file(ann: Somebody, agent: str) -> None:
    embeds = {"1": {"content_type": "text/plain", "uri": NUMBERS}}
    body = {"message": {"text": "Add up the numbers in #1", "embeds": embeds}}
    assert ann.http.post(f"/api/agents/{agent}", json=body).json()["message"]["text"] == "12 + 30 = 42"


def test_the_console_shows_a_picture_without_a_complaint(ann: Somebody, agent: str, tmp_path: Path) -> None:
    # Without the machine's own programs for pictures, which may complain.
    console = ann.terminal("console", "-a", agent, "Draw my last roll", **ann.browser(tmp_path))
    console.until("There is nothing to draw yet: roll first.")
    for query in ("Roll 1d6", "Draw my last roll"):
        console.enter(query)
    console.until("drawn: #1\n")
    assert "not found" not in console.left().out


def test_an_agent_takes_only_calls_that_are_meant_for_it(
    ann: Somebody, handle: str, url: str, package: Package, tmp_path: Any
) -> None:
    shutil.copytree(ROOT / "examples" / "fixieai_dice", tmp_path / "dice")
    with served(tmp_path / "dice", package, FIXIE_ALLOWED_AGENT_ID=f"{ann.name}/{handle}") as strict:
        agent = ann.new_agent(handle, strict)
        assert ann.client.create_session(agent).query("Roll 1d1") == "1"
        other = ann.new_agent(f"{handle}-other", strict)
        refused = ann.http.get(f"/api/agents/{other}").json()["revision"]
        assert refused["state"] == "error"
        assert refused["error"] == "The agent refused the call (HTTP 403)."
        assert ann.client.create_session(other).query("Roll 1d1") == refused["error"]
        # Nor anybody who calls it without the site.
        assert httpx2.get(strict, headers={"Authorization": f"Bearer {ann.key}"}).status_code >= 400
        assert httpx2.post(f"{strict}/roll", json={"message": {"text": "1d1"}}).status_code == 403
