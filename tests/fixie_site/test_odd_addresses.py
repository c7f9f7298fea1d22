"""Addresses that nobody means, in all lists of the admin and on the pages: no answer is an error of ours."""

from collections.abc import Iterable
from itertools import cycle
from urllib.parse import quote

import pytest
from django.contrib import admin
from django.db.models import Model
from django.test import Client
from django.urls import reverse

from accounts.models import User
from tests.accounts.operators import browser_of, superuser

NUL = "\0"
# What can be written into any parameter: characters PostgreSQL has not, halves of characters, numbers for no column,
# days of no calendar.
ODD = (NUL, "\ud800", "9" * 40, f"-{2**63}", "x", "1,x", "NaN", "10000-01-01", "00:00:99")
OF_LISTS = ("q", "p", "o", "_facets", "pk__exact", "id__in", "bogus")
OF_FILTERS = ("", "__exact", "__isnull", "__in", "_from_0", "_to")
PAGES = {
    "/": ("after", "archived", "agent", "text"),
    "/agents": ("q", "after", "owner", "sort", "health"),
    "/agents/new": ("url",),
    "/agents/fixie/echo": ("q", "after"),
    "/account/usage": ("from", "to", "days", "after", "since", "until", "agent"),
    "/account/usage.csv": ("from", "to", "days", "since", "until", "agent"),
    "/account/storage": ("after",),
    "/account/links": ("after",),
    "/agents/fixie/echo/storage": ("after",),
    "/agents/fixie/echo/storage/value": ("key",),
    "/agents/fixie/echo/playground": ("run",),
    f"/shared/{'x' * 43}/messages": ("since",),
    "/oauth": ("state", "code", "error"),
    "/authorize": ("client_id", "state", "redirect_uri"),
}


@pytest.fixture(scope="module")
def root(database: None) -> User:
    return superuser()


@pytest.fixture
def browser(root: User) -> Client:
    return browser_of(root, raise_request_exception=False)


def failing(browser: Client, addresses: Iterable[str]) -> dict[str, int]:
    """Those of the addresses that are answered with an error of the site."""
    return {address: status for address in addresses if (status := browser.get(address).status_code) >= 500}


def with_odd(path: str, names: Iterable[str], texts: Iterable[str] = ODD) -> list[str]:
    joint = "&" if "?" in path else "?"
    return [f"{path}{joint}{name}={_written(text)}" for name in names for text in texts]


def _written(text: str) -> str:
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


def filters(model: type[Model]) -> list[str]:
    """What can be written behind the address of the list to narrow it."""
    listed = [each[0] if isinstance(each, tuple) else each for each in admin.site.get_model_admin(model).list_filter]
    names = [each if isinstance(each, str) else str(getattr(each, "parameter_name", "")) for each in listed]
    return [f"{name}{way}" for name in names for way in OF_FILTERS]


@pytest.mark.parametrize("model", admin.site._registry, ids=lambda model: model._meta.label_lower)
def test_a_list_of_the_admin_answers_whatever_is_asked(model: type[Model], browser: Client) -> None:
    shown = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    objects = [f"{shown}{_written(text)}/change/" for text in ODD[:3]]
    # Of each only one text, but over all lists each with all: every answer is a whole page.
    turn = len(shown) % len(ODD)
    odd = cycle((*ODD[turn:], *ODD[:turn]))
    narrowed = [address for name in (*OF_LISTS, *filters(model)) for address in with_odd(shown, [name], [next(odd)])]
    assert failing(browser, [*narrowed, *objects]) == {}


def test_nor_does_choosing_among_many(browser: Client) -> None:
    owner = "/admin/autocomplete/?app_label=sessions_app&model_name=session&field_name=owner"
    about = ("app_label", "model_name", "field_name")
    assert failing(browser, [*with_odd(owner, ("term", "p", *about)), *with_odd("/admin/dashboard", ("range",))]) == {}


def test_what_holds_a_null_character_is_not_there(browser: Client) -> None:
    for address in ("/admin/accounts/user/?q=%00", "/admin/accounts/signingkey/%00/change/"):
        answer = browser.get(address)
        assert answer.status_code == 404
        assert "There is nothing here" in answer.content.decode()


@pytest.mark.parametrize("page", PAGES)
def test_a_page_answers_whatever_is_asked(page: str, echo: str, browser: Client) -> None:
    assert failing(browser, with_odd(page, PAGES[page])) == {}
