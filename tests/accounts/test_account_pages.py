"""`/account` and the pages of organizations: what is shown and changed there, and by whom; colours and language."""

import re
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from django.test import Client

from accounts import organizations
from accounts.actions import grant_credits
from tests.sites import Site

if TYPE_CHECKING:
    from accounts.models import Organization, User

MakeUser = Callable[..., "User"]
BrowserOf = Callable[..., Client]


@pytest.fixture
def organization(user: "User") -> "Organization":
    """An organization that `user` is the admin of."""
    return organizations.create_organization(by=user, handle=f"org-{uuid.uuid4().hex[:8]}", name="A <b>Lab</b>")


def text_of(answer: object) -> str:
    return re.sub(r"\s+", " ", answer.content.decode())  # type: ignore[attr-defined]


def test_the_overview_tells_who_one_is_and_what_is_left(user: "User", browser: Client) -> None:
    page = text_of(browser.get("/account"))

    assert user.username in page
    assert user.email in page
    assert "0 of 1,000" in page
    for path in ("/account/usage", "/accounts/keys", "/account/organizations", "/account/export", "/account/delete"):
        assert f'href="{path}"' in page


def test_somebody_changes_what_they_are_called_and_nothing_else(user: "User", browser: Client) -> None:
    changed = {"first_name": "Zoë", "last_name": "<i>", "username": "root", "daily_query_limit": "9", "is_staff": "on"}
    answer = browser.post("/account", changed, follow=True)

    before = user.username, user.daily_query_limit, user.is_staff
    user.refresh_from_db()
    assert (user.first_name, user.last_name) == ("Zoë", "<i>")
    assert (user.username, user.daily_query_limit, user.is_staff) == before
    assert "Saved." in text_of(answer)
    assert "Zoë &lt;i&gt;" in text_of(answer)


def test_a_name_that_is_too_long_is_refused_at_its_field(user: "User", browser: Client) -> None:
    answer = browser.post("/account", {"first_name": "x" * 151, "last_name": ""})

    assert answer.status_code == 400
    assert 'class="errorlist"' in text_of(answer)
    user.refresh_from_db()
    assert user.first_name == ""


@pytest.mark.parametrize(
    "path", ["/account", "/account/usage", "/account/usage.csv", "/account/organizations", "/account/export"]
)
def test_who_is_signed_out_is_asked_to_sign_in(path: str) -> None:
    assert Client().get(path)["Location"] == f"/accounts/login/?next={path}"


def test_the_quota_tells_what_is_left(site: Site, make_user: MakeUser, api_key: Callable[..., str]) -> None:
    user, admin = make_user(daily_query_limit=5, daily_token_limit=None), make_user(is_superuser=True)
    grant_credits(user=user, amount=3, reason="test", by=admin)
    with site.client(api_key(user)) as http, site.client() as nobody:
        quota = http.get("/api/users/me/quota").json()
        refused = nobody.get("/api/users/me/quota")

    assert quota["queries"] | {"reset": ""} == {"limit": 5, "used": 0, "remaining": 5, "reset": ""}
    assert quota["tokens"] | {"reset": ""} == {"limit": None, "used": 0, "remaining": None, "reset": ""}
    assert quota["queries"]["reset"].endswith("T00:00:00+00:00")
    assert quota["credits"] == 3
    assert refused.status_code == 401


def test_an_organization_is_made_renamed_and_deleted(user: "User", browser: Client) -> None:
    handle = f"org-{uuid.uuid4().hex[:8]}"
    made = browser.post("/account/organizations", {"name": "Lab", "handle": handle})

    assert made["Location"] == f"/account/organizations/{handle}"
    assert "Lab" in text_of(browser.get("/account/organizations"))
    browser.post(made["Location"], {"name": "New Lab"})
    assert user.organizations.get(owner__handle=handle).name == "New Lab"
    browser.post(f"{made['Location']}/deletion")
    assert not user.organizations.filter(owner__handle=handle).exists()
    again = browser.post(f"{made['Location']}/deletion", follow=True)
    assert again.redirect_chain == [("/account/organizations", 302)]
    assert f"You are in no organization “{handle}”" in text_of(again)


