"""Organizations over REST: who may do what in them, and that one of their admins always stays."""

import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest

from accounts import actions, organizations
from accounts.models import Membership, Organization, Owner, User
from tests.sessions_app.people import error_of
from tests.sites import Site

ADMIN = Membership.Role.ADMIN


@dataclass(frozen=True)
class Person:
    user: User
    http: httpx2.Client

    @property
    def name(self) -> str:
        return self.user.username


@dataclass(frozen=True)
class Circle:
    """An organization, and one of each who may have to do with it."""

    organization: Organization
    admin: Person
    member: Person
    outsider: Person
    anonymous: Person

    @property
    def handle(self) -> str:
        return self.organization.owner.handle

    @property
    def path(self) -> str:
        return f"/api/organizations/{self.handle}"

    def roles(self) -> dict[str, str]:
        return dict(Membership.objects.filter(organization=self.organization).values_list("user__username", "role"))

    def state(self) -> Any:
        """All of it, to see whether anything changed."""
        return Organization.objects.filter(pk=self.organization.pk).values_list("name").first(), self.roles()


@pytest.fixture
def person(site: Site, make_user: Any, api_key: Any) -> Iterator[Callable[[], Person]]:
    with ExitStack() as stack:

        def make() -> Person:
            user = make_user()
            return Person(user, stack.enter_context(site.client(api_key(user))))

        yield make


@pytest.fixture
def circle(site: Site, person: Callable[[], Person]) -> Iterator[Circle]:
    admin, member, outsider = person(), person(), person()
    made = organizations.create_organization(by=admin.user, handle=handle(), name="Ours")
    made.membership_set.create(user=member.user)
    with site.client() as http:
        yield Circle(made, admin, member, outsider, Person(User(username="nobody"), http))


def handle() -> str:
    return f"org-{uuid.uuid4().hex[:10]}"


def test_whoever_makes_an_organization_is_its_admin(person: Callable[[], Person]) -> None:
    ann, name = person(), handle()

    made = ann.http.post("/api/organizations", json={"handle": name, "name": "  Ours "})

    assert made.status_code == 201
    assert made.json() == {
        "handle": name,
        "name": "Ours",
        "role": "admin",
        "members": [{"username": ann.name, "role": "admin"}],
    }
    assert ann.http.get(f"/api/organizations/{name}").json() == made.json()


def test_people_see_the_organizations_they_are_in_page_by_page(person: Callable[[], Person], circle: Circle) -> None:
    mine = sorted([circle.handle, *(handle() for _ in range(2))])
    for name in mine:
        if name != circle.handle:
            organizations.create_organization(by=circle.member.user, handle=name, name="More")

    first = circle.member.http.get("/api/organizations?limit=2").json()
    rest = circle.member.http.get("/api/organizations", params={"limit": 2, "after": first["next"]}).json()

    found = [*first["organizations"], *rest["organizations"]]
    assert [each["handle"] for each in found] == mine
    assert rest["next"] is None
    assert {"handle": circle.handle, "name": "Ours", "role": "member"} in found
    assert circle.outsider.http.get("/api/organizations").json() == {"organizations": [], "next": None}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"handle": "admin", "name": "x"}, "handle"),
        ({"handle": "FIXIE", "name": "x"}, "handle"),
        ({"handle": "a/b", "name": "x"}, "handle"),
        ({"handle": "", "name": "x"}, "handle"),
        ({"handle": "x" * 51, "name": "x"}, "handle"),
        ({"handle": "fine", "name": " "}, "name"),
        ({"handle": "fine", "name": "x" * 201}, "name"),
        ({"handle": "fine", "name": "a\0b"}, "name"),
        ({"handle": "fine"}, "name"),
        ({"handle": "fine", "name": "x", "role": "admin"}, "role"),
    ],
)
def test_what_cannot_be_an_organization_is_refused(circle: Circle, body: dict[str, Any], field: str) -> None:
    said = circle.admin.http.post("/api/organizations", json=body)

    assert said.status_code == 400
    assert error_of(said)["details"]["field"] == field
    assert not Owner.objects.filter(handle__in=("fine", "FIXIE")).exists()


def test_a_handle_of_anybody_in_any_case_is_taken(circle: Circle) -> None:
    for taken in (circle.handle, circle.handle.upper(), circle.outsider.name):
        said = circle.admin.http.post("/api/organizations", json={"handle": taken, "name": "x"})
        assert said.status_code == 400
        assert error_of(said)["details"]["field"] == "handle"
    assert circle.admin.user.organizations.count() == 1


def test_of_many_who_want_a_handle_one_gets_it(person: Callable[[], Person]) -> None:
    people, name = [person() for _ in range(4)], handle()

    def create(one: Person) -> int:
        return one.http.post("/api/organizations", json={"handle": name, "name": one.name}).status_code

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(create, people)) == [201, 400, 400, 400]
    assert Membership.objects.filter(organization__owner__handle=name).count() == 1


