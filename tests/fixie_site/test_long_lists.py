"""Lists of the admin with millions of rows: what they can be sorted by has an index, and nothing else pretends to."""

import re

import pytest
from django.contrib import admin
from django.db import connection
from django.test import Client, RequestFactory
from django.urls import reverse

from accounts.models import User
from common.long_lists import LongList
from tests.accounts.operators import browser_of, superuser

LISTS = {
    model._meta.label_lower: listed for model, listed in admin.site._registry.items() if isinstance(listed, LongList)
}
SORTING = """
SELECT EXISTS (
    SELECT FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam
        JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
    WHERE i.indrelid = %s::regclass AND a.attname = %s AND m.amname = 'btree' AND i.indpred IS NULL)"""
SORTED = [(name, column) for name, listed in LISTS.items() for column in listed.sorted_by]


@pytest.fixture(scope="module")
def root(database: None) -> User:
    return superuser()


@pytest.fixture
def browser(root: User) -> Client:
    return browser_of(root)


def changes(listed: LongList, root: User, order: str) -> list[str]:
    """By what the list is sorted when an address asks for `order`."""
    request = RequestFactory().get("/", {"o": order})
    request.user = root
    return list(listed.get_changelist_instance(request).queryset.query.order_by)


def number_of(listed: LongList, root: User, column: str) -> int:
    request = RequestFactory().get("/")
    request.user = root
    return list(listed.get_changelist_instance(request).list_display).index(column)


@pytest.mark.parametrize(("name", "column"), SORTED)
def test_what_a_list_is_sorted_by_has_an_index(name: str, column: str, root: User) -> None:
    listed = LISTS[name]
    number = number_of(listed, root, column)
    for sign in ("", "-"):
        first = changes(listed, root, f"{sign}{number}")[0]
        assert first == f"{sign}{listed.sorted_by[column]}"
    field = listed.opts.pk if first == "-pk" else listed.opts.get_field(first[1:])
    with connection.cursor() as cursor:
        cursor.execute(SORTING, [listed.opts.db_table, field.column])
        assert cursor.fetchone() == (True,), f"{field} has no index that gives rows in its order"


@pytest.mark.parametrize("name", LISTS)
def test_the_head_of_a_list_offers_what_it_is_sorted_by(name: str, root: User, browser: Client) -> None:
    listed = LISTS[name]
    page = browser.get(reverse(f"admin:{name.replace('.', '_')}_changelist")).content.decode()
    offered = set(re.findall(r'href="\?o=-?(\d+)', page))
    if 'id="result_list"' in page:
        assert offered == {str(number_of(listed, root, column)) for column in listed.sorted_by}


@pytest.mark.parametrize("name", LISTS)
def test_an_address_sorts_by_nothing_else(name: str, root: User) -> None:
    listed = LISTS[name]
    asked = {order: changes(listed, root, str(order)) for order in range(len(listed.list_display) + 1)}
    known = {number_of(listed, root, column) for column in listed.sorted_by}
    usual = changes(listed, root, "")
    assert [order for order, by in asked.items() if order not in known and by != usual] == []
    several = ".".join(str(number) for number in asked)
    assert len(changes(listed, root, several)) <= max(map(len, asked.values()))
