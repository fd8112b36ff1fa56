"""Notices: which results have one, what it says, and how it gets behind the reply."""

from __future__ import annotations

import string
from typing import Any, get_args

import anyio
import pytest

from minamo.core.chunks import ErrorChunk, ErrorKind
from minamo.core.messages import NOBODY, Embed, Receipt
from minamo.core.result import Status, StopReason, StreamResult
from minamo.errors import BadSetting
from minamo.shell.delivery.interfaces import BY_CODE, Rejected, RetryLater, TextQueue, Unknown
from minamo.shell.delivery.lanes import Lanes, open_lanes
from minamo.shell.notices.localization import Languages, Wording
from minamo.shell.notices.notices import NOTICE_S, NoticeSettings, notice_for, quotable, send_notice
from minamo.shell.notices.phrases import PHRASES, SLOTS
from minamo.shell.stops.registry import StopKind, StopRequest, StopSignal
from support.fake_discord import FakeSender, run_with_virtual_clock

EN = Wording()
TROUBLE = Embed(title="Trouble", description="It did not work.")


def failed(kind: ErrorKind = "api_error", **more: Any) -> StreamResult:
    text = more.pop("text", "")
    return StreamResult(status="error", data=ErrorChunk(kind, **more), accumulated_text=text)


def lost(*reasons: str) -> StreamResult:
    told = [
        Receipt(outcome="refused", channel_id=1, index=n, characters=1, reason=reason)
        for n, reason in enumerate(reasons)
    ]
    fine = Receipt(outcome="delivered", channel_id=1, index=9, characters=1)
    return StreamResult(status="error", stop_reason="delivery_lost", receipts=(fine, *told))


def said(result: StreamResult, **settings: bool) -> str:
    made = notice_for(result, EN, NoticeSettings(**settings))
    return "" if made is None else made.description


@pytest.mark.parametrize("kind", get_args(ErrorKind))
@pytest.mark.parametrize("locale", PHRASES)
def test_every_kind_of_error_is_said_in_every_language(kind: ErrorKind, locale: str) -> None:
    made = notice_for(failed(kind, message="boom"), Languages().wording(locale))
    assert made is not None
    assert made.title == PHRASES[locale]["error_title"]
    assert made.description == PHRASES[locale][f"error_{kind}"]


@pytest.mark.parametrize("status", sorted(set(get_args(Status)) - {"error", "timeout"}))
def test_other_ends_need_no_notice(status: Status) -> None:
    assert notice_for(StreamResult(status=status), EN) is None


def test_an_empty_response_is_said_only_when_wanted() -> None:
    empty = StreamResult(status="empty_response")
    assert said(empty) == ""
    assert said(empty, tell_empty=True) == "The model had nothing to say."


def test_a_reply_at_its_length_limit_says_so() -> None:
    cut = StreamResult(status="completed", finish_reason="length", accumulated_text="And then")
    assert said(cut).startswith("It reached the limit for one answer.")
    spent = StreamResult(status="empty_response", finish_reason="length")
    assert "before it wrote any of it" in said(spent, tell_empty=True)
    guarded = StreamResult(status="completed", finish_reason="length", stop_reason="speaker_guard")
    assert said(guarded) == said(StreamResult(status="completed", finish_reason="stop")) == ""
    assert said(cut, tell_length=False) == said(spent, tell_length=False) == ""


@pytest.mark.parametrize("reason", ["inactivity", "deadline", "sdk_call_timeout", None])
def test_a_timeout_is_said_by_its_reason(reason: StopReason | None) -> None:
    result = StreamResult(status="timeout", stop_reason=reason)
    assert said(result) == PHRASES["en"][f"timeout_{reason or 'inactivity'}"]
    partly = StreamResult(status="timeout", stop_reason=reason, accumulated_text="Well")
    assert said(partly).endswith("\nThe answer above is not complete.")