def test_nobody_takes_names_without_end(circle: Circle, monkeypatch: Any) -> None:
    monkeypatch.setattr(organizations, "ORGANIZATIONS_MAX", 1)
    with pytest.raises(organizations.InvalidRequest, match="1 organizations"):
        organizations.create_organization(by=circle.admin.user, handle=handle(), name="x")


# What an admin may do, as (method, path below the organization, body).
ADMINS_CALLS: list[tuple[str, str, Any]] = [
    ("PATCH", "", {"name": "Theirs"}),
    ("PUT", "/members/{outsider}", {"role": "member"}),
    ("PUT", "/members/{outsider}", {"role": "admin"}),
    ("PUT", "/members/{member}", {"role": "admin"}),
    ("PUT", "/members/{admin}", {"role": "member"}),
    ("DELETE", "/members/{admin}", None),
    ("DELETE", "", None),
]


def call(person: Person, circle: Circle, method: str, place: str, body: Any) -> httpx2.Response:
    names = {"admin": circle.admin.name, "member": circle.member.name, "outsider": circle.outsider.name}
    return person.http.request(method, circle.path + place.format(**names), json=body)


@pytest.mark.parametrize(("method", "place", "body"), ADMINS_CALLS)
def test_only_admins_change_an_organization(circle: Circle, method: str, place: str, body: Any) -> None:
    circle.organization.membership_set.create(user=User.objects.create_user(f"spare-{handle()}"), role=ADMIN)
    before = circle.state()
    for person, status in ((circle.anonymous, 401), (circle.outsider, 404), (circle.member, 404)):
        assert call(person, circle, method, place, body).status_code == status
        assert circle.state() == before

    assert call(circle.admin, circle, method, place, body).status_code in (200, 204)
    assert circle.state() != before


def test_members_see_an_organization_and_nobody_else_does(circle: Circle) -> None:
    for person, status in ((circle.anonymous, 401), (circle.outsider, 404), (circle.member, 200), (circle.admin, 200)):
        assert person.http.get(circle.path).status_code == status

    missing = circle.outsider.http.get("/api/organizations/nowhere").json()
    assert circle.outsider.http.get(circle.path).json() == missing, "missing and forbidden look the same"


def test_an_outsider_does_not_take_themselves_out(circle: Circle) -> None:
    before = circle.state()
    assert circle.outsider.http.delete(f"{circle.path}/members/{circle.outsider.name}").status_code == 404
    assert circle.outsider.http.delete(f"{circle.path}/members/{circle.member.name}").status_code == 404
    assert circle.state() == before


def test_a_member_may_leave_and_then_sees_nothing(circle: Circle) -> None:
    assert circle.member.http.delete(f"{circle.path}/members/{circle.member.name}").status_code == 204

    assert circle.roles() == {circle.admin.name: "admin"}
    assert circle.member.http.get(circle.path).status_code == 404


def test_an_admin_gives_roles(circle: Circle) -> None:
    put = circle.admin.http.put

    said = put(f"{circle.path}/members/{circle.outsider.name}", json={"role": "member"})
    assert said.json() == {"username": circle.outsider.name, "role": "member"}
    assert put(f"{circle.path}/members/{circle.outsider.name}", json={"role": "admin"}).json()["role"] == "admin"

    assert circle.roles() == {circle.admin.name: "admin", circle.member.name: "member", circle.outsider.name: "admin"}
    assert circle.outsider.http.patch(circle.path, json={"name": "Mine too"}).json()["name"] == "Mine too"


@pytest.mark.parametrize("name", ["nobody-of-this-name", "a%2Fb", "%00", "ä"])
def test_who_is_nobody_does_not_become_a_member(circle: Circle, name: str) -> None:
    before = circle.state()
    assert circle.admin.http.put(f"{circle.path}/members/{name}", json={"role": "member"}).status_code == 404
    assert circle.admin.http.delete(f"{circle.path}/members/{name}").status_code == 404
    assert circle.state() == before


def test_roles_are_two(circle: Circle) -> None:
    said = circle.admin.http.put(f"{circle.path}/members/{circle.member.name}", json={"role": "owner"})
    assert (said.status_code, error_of(said)["details"]["field"]) == (400, "role")


def test_somebody_whose_account_is_closed_does_not_become_a_member(circle: Circle) -> None:
    User.objects.filter(pk=circle.outsider.user.pk).update(is_active=False)
    said = circle.admin.http.put(f"{circle.path}/members/{circle.outsider.name}", json={"role": "member"})
    assert said.status_code == 404


