import pytest

from integrations import load_toolkit, services
from integrations.service_client import CredentialRejected, RateLimited, Rejected, Reply, ServerTrouble
from integrations.slack.client import SlackApi
from integrations.slack.errors import TEXTS, WRONG, verdict_of
from integrations.slack.tools import TOOLS

SLACK = services()["slack"]


def test_the_tools_are_those_of_the_manifest() -> None:
    toolkit = load_toolkit(SLACK)
    assert toolkit is not None
    assert toolkit.client is SlackApi
    assert [(name, tool.writes) for name, tool in toolkit.tools.items()] == [
        (tool.name, tool.writes) for tool in SLACK.tools
    ]


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_parameter_is_described(tool: object) -> None:
    properties = tool.mcp_definition["inputSchema"]["properties"]  # type: ignore[attr-defined]
    assert [name for name, item in properties.items() if not item.get("description")] == []


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_description_is_short_enough_for_every_client(tool: object) -> None:
    assert 200 < len(tool.description) <= 900  # type: ignore[attr-defined]


def test_only_the_post_tool_writes() -> None:
    hints = {tool.name: tool.mcp_definition["annotations"] for tool in TOOLS}
    assert [name for name, hint in hints.items() if not hint["readOnlyHint"]] == ["slack_post_message"]
    assert hints["slack_post_message"]["idempotentHint"] is False
    assert hints["slack_post_message"]["destructiveHint"] is False


@pytest.mark.parametrize("error", ["invalid_auth", "token_expired", "token_revoked", "account_inactive", "not_authed"])
def test_a_revoked_token_is_recognised(error: str) -> None:
    assert verdict_of({"ok": False, "error": error}, "bot") == CredentialRejected()


def test_the_manifest_and_the_client_agree_on_token_errors() -> None:
    assert SLACK.probe is not None
    assert all(verdict_of({"error": item}, "bot") == CredentialRejected() for item in SLACK.probe.unauthorized)


@pytest.mark.parametrize("error", sorted({*TEXTS, *WRONG}))
def test_every_error_text_can_be_formatted(error: str) -> None:
    verdict = verdict_of({"ok": False, "error": error, "needed": "chat:write", "provided": "{x}"}, "bot")
    assert isinstance(verdict, Rejected)
    assert "{bot}" not in verdict.text
    assert verdict.kind == ("invalid_arguments" if error in WRONG else "upstream_refused")


@pytest.mark.parametrize("error", ["org_login_required", "team_added_to_org"])
def test_a_moving_workspace_is_temporarily_unavailable(error: str) -> None:
    verdict = verdict_of({"ok": False, "error": error}, "bot")
    assert isinstance(verdict, Rejected)
    assert verdict.kind == "upstream_unavailable"
    assert verdict.text.endswith("Try again later.")


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (Reply(429, "", {"retry-after": "30"}, {"ok": False, "error": "ratelimited"}), RateLimited(30.0)),
        (Reply(429, "", {"retry-after": "soon"}, None), RateLimited(None)),
        (Reply(200, "OK", {}, {"ok": False, "error": "rate_limited"}), RateLimited(None)),
        (Reply(200, "OK", {}, {"ok": True}), None),
    ],
)
def test_a_response_is_judged_by_its_body(reply: Reply, expected: object) -> None:
    assert verdict_on(reply) == expected


@pytest.mark.parametrize("ok", [1, "true", "false", None])
def test_ok_must_be_a_boolean(ok: object) -> None:
    assert isinstance(verdict_on(Reply(200, "OK", {}, {"ok": ok})), ServerTrouble)


@pytest.mark.parametrize("body", [None, [], "ok", {}, {"error": "x"}])
def test_an_unexpected_response_is_server_trouble(body: object) -> None:
    verdict = verdict_on(Reply(200, "OK", {}, body))
    assert isinstance(verdict, ServerTrouble)
    assert not verdict.not_applied


def verdict_on(reply: Reply) -> object:
    return SlackApi(None, "https://slack.com").verdict(reply)  # type: ignore[arg-type]  # nothing is asked
