"""Unauthenticated requests are refused, with a reason that does not help to guess a key."""

import json
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx2
import pytest

from api.access.api_key import ApiKey
from api.access.api_key_scheme import MISTYPED, NO_KEY_FORM
from api.access.authenticator import EXPIRED as KEY_EXPIRED
from api.access.authenticator import NO_CREDENTIALS, NOT_A_KEY
from api.errors import Unauthorized
from api.kit.clock import rfc3339
from api.kit.crypto.secret import Secret
from api.main.settings import Settings
from tests.fakes.still_clock import StillClock
from tests.harness import Plugboard, Workspace, caller, served
from tests.operations import GUARDED, NOTION, OPERATIONS, SOME_IDS, Operation, stripped

Headers = list[tuple[str, str]]
# What a browser is answered that comes with no ticket and no state of ours; all else that is open just answers.
EXPIRED = (303, "/connected?error=expired")
SENT = {
    "showConnect": EXPIRED,
    "goOnConnecting": EXPIRED,
    "finishConnecting": EXPIRED,
    "finishConnectingByIssuer": EXPIRED,
    "showConnected": (400, None),
}


@pytest.fixture(scope="module")
def clock() -> StillClock:
    return StillClock()


@pytest.fixture(scope="module")
def wronged(tmp_path_factory: pytest.TempPathFactory, clock: StillClock) -> Iterator[Workspace]:
    with served(Settings(data_dir=tmp_path_factory.mktemp("refusals")), clock) as plugboard:
        yield plugboard.make_workspace()


@pytest.fixture(scope="module")
def bad_keys(wronged: Workspace, clock: StillClock) -> dict[str, Headers]:
    workspace = wronged
    good = workspace.key
    revoked = workspace.make_key("admin")
    assert workspace.admin.delete(f"{workspace.api_keys}/{revoked['id']}").status_code == 204
    expired = workspace.make_key("admin", expiresAt=rfc3339(clock.now() + 60))["apiKey"]
    clock.advance(60)
    own = ApiKey.parse(good)
    assert own is not None
    wrong_secret = ApiKey(own.key_id, Secret("0" * 32)).text().reveal_text()
    unknown = ApiKey.new().text().reveal_text()
    return {
        "none": [],
        "empty": [("Authorization", "")],
        "no key": [("Authorization", "Bearer")],
        "malformed": [("Authorization", "Bearer hello")],
        "wrong checksum": [("Authorization", f"Bearer {good[:-1]}{'a' if good[-1] != 'a' else 'b'}")],
        "unknown": [("Authorization", f"Bearer {unknown}")],
        "wrong secret": [("Authorization", f"Bearer {wrong_secret}")],
        "revoked": [("Authorization", f"Bearer {revoked['apiKey']}")],
        "expired": [("Authorization", f"Bearer {expired}")],
        "two": [("Authorization", f"Bearer {good}"), ("Authorization", f"Bearer {good}")],
        "other scheme": [("Authorization", f"Basic {good}")],
        "no scheme": [("Authorization", good)],
        "joined": [("Authorization", f"Bearer {good}, Bearer {good}")],
        "another header": [("X-Api-Key", good), ("Cookie", f"key={good}")],
        "bytes": [("Authorization", "Bearer \xff\xfe")],
    }


REASONS = {
    **dict.fromkeys(("none", "another header"), NO_CREDENTIALS),
    **dict.fromkeys(("empty", "no key", "malformed", "two", "other scheme", "no scheme", "bytes"), NOT_A_KEY),
    "joined": NO_KEY_FORM,
    "wrong checksum": MISTYPED,
    **dict.fromkeys(("unknown", "wrong secret", "revoked"), Unauthorized().detail),  # nobody learns which ids exist
    "expired": KEY_EXPIRED,
}


def _without_detail(response: tuple[int, bytes, list[tuple[str, str]]]) -> str:
    status, body, headers = response
    problem = {name: value for name, value in json.loads(body).items() if name != "detail"}
    return str((status, problem, [header for header in headers if header[0] != "content-length"]))


def sent(workspace: Workspace, operation: Operation, headers: Headers) -> httpx2.Response:
    raw = [(name.encode(), value.encode("latin-1")) for name, value in headers]
    path = operation.path({**SOME_IDS, "workspaceId": workspace.id})
    with caller(workspace.plugboard.url) as anyone:
        return anyone.request(operation.method, path, headers=raw, content=b"{}" if operation.takes_body else None)


@pytest.mark.requirement("AUT-03", "AUT-04", "AUT-06")
@pytest.mark.parametrize("operation", GUARDED, ids=str)
def test_an_invalid_key_gets_a_response_that_does_not_help_to_guess_one(
    wronged: Workspace, operation: Operation, bad_keys: dict[str, Headers]
) -> None:
    responses = {kind: stripped(sent(wronged, operation, headers)) for kind, headers in bad_keys.items()}

    assert {status for status, _, _ in responses.values()} == {401}
    details = {kind: json.loads(body).pop("detail") for kind, (_, body, _) in responses.items()}
    assert details == {kind: REASONS[kind] for kind in bad_keys}
    assert len({_without_detail(response) for response in responses.values()}) == 1
    _status, body, headers = responses["none"]
    assert b'"code":"unauthorized"' in body
    assert ("www-authenticate", "Bearer") in headers


@pytest.mark.requirement("AUT-06")
def test_an_invalid_key_is_refused_in_its_own_workspace(workspace: Workspace) -> None:
    revoked = workspace.make_key("admin")
    late = workspace.plugboard.caller(revoked["apiKey"])
    assert late.get(workspace.servers).status_code == 200

    workspace.admin.delete(f"{workspace.api_keys}/{revoked['id']}")

    nobody = workspace.plugboard.caller(ApiKey.new().text().reveal_text())
    for path in (workspace.path, workspace.servers, workspace.audit, "/api/workspaces", "/api/services"):
        assert stripped(late.get(path)) == stripped(nobody.get(path))
        assert late.get(path).status_code == 401


@pytest.mark.parametrize("operation", [operation for operation in OPERATIONS if operation.is_open], ids=str)
def test_public_routes_reveal_no_workspace(plugboard: Plugboard, operation: Operation) -> None:
    workspace = plugboard.make_workspace("Invisible workspace")

    response = operation.send(plugboard.caller(), SOME_IDS)

    assert (response.status_code, response.headers.get("Location")) == SENT.get(operation.id, (200, None))
    assert not [text for text in (workspace.id, "Invisible workspace") if text in response.text + str(response.headers)]


def test_a_ticket_page_shows_only_the_names_of_its_server_and_workspace(plugboard_with_notion: Plugboard) -> None:
    workspace = plugboard_with_notion.make_workspace("Acme & Sons")
    server, other = workspace.make_server(**NOTION | {"name": "Our notes"}), workspace.make_server(name="Not for you")
    ticket = workspace.admin.get(f"{workspace.servers}/{server['id']}/oauth/authorize").json()["authUrl"]

    page = plugboard_with_notion.caller().get(urlsplit(ticket).path).text

    assert "Acme &amp; Sons" in page
    assert "Our notes" in page
    for hidden in (workspace.id, workspace.key, server["id"], other["id"], "Not for you", "plugboard-at-notion"):
        assert hidden not in page
