"""What does Slack mean by an error, and what can be done about it?"""

from __future__ import annotations

from collections.abc import Mapping

from integrations.json_object import Json
from integrations.service_client import CredentialRejected, FailedKind, RateLimited, Rejected, ServerTrouble, Verdict

LOOK_FIRST = (
    "The message may have been posted all the same: look with `slack_get_channel_history` before you post it again."
)
MOVING_ON = (
    "Slack is moving this workspace into an organization; until that is done, it answers only now and then. "
    "Try again later."
)

ENDED = frozenset({"account_inactive", "invalid_auth", "not_authed", "token_expired", "token_revoked"})
BUSY = frozenset({"ratelimited", "rate_limited"})
MOVING = frozenset({"org_login_required", "team_added_to_org"})
TROUBLE = frozenset({"fatal_error", "internal_error", "service_unavailable"})
"""On Slack's side, after some of the work may have been done."""

NOT_SEEN = (
    "Slack knows no such channel that the bot can see. Take the ID from `slack_list_channels`; a private channel is "
    "listed only after somebody in it has written `/invite @{bot}`."
)
ONLY_SOME = "Only some people may post in this channel. Somebody who runs the channel has to let the app post there."
TOO_LONG = "The message is too long for Slack. Post it in parts: the first one, then the others with its `threadTs`."
NOT_A_THREAD = "There is no message with this `threadTs` in the channel. Take `ts` from `slack_get_channel_history`."
NO_TIME = (
    "`{}` is no time that Slack takes. Give a date, a time such as 2026-01-31T09:00:00Z, or the `ts` of a message."
)
BY_ADMIN = "An administrator of this Slack workspace has to allow it ({error})."

TEXTS: Mapping[str, str] = {
    "access_denied": BY_ADMIN,
    "channel_not_found": NOT_SEEN,
    "channel_type_not_supported": "This can't be done in a conversation of this kind; it works in channels.",
    "ekm_access_denied": BY_ADMIN,
    "enterprise_is_restricted": BY_ADMIN,
    "is_archived": "The channel is archived: nothing can be posted there. Choose another one.",
    "message_limit_exceeded": "This Slack workspace has reached its limit of messages. It is raised in Slack's plan.",
    "messages_tab_disabled": "The app's Messages tab is off, so the bot can't write to this person. Post in a channel.",
    "method_not_supported_for_channel_type": "This can't be done in a conversation of this kind; it works in channels.",
    "missing_scope": (
        "The connection lacks the right `{needed}`. It has to be added to the Slack app's bot token scopes, and then "
        "this server connected again. Granted now: {provided}."
    ),
    "no_permission": "The bot may not do this here. It may help to write `/invite @{bot}` in the channel.",
    "not_allowed_token_type": "Slack lets no bot do this.",
    "not_in_channel": "The bot is not in this channel. Somebody in it has to write `/invite @{bot}` there.",
    "restricted_action": BY_ADMIN,
    "restricted_action_non_threadable_channel": "This channel has no threads: post without `threadTs`.",
    "restricted_action_read_only_channel": ONLY_SOME,
    "restricted_action_thread_locked": "This thread is locked: nobody can reply to it any more.",
    "restricted_action_thread_only_channel": "Here one can only reply in threads: post with the `threadTs` of one.",
    "team_access_not_granted": "The app is not installed in the workspace that this channel belongs to.",
    "team_not_found": "The app is not installed in the workspace that this channel belongs to.",
    "two_factor_setup_required": BY_ADMIN,
}
WRONG: Mapping[str, str] = {
    "cannot_reply_to_message": "Nobody can reply to this message: post without `threadTs`.",
    "invalid_cursor": "The `cursor` is not valid any more. Start again without it.",
    "invalid_limit": "Slack does not take this `limit`. Leave it out, or ask for 15.",
    "invalid_thread_ts": NOT_A_THREAD,
    "invalid_ts_latest": NO_TIME.format("latest"),
    "invalid_ts_oldest": NO_TIME.format("oldest"),
    "msg_blocks_too_long": TOO_LONG,
    "msg_too_long": TOO_LONG,
    "no_text": "The message has no text.",
    "thread_not_found": NOT_A_THREAD,
}
"""The arguments are what is wrong."""


def meaning(said: Json, bot: str) -> Verdict:
    """Of an answer that says `ok: false`, whatever its status."""
    error = str(said.get("error") or "unknown_error")
    if error in ENDED:
        return CredentialRejected()
    if error in BUSY:
        return RateLimited()
    if error in TROUBLE:
        return ServerTrouble(f"Slack had trouble of its own ({error}).", if_maybe_applied=LOOK_FIRST)
    if error in MOVING:
        return Rejected(MOVING_ON, "upstream_unavailable")
    if error == "request_timeout":
        return ServerTrouble("Slack received only a part of the request.", not_applied=True)
    return _no(error, said, bot)


def _no(error: str, said: Json, bot: str) -> Rejected:
    kind: FailedKind = "invalid_arguments" if error in WRONG else "upstream_refused"
    text = WRONG.get(error) or TEXTS.get(error)
    if text is None:
        return Rejected(f"Slack refused it: {error}{_details(said)}.", kind)
    rights = {"needed": said.get("needed") or "it needs", "provided": said.get("provided") or "not told"}
    return Rejected(text.format(bot=bot, error=error, **rights), kind)


def _details(said: Json) -> str:
    told = (said.get("response_metadata") or {}).get("messages") or []
    return f" ({'; '.join(map(str, told[:3]))})" if told else ""
