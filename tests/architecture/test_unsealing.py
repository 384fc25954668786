"""Who may see a secret in the clear: the files named here and no others."""

import ast
from pathlib import Path

import pytest

from tests.architecture.modules import parsed

PROJECT = Path(__file__).parents[2]
CODE = ("api", "integrations", "infra", "bench")

# Each name opens something: a sealed value, or an envelope under a key. Where it may be mentioned, and why.
ALLOWED = {
    "unseal": {
        "api/kit/crypto/vault.py",  # its home; `reseal` keeps the secret inside
        "api/toolbox/credentials/static.py",  # opens credentials in order to send them
        "api/servers/config_sealing.py",  # opens a server's headers, which are sealed together, to change some of them
        "api/connections/encryption.py",  # opens tokens and client secrets to send or revoke them
        "api/connections/revocation/job.py",  # opens the tokens to revoke, which it sealed itself
    },
    "decrypt": {
        "api/kit/crypto/envelope.py",  # its home
        "api/kit/crypto/vault.py",  # opens values
        "api/kit/crypto/root_keys.py",  # opens data keys
        "api/kit/crypto/kms_root_keys.py",  # asks KMS to
        "api/access/idempotency/records.py",  # an answer, under the API key of who gets it back; no data key opens it
    },
}


def mentions(source: str) -> set[str]:
    """The names of `ALLOWED` that the code calls, hands on, imports, defines or spells for `getattr`."""
    result: set[str] = set()
    for node in ast.walk(parsed(source)) if any(name in source for name in ALLOWED) else ():
        match node:
            case ast.Attribute(attr=name) | ast.Name(id=name) | ast.alias(name=name) | ast.Constant(value=str(name)):
                result.add(name.rpartition(".")[2])
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                result.add(name)
    return result & ALLOWED.keys()


@pytest.mark.requirement("ENC-15")
def test_secrets_are_unsealed_only_where_they_are_used() -> None:
    files = [file for folder in CODE for file in (PROJECT / folder).rglob("*.py")]
    names = {(name, str(file.relative_to(PROJECT))) for file in files for name in mentions(file.read_text())}
    allowed = {(name, file) for name, places in ALLOWED.items() for file in places}

    assert names - allowed == set(), "these files may not open what is sealed"
    assert allowed - names == set(), "these files do not need the permission they have"


@pytest.mark.requirement("ENC-15")
@pytest.mark.parametrize(
    "source",
    [
        "token = await self._vault.unseal(partition, place, sealed)",
        "opened = map(vault.unseal, sealed)",
        "from api.kit.crypto.envelope import decrypt",
        "from api.kit.crypto.envelope import decrypt as show",
        "import api.kit.crypto.envelope as e; e.decrypt(key, context, envelope)",
        "getattr(vault, 'unseal')(partition, place, sealed)",
        "async def unseal(): ...",
    ],
)
def test_every_form_of_unsealing_is_detected(source: str) -> None:
    assert mentions(source)


def test_sealing_is_allowed_everywhere() -> None:
    assert not mentions("sealed = (await vault.sealing(partition)).seal(place, secret)  # unseal, decrypt")
