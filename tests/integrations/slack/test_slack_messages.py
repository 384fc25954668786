"""Error texts say what happened, who can fix it and what to do next."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from demo.services.slack.data import GENERAL, channel
from integrations.errors import Unreachable, UnreadableResponse, UpstreamTimeout
from integrations.service_client import ToolFailed
from integrations.slack.client import SlackApi
from integrations.slack.errors import LOOK_FIRST
from integrations.slack.tools import slack_get_channel_history, slack_post_message
from integrations.tool import ServiceTool
from tests.integrations.scripted_http import ScriptedResponse, ScriptedVendor
from tests.integrations.slack.conftest import Slack

WHO = ScriptedResponse(200, {"ok": True, "url": "https://acme.slack.com/", "user": "plugboard"})
DOWN = ScriptedResponse(503, b"", reason="Service Unavailable")
PART = ScriptedResponse(200, {"ok": False, "error": "request_timeout"})
POST: dict[str, Any] = {"channel": GENERAL, "text": "Once"}


class ScriptedSlack(ScriptedVendor[SlackApi]):
    kind = SlackApi
    origin = "https://slack.com"


class Slow(ScriptedSlack):
    """After what is written it says nothing more."""

    @asynccontextmanager
    async def request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes = b"", *, lasting: bool = False
    ) -> AsyncIterator[ScriptedResponse]:
        if not self._answers:
            await asyncio.sleep(5)
        async with super().request(method, url, headers, body, lasting=lasting) as answer:
            yield answer


def refusal(error: str, **more: object) -> ScriptedResponse:
    return ScriptedResponse(200, {"ok": False, "error": error, **more})


async def failure(
    *answers: ScriptedResponse | Exception, tool: ServiceTool = slack_post_message, **args: Any
) -> ToolFailed:
    script = ScriptedSlack(*answers)
    with pytest.raises(ToolFailed) as raised:
        await tool.run(script.api, tool.params.model_validate(args or POST))
    return raised.value


@pytest.mark.parametrize(
    ("answers", "kind"),
    [
        ([DOWN] * 3, "upstream_unavailable"),
        ([ScriptedResponse(200, b"<html>")] * 3, "upstream_unavailable"),
        ([UnreadableResponse("Too much.")], "upstream_unavailable"),
        ([Unreachable("Nobody.", sent=False)] * 3, "upstream_unavailable"),
        ([UpstreamTimeout("Late.")], "timeout"),
        ([refusal("team_added_to_org")], "upstream_unavailable"),
        ([ScriptedResponse(429, {}, {"retry-after": "90"})], "rate_limited"),
        ([WHO, *[Unreachable("Nobody.", sent=False)] * 3], "upstream_unavailable"),
        ([WHO, ScriptedResponse(429, {}, {"retry-after": "90"})], "rate_limited"),
        ([WHO, *[PART] * 3], "upstream_unavailable"),
    ],
    ids=str,
)
async def test_a_failure_before_posting_says_that_nothing_was_posted(
    answers: list[ScriptedResponse | Exception], kind: str
) -> None:
    failed = await failure(*answers)
    assert failed.kind == kind
    assert failed.text.endswith(". Nothing was posted.")
    assert LOOK_FIRST not in failed.text


@pytest.mark.parametrize(
    "response",
    [
        DOWN,
        ScriptedResponse(200, b"<html>"),
        ScriptedResponse(200, {"ok": None}),
        UnreadableResponse("Too much."),
        Unreachable("Cut off.", sent=True),
        UpstreamTimeout("Late."),
        refusal("internal_error"),
    ],
    ids=str,
)
async def test_an_unknown_outcome_says_how_to_check_the_post(response: ScriptedResponse | Exception) -> None:
    failed = await failure(WHO, response)
    assert failed.text.endswith(LOOK_FIRST)
    assert "Nothing was posted" not in failed.text


@pytest.mark.parametrize(("before", "what"), [(1, LOOK_FIRST), (0, "Nothing was posted.")])
async def test_a_timeout_says_whether_the_message_was_sent(before: int, what: str) -> None:
    script = Slow(*[WHO] * before, seconds_left=0.4)
    with pytest.raises(ToolFailed) as raised:
        await slack_post_message.run(script.api, slack_post_message.params.model_validate(POST))
    assert (raised.value.kind, raised.value.text) == ("timeout", f"Slack did not answer in time. {what}")


async def test_a_failed_read_does_not_mention_posting() -> None:
    failed = await failure(*[DOWN] * 3, tool=slack_get_channel_history, channelId=GENERAL)
    assert failed.text == "The service is not available (503 Service Unavailable). Try again later."


async def test_a_page_that_is_too_large_suggests_a_smaller_limit() -> None:
    failed = await failure(WHO, UnreadableResponse("Too much."), tool=slack_get_channel_history, channelId=GENERAL)
    assert failed.text.endswith("Ask for fewer messages: a smaller `limit`.")


async def test_without_a_date_header_an_absolute_date_is_requested() -> None:
    failed = await failure(WHO, tool=slack_get_channel_history, channelId=GENERAL, oldest="7d")
    assert (failed.kind, "give a date such as 2026-01-31" in failed.text) == ("invalid_arguments", True)


async def test_an_administrators_restriction_is_not_blamed_on_the_channel() -> None:
    failed = await failure(WHO, refusal("restricted_action"))
    assert failed.text == "An administrator of this Slack workspace has to allow this (restricted_action)."


@pytest.mark.parametrize(
    ("name", "similar"),
    [
        ("#suport", " Similar: #support."),
        ("helpdesk", " Similar: #support."),  # as it was called before
        ("launch", " Similar: #launch-2027."),
        ("#random", ""),
    ],
)
async def test_an_unknown_name_is_reported_with_similar_ones(slack: Slack, name: str, similar: str) -> None:
    with pytest.raises(ToolFailed) as raised:
        await slack.read(channelId=name)
    assert raised.value.kind == "invalid_arguments"
    assert raised.value.text == (
        f"The bot is not in a channel named #{name.removeprefix('#')}.{similar} Check the name with "
        "`slack_list_channels`; if the channel exists, one of its members has to write `/invite @plugboard` in it."
    )


async def test_an_archived_channel_is_found_by_its_name(slack: Slack) -> None:
    assert len((await slack.read(channelId="#old-shop")).messages) == 1
    with pytest.raises(ToolFailed, match="The channel is archived"):
        await slack.post(channel="#old-shop", text="Hi")


async def test_an_active_channel_comes_before_an_archived_one(slack: Slack) -> None:
    slack.fake.channels.insert(0, channel("C0FORMER001", "general", is_archived=True))
    assert (await slack.read(channelId="#general")).channel_id == GENERAL


async def test_a_list_with_a_next_page_is_not_shown_as_the_total(slack: Slack) -> None:
    result = await slack.call("list_channels", limit=2)
    assert result.text().startswith("2 channels, and more follow.\n")
    assert "\nLink to a channel: https://acme.slack.com/archives/<ID>\nMore follow: call again" in result.text()


async def test_a_post_says_how_to_reply_to_it(slack: Slack) -> None:
    posted = await slack.post(**POST)
    assert posted.text().endswith(f'To reply in its thread: `threadTs` "{posted.ts}".')
    assert "threadTs" not in (await ok_without_message()).text()


async def ok_without_message() -> Any:
    script = ScriptedSlack(WHO, ScriptedResponse(200, {"ok": True}))
    return await slack_post_message.run(script.api, slack_post_message.params.model_validate(POST))
