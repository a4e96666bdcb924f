"""Keys of vendors at rest: encrypted under a key that is derived from the site's secret."""

from __future__ import annotations

import base64

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from optimas_web.errors import UserError


def seal(key: str, secret: str) -> bytes:
    """``key`` so that only who knows the site's ``secret`` can read it."""
    return _fernet(secret).encrypt(key.encode())


def unseal(sealed: bytes, secret: str) -> str:
    """The key again. Raises UserError when it was sealed under another secret, or was changed."""
    try:
        return _fernet(secret).decrypt(sealed).decode()
    except InvalidToken as error:
        raise UserError(
            "The stored key cannot be read: the secret of this site has changed since.",
            "Put it in again: Settings, team.",
        ) from error


def _fernet(secret: str) -> Fernet:
    derived = HKDF(SHA256(), length=32, salt=None, info=b"optimas: keys of vendors").derive(secret.encode())
    return Fernet(base64.urlsafe_b64encode(derived))
