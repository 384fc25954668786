"""The texts that a model reads of each tool, compared with the approved ones in snapshots/."""

from functools import partial

import pytest

from demo.oauth_provider.server import OAuthProvider
from tests.harness import Plugboard
from tests.toolkits import scenes
from tests.toolkits.connected_service import assert_approved, connected
from tests.toolkits.hubspot import hubspot_texts
from tests.toolkits.linear import linear_texts
from tests.toolkits.notion import notion_texts
from tests.toolkits.posthog import posthog_texts
from tests.toolkits.scenes import ApprovedTexts, Case
from tests.toolkits.slack import slack_texts

ALL = (notion_texts.TEXTS, linear_texts.TEXTS, hubspot_texts.TEXTS, slack_texts.TEXTS, posthog_texts.TEXTS)
EACH = [pytest.param(texts, case, id=case.tool) for texts in ALL for case in texts.cases]


@pytest.mark.parametrize(("texts", "case"), EACH)
def test_texts_for_valid_and_invalid_calls_are_the_approved_ones(
    plugboard: Plugboard, provider: OAuthProvider, texts: ApprovedTexts, case: Case
) -> None:
    with connected(texts.kind, plugboard, provider, strict=case.strict) as service:
        text = scenes.play_calls(service, case)

    assert_approved(texts.kind.service, case.tool, text)


@pytest.mark.parametrize("texts", ALL, ids=str)
def test_texts_for_failed_calls_are_the_approved_ones(
    plugboard: Plugboard, provider: OAuthProvider, texts: ApprovedTexts
) -> None:
    strict = all(case.strict for case in texts.cases)
    connecting = partial(connected, texts.kind, plugboard, provider, strict=strict)

    for case, text in scenes.play_failures(texts, connecting):
        assert_approved(texts.kind.service, f"{case.tool}.failures", text)
