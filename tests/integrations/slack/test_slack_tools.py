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
    assert [name for name, each in properties.items() if not each.get("description")] == []


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_description_is_short_enough_for_every_client(tool: object) -> None:
    assert 200 < len(tool.description) <= 900  # type: ignore[attr-defined]


def test_only_posting_is_said_to_write() -> None:
    hints = {tool.name: tool.mcp_definition["annotations"] for tool in TOOLS}
    assert [name for name, hint in hints.items() if not hint["readOnlyHint"]] == ["slack_post_message"]
    assert hints["slack_post_message"]["idempotentHint"] is False
    assert hints["slack_post_message"]["destructiveHint"] is False


@pytest.mark.parametrize("error", ["invalid_auth", "token_expired", "token_revoked", "account_inactive", "not_authed"])
def test_an_end_of_the_token_is_noticed(error: str) -> None:
    assert verdict_of({"ok": False, "error": error}, "bot") == CredentialRejected()


def test_what_the_manifest_takes_for_an_end_is_taken_for_one_here() -> None:
    assert SLACK.probe is not None
    assert all(verdict_of({"error": each}, "bot") == CredentialRejected() for each in SLACK.probe.unauthorized)


@pytest.mark.parametrize("error", sorted({*TEXTS, *WRONG}))
def test_every_text_can_be_told(error: str) -> None:
    verdict = verdict_of({"ok": False, "error": error, "needed": "chat:write", "provided": "{x}"}, "bot")
    assert isinstance(verdict, Rejected)
    assert "{bot}" not in verdict.text
    assert verdict.kind == ("invalid_arguments" if error in WRONG else "upstream_refused")


@pytest.mark.parametrize("error", ["org_login_required", "team_added_to_org"])
def test_a_workspace_that_moves_is_away_for_a_while(error: str) -> None:
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
def test_an_answer_is_judged_by_what_it_says(reply: Reply, expected: object) -> None:
    assert judged(reply) == expected


@pytest.mark.parametrize("ok", [1, "true", "false", None])
def test_only_a_plain_yes_or_no_is_one(ok: object) -> None:
    assert isinstance(judged(Reply(200, "OK", {}, {"ok": ok})), ServerTrouble)


@pytest.mark.parametrize("body", [None, [], "ok", {}, {"error": "x"}])
def test_what_is_no_answer_of_slacks_is_trouble(body: object) -> None:
    verdict = judged(Reply(200, "OK", {}, body))
    assert isinstance(verdict, ServerTrouble)
    assert not verdict.not_applied


def judged(reply: Reply) -> object:
    return SlackApi(None, "https://slack.com").verdict(reply)  # type: ignore[arg-type]  # nothing is asked
