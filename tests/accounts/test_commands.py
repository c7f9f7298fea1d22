"""The commands of accounts, as a script uses them."""

import uuid
from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from accounts import tokens
from accounts.keyring import keyring
from accounts.models import ApiKey, User

MakeUser = Callable[..., User]


def output_of(*command: Any) -> str:
    stdout = StringIO()
    call_command(*command, stdout=stdout, skip_checks=True)
    return stdout.getvalue()


def test_apikey_prints_a_new_key_alone(make_user: MakeUser) -> None:
    user = make_user()

    output = output_of("apikey", user.username, "--name", "a script")

    assert output == output.strip() + "\n"
    claims = tokens.verify_api_key(output.strip())
    assert ApiKey.objects.get(jti=claims.jti).name == "a script"
    assert claims.user_id == user.pk


def test_apikey_names_an_unknown_user_and_makes_nothing() -> None:
    name = f"nobody-{uuid.uuid4().hex}"

    with pytest.raises(CommandError, match=f"no active user named {name}"):
        output_of("apikey", name)


def test_apikey_refuses_a_user_who_may_not_sign_in(make_user: MakeUser) -> None:
    user = make_user(is_active=False)

    with pytest.raises(CommandError, match="no active user"):
        output_of("apikey", user.username)


def test_apikey_refuses_an_impossible_name(make_user: MakeUser) -> None:
    user = make_user()

    with pytest.raises(CommandError, match="1 to 100 characters"):
        output_of("apikey", user.username, "--name", "x" * 101)


def test_rotate_signing_key_says_which_key_signs_now() -> None:
    output = output_of("rotate_signing_key")

    assert output == f"Now signing with {keyring.current().signer.kid}.\n"
