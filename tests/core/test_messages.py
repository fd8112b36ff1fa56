"""Messages and receipts as data: validation, sizes, and what counts as lost."""

from __future__ import annotations

import pytest

from minamo.core.messages import (
    AllowedMentions,
    Extras,
    MessageSource,
    OutgoingFile,
    OutgoingMessage,
    Receipt,
)
from minamo.errors import BadSetting


def test_allowed_mentions_accept_any_collection_of_ids() -> None:
    mentions = AllowedMentions(users=[1, 2], roles=frozenset({3}))
    assert mentions == AllowedMentions(users=(1, 2), roles=(3,))


@pytest.mark.parametrize(
    "wrong", [{"users": True}, {"users": (True,)}, {"roles": ("3",)}, {"everyone": 1}]
)
def test_allowed_mentions_refuse_what_would_notify_everyone(wrong: dict[str, object]) -> None:
    with pytest.raises(BadSetting, match=next(iter(wrong))):
        AllowedMentions(**wrong)  # type: ignore[arg-type]


def test_a_file_is_uploaded_whatever_its_text() -> None:
    file = OutgoingFile.of_text("rest.md", "é\ud800")
    assert (file.data, file.characters) == ("é?".encode(), 2)


@pytest.mark.parametrize(
    ("outcome", "kind", "lost"),
    [
        ("delivered", "create", False),
        ("unknown", "create", True),
        ("refused", "edit", True),
        ("not_sent", "delete", False),
    ],
)
def test_a_receipt_is_lost_if_text_may_be_missing(outcome: str, kind: str, lost: bool) -> None:
    receipt = Receipt(outcome=outcome, kind=kind, channel_id=1, index=0, characters=3)  # type: ignore[arg-type]
    assert receipt.lost is lost


@pytest.mark.parametrize("part", ["components", "embeds", "attachments"])
def test_extras_count_if_there_is_any_part(part: str) -> None:
    assert Extras(**{part: (object(),)})
    assert not Extras()


class Plain(MessageSource):
    """A source that has nothing but what every source must have."""

    waiting = 0

    def take(self, most: int | None = None, room: int | None = None) -> list[OutgoingMessage]:
        return []

    def withdraw(self, reason: str) -> None: ...


def test_a_source_makes_new_messages_without_a_limit_unless_it_says_otherwise() -> None:
    source = Plain()
    source.finish()
    assert (source.kind, source.limited, source.can_split) == ("create", False, False)
    with pytest.raises(NotImplementedError):
        source.take_rest()
    with pytest.raises(NotImplementedError):
        source.put_rest_back()
