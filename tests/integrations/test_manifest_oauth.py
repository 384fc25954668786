from pathlib import Path

import pytest

from integrations import ManifestError, services
from integrations.manifest import load_service
from tests.integrations.sixth_service import SMALL, write_service

WITH_MORE = f"""{SMALL}
[oauth.account]
id = "team.id"

[oauth.errors]
BAD_CODE = "invalid_grant"

[oauth.revoke]
url = "https://sixth.example.com/revoke"
client_auth = "basic"
body = "form"
tokens = {{ access = "token" }}
"""


def test_a_manifest_maps_account_fields_and_error_codes(tmp_path: Path) -> None:
    service = load_service(write_service(tmp_path, WITH_MORE))

    assert service.oauth
    assert (service.oauth.account.id, service.oauth.account.name) == ("team.id", None)
    assert service.oauth.errors == {"BAD_CODE": "invalid_grant"}


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ('id = "team.id"', 'id = "team..id"', "oauth.account.id: "),
        ('id = "team.id"', 'id = "team[0]"', "oauth.account.id: "),
        ('id = "team.id"', 'id = ""', "oauth.account.id: "),
        ('id = "team.id"', 'email = "team.email"', "oauth.account.email: Extra inputs"),
        ('"invalid_grant"', '"no_idea"', "oauth.errors.BAD_CODE: "),
        (
            "pkce = true",
            'pkce = true\nauthorize_params = { state = "s" }',
            "authorize_params: a parameter of the OAuth request itself",
        ),
        (
            "pkce = true",
            'pkce = true\nauthorize_params = { code_challenge = "c" }',
            "authorize_params: a parameter of the OAuth request itself",
        ),
        ('client_auth = "basic"\nbody', 'client_auth = "body"\nbody', "revoke.client_auth: must be none or equal"),
    ],
)
def test_a_manifest_with_an_impossible_value_is_refused(tmp_path: Path, old: str, new: str, field: str) -> None:
    assert old in WITH_MORE
    path = write_service(tmp_path, WITH_MORE.replace(old, new, 1))

    with pytest.raises(ManifestError) as raised:
        load_service(path)

    assert field in str(raised.value)


def test_a_manifest_cannot_name_another_folder(tmp_path: Path) -> None:
    path = write_service(tmp_path, WITH_MORE)
    assert load_service(path).folder == path.parent

    path.write_text(f'folder = "/"\n{WITH_MORE}', encoding="utf-8")
    with pytest.raises(ManifestError, match="folder: Extra inputs"):
        load_service(path)


@pytest.mark.parametrize(
    ("name", "word", "meaning"),
    [
        ("slack", "invalid_refresh_token", "invalid_grant"),
        ("slack", "token_expired", "invalid_grant"),
        ("slack", "token_revoked", "invalid_grant"),
        ("slack", "invalid_code", "invalid_grant"),
        ("slack", "bad_client_secret", "invalid_client"),
        ("slack", "ratelimited", "slow_down"),
        ("slack", "fatal_error", "server_error"),
        ("hubspot", "BAD_REFRESH_TOKEN", "invalid_grant"),
        ("hubspot", "BAD_AUTH_CODE", "invalid_grant"),
        ("hubspot", "BAD_CLIENT_ID", "invalid_client"),
        ("notion", "unauthorized", "invalid_client"),
    ],
)
def test_vendor_error_codes_have_their_documented_meaning(name: str, word: str, meaning: str) -> None:
    oauth = services()[name].oauth

    assert oauth
    assert oauth.errors[word] == meaning
