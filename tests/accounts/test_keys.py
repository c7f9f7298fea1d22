"""Key material: what is in the database opens with SECRET_KEY alone, and names follow RFC 7638."""

import base64

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from django.conf import LazySettings

from accounts import keys
from accounts.models import SigningKey


def new_key() -> SigningKey:
    return keys.generate(SigningKey.State.NEXT)


def test_the_thumbprint_is_the_one_of_the_example_in_rfc_8037() -> None:
    public_key = base64.urlsafe_b64decode("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo=")

    assert keys.thumbprint(public_key) == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"


def test_a_sealed_key_opens_to_the_key_it_was() -> None:
    key = new_key()

    private_key = keys.unseal(key)

    assert private_key is not None
    assert private_key.public_key() == keys.public_key_of(key)


@pytest.mark.parametrize("form", [PrivateFormat.Raw, PrivateFormat.PKCS8])
def test_the_private_half_is_not_readable_in_what_is_stored(form: PrivateFormat) -> None:
    key = new_key()
    private_key = keys.unseal(key)
    assert private_key is not None
    encoding = Encoding.Raw if form is PrivateFormat.Raw else Encoding.DER
    plain = private_key.private_bytes(encoding, form, NoEncryption())

    assert plain not in key.private_key
    assert plain not in base64.urlsafe_b64decode(key.private_key)


def test_a_key_opens_with_a_secret_that_has_become_a_fallback(settings: LazySettings) -> None:
    key = new_key()
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another secret, a long one at that"

    assert keys.unseal(key) is not None


def test_a_key_stays_shut_under_another_secret(settings: LazySettings) -> None:
    key = new_key()
    settings.SECRET_KEY = "another secret, a long one at that"

    assert keys.unseal(key) is None


def test_a_jwk_has_the_public_half_and_nothing_else() -> None:
    key = new_key()

    assert keys.jwk_of(key) == {
        "kty": "OKP",
        "crv": "Ed25519",
        "x": base64.urlsafe_b64encode(key.public_key).decode().rstrip("="),
        "kid": key.kid,
        "use": "sig",
        "alg": "EdDSA",
    }
