"""The form of API keys: `pb_<public id>_<secret><checksum>`."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import string
import zlib
from dataclasses import dataclass

from api.kit.crypto.secret import Secret
from api.kit.ids import ALPHABET, RANDOM_LENGTH, random_text

BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase
SECRET_LENGTH, CHECKSUM_LENGTH = 32, 6
PREFIX = "pb_"
# For secret scanners.
KEY_PATTERN = re.compile(rf"{PREFIX}[{ALPHABET}]{{{RANDOM_LENGTH}}}_[0-9A-Za-z]{{{SECRET_LENGTH + CHECKSUM_LENGTH}}}")
KEY_ID_PATTERN = rf"^key_[{ALPHABET}]{{{RANDOM_LENGTH}}}$"


@dataclass(frozen=True, slots=True)
class ApiKey:
    key_id: str
    secret: Secret

    @classmethod
    def new(cls) -> ApiKey:
        secret = "".join(secrets.choice(BASE62) for _ in range(SECRET_LENGTH))
        return cls(f"key_{random_text()}", Secret(secret))

    @classmethod
    def parse(cls, text: str) -> ApiKey | None:
        """The parsed key; None if the text is malformed or its checksum is wrong."""
        if not KEY_PATTERN.fullmatch(text):
            return None
        body, checksum = text[:-CHECKSUM_LENGTH], text[-CHECKSUM_LENGTH:]
        if not hmac.compare_digest(_checksum(body), checksum):
            return None
        public, secret = body.removeprefix(PREFIX).split("_")
        return cls(f"key_{public}", Secret(secret))

    def text(self) -> Secret:
        """The whole key, which its owner sees once."""
        body = f"{PREFIX}{self.key_id.removeprefix('key_')}_{self.secret.reveal_text()}"
        return Secret(body + _checksum(body))

    def hashed(self, pepper: Secret, rights: bytes) -> str:
        """The hash that is stored. The secret has 190 bits, so a slow hash would add cost but no protection.

        The hash covers the key's rights: a record that was moved or edited matches no key.
        """
        return hmac.digest(pepper.reveal(), rights + self.secret.reveal(), hashlib.sha256).hex()


def shown_prefix(key_id: str) -> str:
    """How the key with this id begins: it names the key and is no secret."""
    return f"{PREFIX}{key_id.removeprefix('key_')}"


def _checksum(body: str) -> str:
    number, digits = zlib.crc32(body.encode()), []
    for _ in range(CHECKSUM_LENGTH):
        number, digit = divmod(number, len(BASE62))
        digits.append(BASE62[digit])
    return "".join(reversed(digits))