@pytest.mark.parametrize(
    ("wait_s", "words"),
    [
        (None, "Please try again later."),
        (0.2, "Please try again in 1 s."),
        (30, "Please try again in 30 s."),
        (119, "Please try again in 119 s."),
        (119.5, "Please try again in about 2 min."),
        (3_600, "Please try again in about 60 min."),
        (7_201, "Please try again in about 3 h."),
        (86_400, "Please try again in about 24 h."),
        (86_401, "Please try again later."),
        (0, "Please try again later."),
        (-5, "Please try again later."),
        (float("inf"), "Please try again later."),
        (float("nan"), "Please try again later."),
    ],
)
def test_the_wait_is_said_where_it_is_known(wait_s: float | None, words: str) -> None:
    result = failed("rate_limit", retryable=True, retry_after=wait_s)
    assert said(result) == f"{PHRASES['en']['error_rate_limit']}\n{words}"


def test_nobody_is_told_to_try_again_in_vain() -> None:
    assert said(failed("content_blocked")) == PHRASES["en"]["error_content_blocked"]


def test_anything_thrown_is_an_error_without_its_words() -> None:
    result = StreamResult(status="error", data=RuntimeError("key sk-123 at https://x"))
    assert said(result) == PHRASES["en"]["error_api_error"]


def test_everything_can_be_suppressed() -> None:
    hushed = NoticeSettings(suppress_user_errors=True, tell_empty=True, quote_provider=True)
    results = (failed(), lost("automod"), StreamResult(status="timeout"))
    results += (StreamResult(status="empty_response"),)
    assert [notice_for(one, EN, hushed) for one in results] == [None] * 4


SECRETS = [
    "Incorrect API key provided: sk-abc123",
    "see https://example.invalid/keys",
    "see www.example.invalid",
    "Bearer abc",
    "your token is abc",
    "AIzaSyD4xLongLongLongLongLong is not valid",
    "mail to someone@example.invalid",
    "@everyone",
    " \n ",
]


@pytest.mark.parametrize("words", SECRETS)
def test_p21_what_may_hold_a_secret_is_never_quoted(words: str) -> None:
    result = failed("api_error", message=words)
    assert said(result) == said(result, quote_provider=True) == PHRASES["en"]["error_api_error"]


def test_harmless_words_are_quoted_when_wanted_and_only_then() -> None:
    result = failed("rate_limit", message="Quota *exceeded*\nfor <model> x")
    assert "uota" not in said(result)
    assert said(result, quote_provider=True).splitlines()[1] == (
        r"> Quota \*exceeded\* for \<model\> x"
    )
    assert len(quotable("ab " * 1_000)) == 200


@pytest.mark.parametrize(
    ("reasons", "key"),
    [
        (["automod"], "lost_blocked"),
        (["harmful_link", "undelivered"], "lost_blocked"),
        (["bad_form"], "lost_refused"),
        (["unknown_webhook"], "lost_refused"),
        (["connection"], "lost_unknown"),
        (["http_503"], "lost_unknown"),
        (["rate_limited"], "lost_unknown"),
        (["http_418"], None),
        (["closed"], None),
        (["stop"], None),
        (["connection", "unknown_channel"], None),
        ([], None),
    ],
)
def test_a_lost_message_is_told_where_that_helps(reasons: list[str], key: str | None) -> None:
    assert said(lost(*reasons)) == (PHRASES["en"][key] if key else "")


@pytest.mark.parametrize(
    "reason",
    [
        "unknown_channel",
        "unknown_guild",
        "no_access",
        "no_permission",
        "slow_mode",
        "direct_messages_closed",
        "thread_archived",
        "thread_locked",
        "interaction_expired",
    ],
)
def test_nothing_is_said_where_the_place_is_the_trouble(reason: str) -> None:
    assert reason in BY_CODE.values()
    assert notice_for(lost(reason), EN) is None


async def notice(lanes: Lanes, sender: FakeSender, **more: Any) -> Receipt:
    return await send_notice(lanes, sender, sender.place, TROUBLE, stream_id="s", **more)


