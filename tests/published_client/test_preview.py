"""Looking at an agent of the published package before it is registered: it answers only calls for its own name."""

from pathlib import Path

from tests.published_client.package import Package
from tests.published_client.serving import program, served
from tests.published_client.somebody import Somebody


def test_an_agent_that_checks_its_tokens_is_seen_under_the_name_that_it_runs_with(
    ann: Somebody, bob: Somebody, package: Package, handle: str, tmp_path: Path
) -> None:
    folder = program("standalone", tmp_path, "main:agent")
    with served(folder, package, FIXIE_ALLOWED_AGENT_ID=f"{ann.name}/{handle}") as url:

        def look(who: Somebody, **name: str) -> tuple[bool, str | None]:
            found = who.http.post("/api/preview", json={"url": url, **name}).json()
            return found["refused"], found["transport"]

        assert look(ann) == look(ann, handle="another") == (True, None)
        assert look(bob, handle=handle) == look(bob, handle=handle, owner=ann.name) == (True, None)
        assert look(ann, handle=handle) == (False, "query_http")
