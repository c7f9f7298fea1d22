"""Key material: making Ed25519 signing keys, sealing their private halves, and their public form as JWKs."""

import base64
import hashlib

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_der_private_key,
)
from django.conf import settings
from django.utils.encoding import force_bytes

from accounts.models import SigningKey

HKDF_INFO = b"fixie signing keys, version 1"


def generate(state: SigningKey.State) -> SigningKey:
    """A new key in `state`, not yet saved."""
    private_key = Ed25519PrivateKey.generate()
    public_key = private_key.public_key().public_bytes_raw()
    return SigningKey(kid=thumbprint(public_key), private_key=seal(private_key), public_key=public_key, state=state)


def seal(private_key: Ed25519PrivateKey) -> bytes:
    """The key as PKCS 8, encrypted with a key made from SECRET_KEY."""
    return _fernet().encrypt(private_key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption()))


def unseal(key: SigningKey) -> Ed25519PrivateKey | None:
    """The private half, or None where neither SECRET_KEY nor any of SECRET_KEY_FALLBACKS opens it."""
    try:
        private_key = load_der_private_key(_fernet().decrypt(bytes(key.private_key)), password=None)
    except InvalidToken:
        return None
    assert isinstance(private_key, Ed25519PrivateKey)
    return private_key


def _fernet() -> MultiFernet:
    """Encrypts with SECRET_KEY, decrypts with the fallbacks too, as Django's own signing does."""
    return MultiFernet([_derived(secret) for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)])


def _derived(secret: str | bytes) -> Fernet:
    key = HKDF(algorithm=SHA256(), length=32, salt=None, info=HKDF_INFO).derive(force_bytes(secret))
    return Fernet(base64.urlsafe_b64encode(key))


def public_key_of(key: SigningKey) -> Ed25519PublicKey:
    return Ed25519PublicKey.from_public_bytes(bytes(key.public_key))


def thumbprint(public_key: bytes) -> str:
    """RFC 7638: SHA-256 over the JWK's required members in the order of their names, 43 letters."""
    canonical = f'{{"crv":"Ed25519","kty":"OKP","x":"{_base64url(public_key)}"}}'
    return _base64url(hashlib.sha256(canonical.encode()).digest())


def jwk_of(key: SigningKey) -> dict[str, str]:
    """The public half as a JSON Web Key (RFC 8037)."""
    return {
        "kty": "OKP",
        "crv": "Ed25519",
        "x": _base64url(bytes(key.public_key)),
        "kid": key.kid,
        "use": "sig",
        "alg": "EdDSA",
    }


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
