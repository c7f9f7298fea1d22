"""Users and organizations over GraphQL, and what every resolver knows of who asks."""

from collections.abc import Awaitable, Callable, Hashable
from typing import Annotated, Any, TypeVar

import strawberry
import strawberry_django
from strawberry import auto
from strawberry.dataloader import DataLoader

from accounts import actions
from accounts.auth import Caller, user_of
from accounts.models import Membership, Organization, Owner, User
from common.db import run_db
from common.errors import InvalidRequest

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
# Fields of so many objects are loaded together.
BATCH = 200
# The largest page of any list, and what a list gives that is asked for no number.
PAGE = 1000
# Of the largest number that PostgreSQL takes for an id.
ID_DIGITS = 18


class Context:
    """One operation: who asks, and what was loaded for them so far."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self._user: User | None = None
        self._loaders: dict[Any, DataLoader[Any, Any]] = {}

    def user(self) -> User:
        """The caller's user, asked for once; call it inside `run_db`. Raises Unauthenticated."""
        if self._user is None:
            self._user = user_of(self.caller)
        return self._user

    def load(self, load: "Callable[[Context, list[K]], list[V]]", key: K) -> Awaitable[V]:
        """What `load` finds for `key`. It runs inside `run_db`, once for all keys that are wanted at the same time."""
        return self._loader(load).load(key)

    def remember(self, load: "Callable[[Context, list[K]], list[V]]", key: K, value: V) -> None:
        """Spares `load` the looking for what is known."""
        self._loader(load).prime(key, value)

    def _loader(self, load: "Callable[[Context, list[K]], list[V]]") -> DataLoader[K, V]:
        if load not in self._loaders:

            async def load_batch(keys: list[K]) -> list[V]:
                return await run_db(load, self, keys)

            self._loaders[load] = DataLoader(load_fn=load_batch, max_batch_size=BATCH)
        return self._loaders[load]


Info = strawberry.Info[Context, None]
Limit = Annotated[int, strawberry.argument(description=f"How many at most: 1 to {PAGE}.")]


def check_limit(limit: int) -> int:
    """Returns the size of a page, or raises InvalidRequest."""
    if not 1 <= limit <= PAGE:
        raise InvalidRequest(f"limit must be 1 to {PAGE}.", field="limit", limit=PAGE)
    return limit


def number_of(id_: str) -> int | None:
    """The primary key that stands behind an id; None for what is no id."""
    return int(id_) if id_.isascii() and id_.isdecimal() and len(id_) <= ID_DIGITS else None


@strawberry_django.type(Organization, description="A group of people who own agents together.")
class OrganizationType:
    name: auto

    @strawberry.field
    def handle(self, root: strawberry.Parent[Organization]) -> str:
        return root.owner.handle


def _told_to_themselves(field: str) -> Any:
    def resolve(root: strawberry.Parent[User], info: Info) -> str | None:
        return getattr(root, field) if _is_caller(root, info) else None

    return strawberry.field(resolver=resolve)


def _is_caller(user: User, info: Info) -> bool:
    return user.pk == info.context.caller.user_id


@strawberry_django.type(User, description="A person. All but the name is told to themselves; others read null.")
class UserType:
    username: auto
    first_name: str | None = _told_to_themselves("first_name")
    last_name: str | None = _told_to_themselves("last_name")
    email: str | None = _told_to_themselves("email")

    @strawberry.field(graphql_type=OrganizationType | None, description="The one that they have been in longest.")
    async def organization(self, root: strawberry.Parent[User], info: Info) -> Organization | None:
        return await info.context.load(_first_organizations, root.pk) if _is_caller(root, info) else None

    @strawberry.field(description="Queries a day (UTC).")
    def daily_query_limit(self, root: strawberry.Parent[User], info: Info) -> int | None:
        return root.daily_query_limit if _is_caller(root, info) else None

    @strawberry.field(description="Queries asked today (UTC).")
    async def daily_used_queries(self, root: strawberry.Parent[User], info: Info) -> int | None:
        if not _is_caller(root, info):
            return None
        return await info.context.load(_used_today, root.pk)

    @strawberry.field(description="The address of a picture. This site keeps none: null.")
    def avatar(self) -> str | None:
        return None


def _first_organizations(context: Context, users: list[int]) -> list[Organization | None]:
    newest_first = Membership.objects.filter(user__in=users).select_related("organization__owner").order_by("-pk")
    first = {membership.user_id: membership.organization for membership in newest_first}
    return [first.get(user) for user in users]


def _used_today(context: Context, users: list[int]) -> list[int]:
    return [actions.usage_today(context.user()).used for _ in users]


OwnerType = Annotated[UserType | OrganizationType, strawberry.union("OwnerType")]
# With these relations, after the one that leads to the owner, `behind` makes no query.
BEHIND = ("owner__user", "owner__organization")


def behind(owner: Owner) -> User | Organization | None:
    """Who bears a name. None where that person is gone, and their agents are still there."""
    found: User | Organization | None = getattr(owner, "user", None) or getattr(owner, "organization", None)
    return found


@strawberry.type
class Query:
    @strawberry.field(graphql_type=UserType, description="You.")
    async def user(self, info: Info) -> User:
        return await run_db(info.context.user)
