"""The failure and the text for each of Slack's error codes."""

from __future__ import annotations

from collections.abc import Mapping

from integrations.json_object import Json
from integrations.service_client import CredentialRejected, FailedKind, RateLimited, Rejected, ServerTrouble, Verdict

LOOK_FIRST = "The message may have been posted: check with `slack_get_channel_history` before you post it again."
MOVING_ON = (
    "Slack is moving this workspace into an organization and does not answer all requests until the move is complete. "
    "Try again later."
)

ENDED = frozenset({"account_inactive", "invalid_auth", "not_authed", "token_expired", "token_revoked"})
BUSY = frozenset({"ratelimited", "rate_limited"})
MOVING = frozenset({"org_login_required", "team_added_to_org"})
TROUBLE = frozenset({"fatal_error", "internal_error", "service_unavailable"})
"""Failures on Slack's side, possibly after part of the work was done."""

NOT_SEEN = (
    "The channel does not exist, or the bot cannot see it. Take the ID from `slack_list_channels`; a private channel "
    "is listed only after one of its members has written `/invite @{bot}` in it."
)
ONLY_SOME = "Only some people may post in this channel. A manager of the channel has to let the app post there."
TOO_LONG = (
    "The message is too long for Slack. Post the first part, then the other parts as replies with its `threadTs`."
)
NOT_A_THREAD = "The channel has no message with this `threadTs`. Take `ts` from `slack_get_channel_history`."
NO_TIME = "Slack does not accept this `{}`. Give a date, a time such as 2026-01-31T09:00:00Z, or the `ts` of a message."
ONLY_IN_CHANNELS = "Slack does not support this in this kind of conversation; it works in channels."
BY_ADMIN = "An administrator of this Slack workspace has to allow this ({error})."

TEXTS: Mapping[str, str] = {
    "access_denied": BY_ADMIN,
    "channel_not_found": NOT_SEEN,
    "channel_type_not_supported": ONLY_IN_CHANNELS,
    "ekm_access_denied": BY_ADMIN,
    "enterprise_is_restricted": BY_ADMIN,
    "is_archived": "The channel is archived, so nothing can be posted there. Choose another channel.",
    "message_limit_exceeded": "This Slack workspace has reached its message limit. Another Slack plan raises it.",
    "messages_tab_disabled": "The app's Messages tab is off, so the bot can't write to this person. Post in a channel.",
    "method_not_supported_for_channel_type": ONLY_IN_CHANNELS,
    "missing_scope": (
        "The connection is missing the scope `{needed}`. Add it to the Slack app's bot token scopes, then connect this "
        "server again. Granted now: {provided}."
    ),
    "no_permission": "The bot may not do this here. Writing `/invite @{bot}` in the channel may help.",
    "not_allowed_token_type": "Slack does not let bots do this.",
    "not_in_channel": "The bot is not in this channel. A member of the channel has to write `/invite @{bot}` there.",
    "restricted_action": BY_ADMIN,
    "restricted_action_non_threadable_channel": "This channel has no threads: post without `threadTs`.",
    "restricted_action_read_only_channel": ONLY_SOME,
    "restricted_action_thread_locked": "This thread is locked: it takes no more replies.",
    "restricted_action_thread_only_channel": "The channel takes only replies: post with the `threadTs` of a thread.",
    "team_access_not_granted": "The app is not installed in the workspace that this channel belongs to.",
    "team_not_found": "The app is not installed in the workspace that this channel belongs to.",
    "two_factor_setup_required": BY_ADMIN,
}
WRONG: Mapping[str, str] = {
    "cannot_reply_to_message": "This message takes no replies: post without `threadTs`.",
    "invalid_cursor": "`cursor` is not a valid cursor. Start again without it.",
    "invalid_limit": "Slack does not accept this `limit`. Leave it out, or ask for 15.",
    "invalid_thread_ts": NOT_A_THREAD,
    "invalid_ts_latest": NO_TIME.format("latest"),
    "invalid_ts_oldest": NO_TIME.format("oldest"),
    "msg_blocks_too_long": TOO_LONG,
    "msg_too_long": TOO_LONG,
    "no_text": "The message has no text.",
    "thread_not_found": NOT_A_THREAD,
}
"""Errors caused by the arguments."""


def verdict_of(response: Json, bot: str) -> Verdict:
    """The verdict on a response with `ok: false`, whatever its HTTP status."""
    error = str(response.get("error") or "unknown_error")
    if error in ENDED:
        return CredentialRejected()
    if error in BUSY:
        return RateLimited()
    if error in TROUBLE:
        return ServerTrouble(f"Slack reported an internal error ({error}).", if_maybe_applied=LOOK_FIRST)
    if error in MOVING:
        return Rejected(MOVING_ON, "upstream_unavailable")
    if error == "request_timeout":
        return ServerTrouble("Slack received only part of the request.", not_applied=True)
    return _rejection(error, response, bot)


def _rejection(error: str, response: Json, bot: str) -> Rejected:
    kind: FailedKind = "invalid_arguments" if error in WRONG else "upstream_refused"
    text = WRONG.get(error) or TEXTS.get(error)
    if text is None:
        return Rejected(f"Slack refused the request: {error}{_details(response)}.", kind)
    scopes = {"needed": response.get("needed") or "not named", "provided": response.get("provided") or "unknown"}
    return Rejected(text.format(bot=bot, error=error, **scopes), kind)


def _details(response: Json) -> str:
    messages = (response.get("response_metadata") or {}).get("messages") or []
    return f" ({'; '.join(map(str, messages[:3]))})" if messages else ""
