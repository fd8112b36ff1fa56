"""Short codes for Discord's refusals, as used in receipts.

Codes, never messages: an error text of Discord or hikari can contain a webhook's token.
"""

from __future__ import annotations

from collections.abc import Mapping

#: Discord's own error codes that a sender of text can receive.
BY_CODE: Mapping[int, str] = {
    10003: "unknown_channel",
    10004: "unknown_guild",
    10008: "unknown_message",
    10013: "unknown_user",
    10015: "unknown_webhook",
    10062: "interaction_expired",
    20009: "explicit_content",
    20016: "slow_mode",
    20022: "edit_limit",
    20028: "write_limit",
    20029: "write_limit",
    20031: "words_not_allowed",
    30007: "webhook_limit",
    30046: "edit_limit",
    40004: "sending_disabled",
    40005: "too_large",
    40058: "forum_needs_a_thread",
    40060: "interaction_answered",
    40094: "follow_up_limit",
    50001: "no_access",
    50003: "not_in_direct_messages",
    50005: "not_ours_to_edit",
    50006: "empty_message",
    50007: "direct_messages_closed",
    50008: "not_a_text_channel",
    50013: "no_permission",
    50024: "wrong_kind_of_channel",
    50027: "bad_token",
    50035: "bad_form",
    50045: "too_large",
    50083: "thread_archived",
    50278: "direct_messages_closed",
    160002: "no_history_to_reply",
    160004: "thread_exists",
    160005: "thread_locked",
    160006: "thread_limit",
    200000: "automod",
    220001: "forum_needs_a_thread",
    240000: "harmful_link",
}

_BY_STATUS: Mapping[int, str] = {
    400: "bad_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    413: "too_large",
}

UNKNOWN_MESSAGE = 10008


def reason_for(status: int, code: int) -> str:
    """Return the short code of a refusal; Discord's code is preferred to the HTTP status."""
    return BY_CODE.get(code) or _BY_STATUS.get(status) or f"http_{status}"