def test_p20_a_notice_comes_after_the_reply_and_pings_nobody() -> None:
    sender = FakeSender()

    async def story() -> None:
        async with open_lanes() as lanes:
            reply = lanes.open(1, sender, TextQueue(list("abcdef")), stream_id="s")
            reply.deliver()
            reply.close()
            receipt = await notice(lanes, sender, reply_to=7)
            assert receipt.delivered
            await notice(lanes, sender)

    run_with_virtual_clock(story)
    assert sender.texts == [*"abcdef", "", ""]
    first = sender.posts[6][1]
    assert (first.embed, first.reply_to, first.ping) == (TROUBLE, 7, NOBODY)
    nonces = [post.nonce for _, post in sender.posts]
    assert len(set(nonces[:7])) == 7, "a notice has a nonce of its own"


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (Rejected("no_permission"), ("refused", "no_permission")),
        (RetryLater("rate_limited", 3_600), ("not_sent", "rate_limited")),
        (Unknown("connection"), ("unknown", "deadline")),
    ],
)
def test_a_notice_that_fails_is_only_a_receipt(answer: Any, outcome: tuple[str, str]) -> None:
    sender = FakeSender(script=lambda number, post: answer)

    async def story() -> None:
        async with open_lanes() as lanes:
            receipt = await notice(lanes, sender, deadline_s=5)
            assert (receipt.outcome, receipt.reason) == outcome

    run_with_virtual_clock(story)


def test_a_notice_does_not_wait_for_ever() -> None:
    async def story() -> None:
        async with open_lanes(drain_s=1) as lanes:
            for sender, outcome in (
                (FakeSender(1, latency_s=1e6), "unknown"),  # its own call hangs
                (FakeSender(2), "not_sent"),  # the reply before it never ends
            ):
                if outcome == "not_sent":
                    lanes.open(2, sender, TextQueue(), stream_id="t")
                began = anyio.current_time()
                receipt = await notice(lanes, sender)
                assert (receipt.outcome, receipt.reason) == (outcome, "deadline")
                assert anyio.current_time() - began == pytest.approx(NOTICE_S, abs=0.1)

    run_with_virtual_clock(story)


@pytest.mark.parametrize(
    ("kind", "reason"), [("user", "stop"), ("follow_up", "follow_up"), ("kill", "killed")]
)
@pytest.mark.parametrize("is_before", [False, True])
def test_a_request_ends_the_wait_of_a_notice(kind: StopKind, reason: str, is_before: bool) -> None:
    sender, signal = FakeSender(), StopSignal()

    async def story() -> None:
        async with open_lanes(drain_s=1) as lanes, anyio.create_task_group() as tasks:
            lanes.open(1, sender, TextQueue(), stream_id="t")  # the notice waits behind it

            async def request() -> None:
                await anyio.sleep(0 if is_before else 3)
                signal.request(StopRequest(kind=kind))

            if is_before:
                await request()
            else:
                tasks.start_soon(request)
            began = anyio.current_time()
            receipt = await notice(lanes, sender, stop_signal=signal)
            assert (receipt.outcome, receipt.reason) == ("not_sent", reason)
            assert anyio.current_time() - began == pytest.approx(0 if is_before else 3, abs=0.01)
            tasks.cancel_scope.cancel()
        assert not sender.posts

    run_with_virtual_clock(story)


@pytest.mark.parametrize(
    ("kind", "outcome", "after_s"), [("user", "delivered", 8), ("kill", "unknown", 3)]
)
def test_only_a_kill_does_not_wait_for_a_notice_in_flight(
    kind: StopKind, outcome: str, after_s: float
) -> None:
    sender, signal = FakeSender(latency_s=8), StopSignal()

    async def story() -> None:
        async with open_lanes(drain_s=10) as lanes, anyio.create_task_group() as tasks:

            async def request() -> None:
                await anyio.sleep(3)
                signal.request(StopRequest(kind=kind))

            tasks.start_soon(request)
            began = anyio.current_time()
            receipt = await notice(lanes, sender, stop_signal=signal)
            assert receipt.outcome == outcome
            assert anyio.current_time() - began == pytest.approx(after_s, abs=0.1)

    run_with_virtual_clock(story)


def test_a_notice_after_the_end_is_a_receipt_too() -> None:
    async def story() -> None:
        async with open_lanes() as lanes:
            await lanes.close()
            assert (await notice(lanes, FakeSender())).reason == "closed"
        lanes._closed = False  # as if somebody kept lanes whose tasks are gone
        assert (await notice(lanes, FakeSender())).reason == "unexpected"

    run_with_virtual_clock(story)


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("locale", PHRASES)
def test_every_language_has_every_phrase_within_its_limits(locale: str) -> None:
    phrases = PHRASES[locale]
    assert list(phrases) == list(SLOTS)
    for key, text in phrases.items():
        assert 0 < len(text) <= SLOTS[key].longest
        assert placeholders(text) == SLOTS[key].placeholders, "ours use what they may"
        assert text == text.strip()
    assert Languages({locale: phrases}).wording(locale).say("stopped") == phrases["stopped"]


