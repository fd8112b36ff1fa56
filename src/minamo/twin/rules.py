"""Discord's limits as data: every number that a test may want to reduce, with its reason.

Sources: the official API documentation; where it is silent, statements of Discord's staff in its
issue tracker, or observations of many bots. `docs/twin.md` lists them for readers.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from attrs import field, frozen


class Style(Enum):
    """The way in which a bucket refills."""

    #: One request is restored every `per_s / count` seconds; message routes do so since 2022.
    LEAKY = "leaky"
    #: All requests are restored together at the end of the window.
    FIXED = "fixed"


@frozen
class Limit:
    """A maximum of `count` requests per `per_s` seconds."""

    count: int
    per_s: float
    style: Style = Style.LEAKY


def _limits() -> Mapping[str, Limit]:
    # Observed, never documented: "rate limits should not be hard coded". The twin has to choose.
    return {
        "message.create": Limit(5, 5.0),
        "message.edit": Limit(5, 5.0),
        "message.delete.new": Limit(5, 1.0),  # younger than 10 s
        "message.delete": Limit(3, 0.33),
        "message.delete.old": Limit(30, 4.0),  # older than two weeks
        "typing": Limit(5, 5.0),
        "webhook": Limit(5, 2.0),  # staff: 5 per 2 s and webhook
        "webhook.message": Limit(5, 2.0),
        # A fixed window: hikari treats resets less than 50 ms apart as one window, so it would
        # misread a leak that fast.
        "other": Limit(30, 1.0, Style.FIXED),
    }


@frozen(kw_only=True)
class Rules:
    """The rules of one twin. `attrs.evolve(rules, …)` or keywords change single numbers."""

    # Messages.  Lengths are code points: Discord's API counts as Python's `len()` does.
    content_max: int = 2_000
    embeds_max: int = 10
    embed_total_max: int = 6_000  # over all embeds of a message
    embed_title_max: int = 256
    embed_description_max: int = 4_096
    embed_fields_max: int = 25
    embed_field_name_max: int = 256
    embed_field_value_max: int = 1_024
    embed_footer_max: int = 2_048
    embed_author_max: int = 256
    files_max: int = 10
    file_bytes_max: int = 10 * 1024 * 1024  # of a server without boosts
    nonce_max: int = 25
    nonce_window_s: float = 180.0  # "in the past few minutes"
    action_rows_max: int = 5
    row_buttons_max: int = 5
    components_max: int = 40  # Components V2, nested ones counted
    components_text_max: int = 4_000
    components_bytes_max: int = 10_170  # beyond it Discord answers HTTP 500
    reactions_max: int = 20  # different emoji on a message
    pins_max: int = 250
    typing_s: float = 10.0

    # Rate limits.
    limits: Mapping[str, Limit] = field(factory=_limits)
    global_limit: Limit = Limit(50, 1.0, Style.FIXED)
    edit_old_after_s: float = 3_600.0
    edit_old: Limit = Limit(3, 6.0)  # 429 with code 30046
    webhook_hidden: Limit = Limit(30, 60.0)  # per channel, announced by no header
    invalid_max: int = 10_000  # answers 401, 403, 429 ...
    invalid_window_s: float = 600.0  # ... in this time, then the address is banned
    rate_limits: bool = True

    # Webhooks.
    webhooks_max: int = 15
    webhook_name_max: int = 80
    webhook_names_refused: tuple[str, ...] = ("clyde", "discord")

    # Interactions.
    interaction_answer_s: float = 3.0
    interaction_token_s: float = 900.0
    user_install_follow_ups_max: int = 5

    # Servers.
    slowmode_binds_bots: bool = False  # documented: "bots … are unaffected"
    automod_words: tuple[str, ...] = ()
    harmful_links: tuple[str, ...] = ()

    # Gateway.
    heartbeat_interval_ms: int = 41_250
    gateway_payloads: Limit = Limit(120, 60.0, Style.FIXED)  # per connection; beyond it 4008
    #: Seconds between two IDENTIFYs, else op 9. Discord's value is 5; tests begin sessions faster.
    identify_every_s: float = 0.0
    resume_window_events: int = 1_000
    #: MESSAGE_CONTENT, GUILD_MEMBERS, GUILD_PRESENCES as enabled in the developer portal.
    privileged_intents: int = (1 << 15) | (1 << 1) | (1 << 8)

    def limit(self, family: str) -> Limit:
        """Return the limit of a route family, which is `other` for most."""
        return self.limits.get(family) or self.limits["other"]


def faster(rules: Rules, times: float) -> dict[str, Limit]:
    """Return the per-route limits with every period divided by *times*, to shorten tests.

    Keep leaky limits above 50 ms a request (`times` up to 10 for messages): hikari reads faster
    ones as windows and gets 429s that the real numbers would not cause.
    """
    return {
        name: Limit(limit.count, limit.per_s / times, limit.style)
        for name, limit in rules.limits.items()
    }