@pytest.mark.parametrize("handle", ["admin", "no spaces", "", "FIXIE", "x" * 51])
def test_a_handle_that_cannot_be_is_refused_at_its_field(user: "User", browser: Client, handle: str) -> None:
    answer = browser.post("/account/organizations", {"name": "Lab", "handle": handle})

    assert answer.status_code == 400
    assert re.search(r'id="id_handle".*?class="errorlist"', text_of(answer))
    assert not user.organizations.exists()


def test_an_admin_adds_promotes_and_removes_a_member(
    organization: "Organization", browser: Client, make_user: MakeUser, browser_of: BrowserOf
) -> None:
    page, mate = f"/account/organizations/{organization.owner.handle}", make_user()

    assert browser_of(mate).get(page).status_code == 404
    browser.post(f"{page}/member", {"username": mate.username, "role": "member"})
    assert browser_of(mate).get(page).status_code == 200
    browser.post(f"{page}/member", {"username": mate.username, "role": "admin"})
    assert mate.membership_set.get().role == "admin"
    browser.post(f"{page}/removal", {"username": mate.username})
    assert not mate.membership_set.exists()


def test_a_member_only_leaves_and_an_outsider_finds_nothing(
    user: "User", organization: "Organization", make_user: MakeUser, browser_of: BrowserOf
) -> None:
    page, mate, outsider = f"/account/organizations/{organization.owner.handle}", make_user(), make_user()
    organizations.set_member(
        organization=organization, by=user, username=mate.username, role=organizations.Membership.Role.MEMBER
    )

    for act, data in (
        ("/member", {"username": outsider.username, "role": "admin"}),
        ("/removal", {"username": user.username}),
        ("/deletion", {}),
        ("", {"name": "Mine"}),
    ):
        browser_of(mate).post(page + act, data)
        assert browser_of(outsider).post(page + act, data).status_code == (302 if act == "/deletion" else 404)
        assert Client().post(page + act, data).status_code == 302
    organization.refresh_from_db()
    assert organization.name == "A <b>Lab</b>"
    assert set(organization.members.all()) == {user, mate}
    left = browser_of(mate).post(f"{page}/removal", {"username": mate.username})
    assert left["Location"] == "/account/organizations"
    assert set(organization.members.all()) == {user}


def test_the_only_admin_stays_and_is_told_why(user: "User", organization: "Organization", browser: Client) -> None:
    page = f"/account/organizations/{organization.owner.handle}"
    answer = browser.post(f"{page}/removal", {"username": user.username}, follow=True)

    assert "make somebody else one first" in text_of(answer)
    assert organization.members.count() == 1
    assert "<b>Lab" not in text_of(answer)


def test_colours_and_language_are_kept_for_guests_too() -> None:
    guest = Client()

    assert 'data-theme="system"' in text_of(guest.get("/"))
    back = guest.post("/preferences", {"theme": "dark", "next": "/accounts/login/"})
    guest.post("/preferences", {"language": "de"})
    page = text_of(guest.get("/accounts/login/"))
    assert back["Location"] == "/accounts/login/"
    assert 'data-theme="dark"' in page
    assert 'lang="de"' in page
    assert re.search(r'value="dark" aria-pressed="true"', page)


@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example", "javascript:alert(1)", ""])
def test_the_way_back_leads_nowhere_else(target: str) -> None:
    assert Client().post("/preferences", {"theme": "dark", "next": target})["Location"] == "/"


def test_a_missing_page_offers_a_way_on(browser: Client) -> None:
    for visitor in (browser, Client()):
        page = visitor.get("/nowhere")
        assert page.status_code == 404
        assert "There is nothing here" in text_of(page)
        assert 'href="/"' in text_of(page)
    assert "/accounts/login/?next=/nowhere" in text_of(Client().get("/nowhere"))
