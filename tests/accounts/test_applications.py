"""Programs that an administrator adds in the admin: of the one kind there is, with ways back that can work."""

import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from django.test import Client

if TYPE_CHECKING:
    from accounts.models import User

LIST = "/admin/oauth2_provider/application/"


@pytest.fixture
def admin(make_user: Callable[..., "User"], browser_of: Callable[..., Client]) -> Client:
    return browser_of(make_user(is_staff=True, is_superuser=True))


def test_an_administrator_adds_a_program(admin: Client) -> None:
    from oauth2_provider.models import Application

    client_id = f"new-{uuid.uuid4().hex}"
    form = {"name": "Notes", "client_id": client_id, "redirect_uris": "https://notes.example.com/back http://127.0.0.1"}
    assert "Fixie command line" in admin.get(LIST).content.decode()
    assert admin.get(f"{LIST}add/").status_code == 200

    assert admin.post(f"{LIST}add/", form).status_code == 302

    made = Application.objects.get(client_id=client_id)
    assert (made.client_type, made.authorization_grant_type) == ("public", "authorization-code")
    assert admin.get(f"{LIST}{made.pk}/change/").status_code == 200


@pytest.mark.parametrize(
    "address", ["", "javascript:alert(1)", "https://notes.example.com/#part", "ftp://example.com/"]
)
def test_a_way_back_that_cannot_work_is_refused(admin: Client, address: str) -> None:
    from oauth2_provider.models import Application

    client_id = f"new-{uuid.uuid4().hex}"

    answer = admin.post(f"{LIST}add/", {"name": "Notes", "client_id": client_id, "redirect_uris": address})

    assert "redirect_uris" in answer.context["adminform"].form.errors
    assert not Application.objects.filter(client_id=client_id).exists()


@pytest.mark.parametrize("table", ["accesstoken", "grant", "idtoken", "refreshtoken"])
def test_the_toolkits_empty_tables_are_not_shown(admin: Client, table: str) -> None:
    assert admin.get(f"/admin/oauth2_provider/{table}/").status_code == 404


def test_who_is_no_administrator_adds_no_program(
    make_user: Callable[..., "User"], browser_of: Callable[..., Client]
) -> None:
    for browser in (browser_of(make_user()), browser_of(make_user(is_staff=True)), Client()):
        assert browser.post(f"{LIST}add/", {"name": "Notes"}).status_code in (302, 403)
