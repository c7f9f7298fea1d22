"""What the registry's views share: who reads, what they may see, and where they go when something is done."""

from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect

from accounts.models import User
from common.errors import NotFound

P = ParamSpec("P")
T = TypeVar("T")
WHO = TypeVar("WHO")


def found(load: Callable[Concatenate[WHO, P], T], who: WHO, *args: P.args, **kwargs: P.kwargs) -> T:
    """What `load` gives somebody; the page "not found" where it raises NotFound."""
    try:
        return load(who, *args, **kwargs)
    except NotFound as error:
        raise Http404(error.message) from None


def user_of(request: HttpRequest) -> User:
    """Who is signed in, in a view that asks for that."""
    assert isinstance(request.user, User)
    return request.user


def reader_of(request: HttpRequest) -> User | None:
    """Who is signed in; None for guests."""
    return request.user if isinstance(request.user, User) else None


async def auser_of(request: HttpRequest) -> User:
    """`user_of` in async views."""
    user = await request.auser()
    assert isinstance(user, User)
    return user


def done(request: HttpRequest, words: str, owner: str, handle: str) -> HttpResponse:
    """Back to the agent's page, which says `words`."""
    messages.success(request, words)
    return redirect("agent", owner, handle)


def refused(request: HttpRequest, words: str, owner: str, handle: str) -> HttpResponse:
    """The same, where nothing has changed."""
    messages.error(request, words)
    return redirect("agent", owner, handle)
