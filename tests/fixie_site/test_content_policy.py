"""The Content-Security-Policy: on every page, whatever went wrong, and what is stricter stays."""

import httpx2
import pytest

from fixie_site.content_policy import policy_for
from tests.sessions_app.embedded import ref
from tests.sessions_app.people import Person
from tests.sites import Site


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/", {}, 200),
        ("/nowhere", {}, 404),
        ("/static/nothing", {}, 404),
        ("/attachment/no-id", {}, 404),
        ("/shared/nothing", {}, 404),
        ("/", {"Host": "evil..example"}, 400),
        ("/accounts/login/", {}, 200),
    ],
)
def test_every_page_has_it(site: Site, path: str, headers: dict[str, str], status: int) -> None:
    with site.client() as nobody:
        page = nobody.get(path, headers=headers)
        refused = nobody.post("/preferences")
    assert (page.status_code, page.headers["Content-Security-Policy"]) == (status, policy_for(path))
    assert (refused.status_code, refused.headers["Content-Security-Policy"]) == (403, policy_for("/preferences"))


def test_an_attachment_keeps_its_own(asker: Person) -> None:
    session = asker.new_session()
    asker.post(session, "What is in #1?", embeds={"1": ref("<script>alert(1)</script>", "text/html")})
    uri = asker.settled(session)[0]["embeds"]["1"]["uri"]
    page = httpx2.get(uri)
    assert (page.status_code, "sandbox" in page.headers["Content-Security-Policy"]) == (200, True)