def test_the_last_admin_stays_one(circle: Circle) -> None:
    before, me = circle.state(), f"{circle.path}/members/{circle.admin.name}"

    for said in (circle.admin.http.delete(me), circle.admin.http.put(me, json={"role": "member"})):
        assert said.status_code == 400
        assert error_of(said)["details"]["field"] == "username"
    assert circle.state() == before

    assert circle.admin.http.put(me, json={"role": "admin"}).status_code == 200, "which changes nothing"


@pytest.mark.parametrize("method", ["DELETE", "PUT"])
def test_of_two_admins_who_remove_each_other_one_stays(circle: Circle, method: str) -> None:
    body = {"role": "member"} if method == "PUT" else None
    pair = (circle.admin, circle.outsider)
    for _ in range(5):
        for person in pair:
            Membership.objects.update_or_create(
                organization=circle.organization, user=person.user, defaults={"role": ADMIN}
            )
        with ThreadPoolExecutor(2) as pool:
            said = list(
                pool.map(
                    lambda each: each[0].http.request(method, f"{circle.path}/members/{each[1].name}", json=body),
                    [pair, pair[::-1]],
                )
            )

        assert sorted(answer.status_code < 300 for answer in said) == [False, True]
        assert list(circle.roles().values()).count("admin") == 1


@pytest.mark.parametrize("method", ["DELETE", "PUT"])
def test_of_two_admins_who_leave_at_once_one_stays(circle: Circle, method: str) -> None:
    body = {"role": "member"} if method == "PUT" else None
    pair = (circle.admin, circle.outsider)
    for person in pair:
        Membership.objects.update_or_create(
            organization=circle.organization, user=person.user, defaults={"role": ADMIN}
        )

    with ThreadPoolExecutor(2) as pool:
        said = list(
            pool.map(lambda each: each.http.request(method, f"{circle.path}/members/{each.name}", json=body), pair)
        )

    assert sorted(answer.status_code for answer in said) == [200 if body else 204, 400]
    assert list(circle.roles().values()).count("admin") == 1


def test_a_deleted_organization_frees_its_handle(circle: Circle) -> None:
    assert circle.admin.http.delete(circle.path).status_code == 204

    assert not Owner.objects.filter(handle=circle.handle).exists()
    assert (
        circle.outsider.http.post("/api/organizations", json={"handle": circle.handle, "name": "New"}).status_code
        == 201
    )


def test_an_organization_with_agents_is_not_deleted(circle: Circle) -> None:
    agent = {"handle": "dice", "owner": circle.handle}
    assert circle.member.http.post("/api/agents", json=agent).status_code == 201
    before = circle.state()

    said = circle.admin.http.delete(circle.path)

    assert said.status_code == 400
    assert "agents" in error_of(said)["message"]
    assert circle.state() == before


def test_an_agent_is_never_left_without_its_organization(circle: Circle) -> None:
    for _ in range(6):
        name = circle.admin.http.post("/api/organizations", json={"handle": handle(), "name": "x"}).json()["handle"]
        calls = [
            ("DELETE", f"/api/organizations/{name}", None),
            ("POST", "/api/agents", {"handle": "dice", "owner": name}),
        ]
        with ThreadPoolExecutor(2) as pool:
            deleted, created = pool.map(lambda call: circle.admin.http.request(call[0], call[1], json=call[2]), calls)

        assert (deleted.status_code, created.status_code) in [(204, 400), (400, 201)]


def test_a_member_works_on_agents_and_only_an_admin_deletes_them(circle: Circle) -> None:
    agent = f"/api/agents/{circle.handle}/dice"
    created = {"handle": "dice", "owner": circle.handle, "published": True}
    for person, status in ((circle.anonymous, 401), (circle.outsider, 400), (circle.member, 201)):
        assert person.http.post("/api/agents", json=created).status_code == status
    for person, status in ((circle.anonymous, 401), (circle.outsider, 404), (circle.member, 200), (circle.admin, 200)):
        assert person.http.patch(agent, json={"name": person.name}).status_code == status

    for person, status in ((circle.anonymous, 401), (circle.outsider, 404), (circle.member, 404)):
        assert person.http.delete(agent).status_code == status
        assert circle.member.http.get(agent).status_code == 200
    assert circle.admin.http.delete(agent).status_code == 204


def test_people_delete_their_own_agents(circle: Circle) -> None:
    assert circle.member.http.post("/api/agents", json={"handle": "mine"}).status_code == 201
    assert circle.admin.http.delete(f"/api/agents/{circle.member.name}/mine").status_code == 404
    assert circle.member.http.delete(f"/api/agents/{circle.member.name}/mine").status_code == 204


def test_a_revoked_key_changes_nothing(site: Site, circle: Circle) -> None:
    key = actions.create_api_key(user=circle.admin.user, name="x")
    actions.revoke_api_key(key=key.key, by=circle.admin.user)
    before = circle.state()
    with site.client(key.token) as http:
        assert http.patch(circle.path, json={"name": "Theirs"}).status_code == 401
    assert circle.state() == before
