"""Channels are found by name, and an empty time range is reported as such."""

from typing import Any

import pytest

from demo.services.slack.data import GENERAL, channel
from integrations.service_client import ToolFailed
from tests.integrations.slack.conftest import Slack


async def test_an_exact_name_comes_before_one_that_looks_like_it(slack: Slack) -> None:
    alike = {**channel("C0ALIKE0001", "büro"), "name_normalized": "buro"}
    slack.fake.channels = [alike, *slack.fake.channels, channel("C0BURO00001", "buro")]
    slack.fake.messages |= {"C0BURO00001": [], "C0ALIKE0001": []}
    assert (await slack.post(channel="#buro", text="Hi")).channel == "C0BURO00001"
    assert (await slack.post(channel="#büro", text="Hi")).channel == "C0ALIKE0001"


async def test_two_channels_with_one_name_require_an_id(slack: Slack) -> None:
    slack.fake.channels += [channel("C0DEAL00001", "deal"), channel("C0DEAL00002", "deal", is_private=True)]
    with pytest.raises(ToolFailed, match=r"2 channels named #deal: C0DEAL00001 \(public\), C0DEAL00002 \(private\)"):
        await slack.post(channel="#deal", text="Hi")
    assert slack.fake.posted == []


@pytest.mark.parametrize(
    ("bounds", "text"),
    [
        ({"oldest": "2030-01-01"}, "without `oldest` the"),
        ({"latest": "2020-01-01"}, "without `latest` the"),
        ({"oldest": "2020-01-01", "latest": "2020-01-02"}, "without `oldest` and `latest` the"),
    ],
)
async def test_an_empty_time_range_is_not_an_empty_channel(slack: Slack, bounds: Any, text: str) -> None:
    result = await slack.read(channelId=GENERAL, **bounds)
    assert text in result.structured()["hint"]
    assert result.text() == f"No messages in {GENERAL}. {result.hint}"


async def test_a_time_that_ends_before_it_begins_is_refused(slack: Slack) -> None:
    with pytest.raises(ToolFailed, match="`oldest` is after `latest`"):
        await slack.read(channelId=GENERAL, oldest="2026-11-17", latest="2026-11-16")


async def test_a_long_post_returns_only_its_beginning(slack: Slack) -> None:
    assert (await slack.post(channel=GENERAL, text="x" * 12_000)).message == "x" * 299 + "…"