def test_other_languages_are_not_english() -> None:
    for locale in set(PHRASES) - {"en"}:
        same = [key for key in SLOTS if PHRASES[locale][key] == PHRASES["en"][key]]
        assert same == ["reply_notice"]


@pytest.mark.parametrize(
    ("asked", "spoken"),
    [
        ("en", "en"),
        ("en-GB", "en"),
        ("de-AT", "de"),
        ("DE_at", "de"),
        ("ja", "ja"),
        ("pt-BR", "en"),
        ("", "en"),
        (None, "en"),
        ("no such-thing!", "en"),
        ("-" * 100_000, "en"),
    ],
)
def test_a_locale_falls_back(asked: str | None, spoken: str) -> None:
    wording = Languages().wording(asked)
    assert wording.locale == spoken
    assert wording.say("stopped") == PHRASES[spoken]["stopped"]


def test_own_phrases_come_first_from_the_nearest_locale_on() -> None:
    portuguese = {key: f"pt {key}" for key in SLOTS}
    own = {"pt": portuguese, "pt-BR": {"stopped": "Parado."}, "en": {"stop_button": "Halt"}}
    languages = Languages(own)
    assert languages.wording("pt-BR").say("stopped") == "Parado."
    assert languages.wording("pt_br").say("stop_button") == "pt stop_button"
    assert languages.wording("pt-PT").say("stopped") == "pt stopped"
    assert languages.wording("fr").say("stop_button") == "Halt"
    assert languages.wording("fr").say("stopped") == "Stopped."
    assert languages.wording("ja").say("stop_button") == PHRASES["ja"]["stop_button"]


@pytest.mark.parametrize(
    ("own", "words"),
    [
        (["en"], "wording must map locales to phrases; it is a list"),
        ({"en": "hello"}, "wording for en must map keys to texts"),
        ({"english!": {}}, "'english!' is no locale"),
        ({7: {}}, "7 is no locale"),
        ({"en": {"stoped": "x"}}, "wording for en, stoped: there is no such phrase"),
        ({"en": {"stopped": " "}}, "wording for en, stopped must be a text that is not blank"),
        ({"en": {"stopped": 3}}, "wording for en, stopped must be a text"),
        ({"en": {"stopped": "{user}"}}, "no placeholder {user} here; there may be none"),
        ({"en": {"wait_seconds": "{second}"}}, "{second} here; there may be {seconds}"),
        ({"en": {"tool_progress": "{tool.__class__}"}}, "no placeholder {tool.__class__}"),
        ({"en": {"tool_progress": "{tool!r}"}}, "no placeholder {tool}"),
        ({"en": {"tool_progress": "{tool:>9999999}"}}, "no placeholder {tool}"),
        ({"en": {"tool_progress": "{}"}}, "no placeholder {}"),
        ({"en": {"tool_progress": "{tool"}}, "write {{ and }} for braces"),
        ({"en": {"stop_button": "x" * 81}}, "must have at most 80 characters; it has 81"),
        ({"fr": {"stopped": "Arrêté."}}, "wording for fr lacks error_title, "),
        ({"pt-BR": {"stopped": "Parado."}}, "wording for pt-br lacks error_title, "),
    ],
)
def test_mistakes_are_told_at_once(own: Any, words: str) -> None:
    with pytest.raises(BadSetting) as caught:
        Languages(own)
    assert words in str(caught.value)


def test_braces_can_be_said() -> None:
    assert Languages({"en": {"stopped": "{{}}"}}).wording("en").say("stopped") == "{}"


def test_names_are_shown_as_plain_text() -> None:
    said = Wording().say("reply_notice", name="**@everyone**\n# ||x||", link="<https://a/b_c_d>")
    assert said == r"-# ↪ <https://a/b_c_d> (\*\*\@everyone\*\* \# \|\|x\|\|)"
    assert len(Wording().say("tool_progress", tool="x" * 10_000)) < 200
    assert Wording().say("tool_progress", tool="{link} {0}") == "-# {link} {0} is running …"


def test_a_value_that_was_not_given_leaves_a_gap_and_no_exception() -> None:
    assert Wording().say("tool_progress") == "-#  is running …"
