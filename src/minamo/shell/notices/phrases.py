"""The phrases that minamo shows to users, in the languages it ships.

Each key is one phrase.  `SLOTS` defines its maximum length and its placeholders, which are written
in braces, as in ``in {seconds} s``; all are optional:

    {seconds} {minutes} {hours}   a whole number: how long to wait
    {name}                        the user replied to, the persona that answers, or a file
    {link}                        the URL of the message replied to
    {tool}                        the name of the running tool
    {characters}                  number of omitted characters
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

# Discord's limits: an embed's title, the label of a button, the name of a thread, and the
# description of a command.
_TITLE, _LABEL, _THREAD, _COMMAND = 256, 80, 100, 100
# Half a message: a phrase is never the whole message, and quoted text needs room too.
_PHRASE = 1_000


@frozen(slots=True)
class Slot:
    """The constraints on one phrase."""

    longest: int = _PHRASE
    placeholders: frozenset[str] = frozenset()


def _with(*placeholders: str) -> Slot:
    return Slot(placeholders=frozenset(placeholders))


SLOTS: Mapping[str, Slot] = {
    # A provider failed: the title, a sentence for each kind, and advice.
    "error_title": Slot(_TITLE),
    "error_rate_limit": Slot(),
    "error_content_blocked": Slot(),
    "error_provider_overloaded": Slot(),
    "error_timeout": Slot(),
    "error_model_error": Slot(),
    "error_api_error": Slot(),
    "try_again": Slot(),
    "wait_seconds": _with("seconds"),
    "wait_minutes": _with("minutes"),
    "wait_hours": _with("hours"),
    "incomplete": Slot(),
    # A timeout, by its reason.
    "timeout_title": Slot(_TITLE),
    "timeout_inactivity": Slot(),
    "timeout_deadline": Slot(),
    "timeout_sdk_call_timeout": Slot(),
    # Discord did not accept all of the reply.
    "lost_title": Slot(_TITLE),
    "lost_blocked": Slot(),
    "lost_refused": Slot(),
    "lost_unknown": Slot(),
    # Stands for a file of the model's that Discord does not take.
    "file_unattached": _with("name"),
    # The reply was empty.
    # The reply reached its length limit, in its text or already in its thoughts.
    "length_title": Slot(_TITLE),
    "length_cut": Slot(),
    "length_spent": Slot(),
    "empty_title": Slot(_TITLE),
    "empty_response": Slot(),
    # Stop requests, refused turns, tool progress.
    "stop_button": Slot(_LABEL),
    "stop_not_allowed": Slot(),
    "stop_nothing": Slot(),
    "stop_unreachable": Slot(),
    "stopped": Slot(),
    "stop_command": Slot(_COMMAND),
    "busy": Slot(),
    "closing": Slot(),
    "queue_full": Slot(),
    "unreachable": Slot(),
    "tool_progress": _with("tool"),
    "reply_notice": _with("name", "link"),
    # The ready-made bot: its command, and the reasons it does not answer.
    "ask_command": Slot(_COMMAND),
    "ask_prompt": Slot(_COMMAND),
    "ask_persona": Slot(_COMMAND),
    "bare_mention": Slot(),
    "asked_too_much": _with("seconds"),
    "still_answering": Slot(),
    "not_here": Slot(),
    "persona_answers": _with("name"),
    # Thoughts shown to users.
    "thoughts_title": Slot(_TITLE),
    "thoughts_thread": Slot(_THREAD),
    "thoughts_left_out": Slot(_LABEL, frozenset({"characters"})),  # shares a message with the text
}

EN: Mapping[str, str] = {
    "error_title": "No answer this time",
    "error_rate_limit": "The model is getting too many requests.",
    "error_content_blocked": "The model's provider blocked this answer. Other words may help.",
    "error_provider_overloaded": "The model has too much to do at the moment.",
    "error_timeout": "The model took too long to answer.",
    "error_model_error": "The model broke off while it was answering.",
    "error_api_error": "The model could not be asked.",
    "try_again": "Please try again later.",
    "wait_seconds": "Please try again in {seconds} s.",
    "wait_minutes": "Please try again in about {minutes} min.",
    "wait_hours": "Please try again in about {hours} h.",
    "incomplete": "The answer above is not complete.",
    "timeout_title": "The answer took too long",
    "timeout_inactivity": "Nothing more came from the model.",
    "timeout_deadline": "The time for one answer is over.",
    "timeout_sdk_call_timeout": "The request to the model was not finished in time.",
    "lost_title": "Part of the answer is missing",
    "lost_blocked": "A filter of this server or of Discord held it back.",
    "lost_refused": "Discord did not accept it.",
    "lost_unknown": "Discord could not be reached for a while.",
    "file_unattached": "{name} could not be attached.",
    "length_title": "The answer ends here",
    "length_cut": "It reached the limit for one answer. Ask for the rest to read on.",
    "length_spent": "The model used up the limit for one answer before it wrote any of it.",
    "empty_title": "No answer this time",
    "empty_response": "The model had nothing to say.",
    "stop_button": "Stop",
    "stop_not_allowed": "Only the person who asked, or a moderator, may stop this.",
    "stop_nothing": "Nothing is running here.",
    "stop_unreachable": "I cannot find out right now what is running here. Please try again.",
    "stopped": "Stopped.",
    "stop_command": "Stop the reply that is being written here",
    "busy": "I am answering somebody else here. Please ask again in a moment.",
    "closing": "I am shutting down. Please ask again later.",
    "queue_full": "Too many messages are already waiting here. Please try again later.",
    "unreachable": "A part of me cannot be reached right now. Please try again in a few minutes.",
    "tool_progress": "-# {tool} is running …",
    "reply_notice": "-# ↪ {link} ({name})",
    "ask_command": "Ask me something",
    "ask_prompt": "What to ask",
    "ask_persona": "Who should answer",
    "bare_mention": "Yes? Write your question behind my name, in the same message.",
    "asked_too_much": (
        "That was a lot of questions in one minute. Please ask again in {seconds} s."
    ),
    "still_answering": "I am still answering you. Please wait until I am done, or stop me.",
    "not_here": "I do not answer in this place.",
    "persona_answers": "{name} answers below.",
    "thoughts_title": "Thoughts",
    "thoughts_thread": "Thoughts",
    "thoughts_left_out": "… ({characters} more characters)",
}

DE: Mapping[str, str] = {
    "error_title": "Diesmal keine Antwort",
    "error_rate_limit": "Das Modell bekommt gerade zu viele Anfragen.",
    "error_content_blocked": (
        "Der Anbieter des Modells hat diese Antwort blockiert. Andere Worte helfen vielleicht."
    ),
    "error_provider_overloaded": "Das Modell ist im Moment überlastet.",
    "error_timeout": "Das Modell hat zu lange für die Antwort gebraucht.",
    "error_model_error": "Das Modell hat mitten in der Antwort abgebrochen.",
    "error_api_error": "Das Modell konnte nicht gefragt werden.",
    "try_again": "Bitte später noch einmal versuchen.",
    "wait_seconds": "Bitte in {seconds} s noch einmal versuchen.",
    "wait_minutes": "Bitte in etwa {minutes} min noch einmal versuchen.",
    "wait_hours": "Bitte in etwa {hours} h noch einmal versuchen.",
    "incomplete": "Die Antwort oben ist unvollständig.",
    "timeout_title": "Die Antwort hat zu lange gedauert",
    "timeout_inactivity": "Vom Modell kam nichts mehr.",
    "timeout_deadline": "Die Zeit für eine Antwort ist abgelaufen.",
    "timeout_sdk_call_timeout": "Die Anfrage an das Modell wurde nicht rechtzeitig fertig.",
    "lost_title": "Ein Teil der Antwort fehlt",
    "lost_blocked": "Ein Filter dieses Servers oder von Discord hat ihn zurückgehalten.",
    "lost_refused": "Discord hat ihn nicht angenommen.",
    "lost_unknown": "Discord war eine Zeit lang nicht erreichbar.",
    "file_unattached": "{name} konnte nicht angehängt werden.",
    "length_title": "Die Antwort endet hier",
    "length_cut": "Sie hat die Grenze für eine Antwort erreicht. Den Rest gibt es auf Nachfrage.",
    "length_spent": "Das Modell hat die Grenze für eine Antwort erreicht, bevor es etwas schrieb.",
    "empty_title": "Diesmal keine Antwort",
    "empty_response": "Das Modell hatte nichts zu sagen.",
    "stop_button": "Stopp",
    "stop_not_allowed": "Stoppen darf nur, wer gefragt hat, oder die Moderation.",
    "stop_nothing": "Hier läuft gerade nichts.",
    "stop_unreachable": "Gerade weiß ich nicht, was hier läuft. Bitte noch einmal versuchen.",
    "stopped": "Gestoppt.",
    "stop_command": "Die Antwort hier stoppen",
    "busy": "Ich antworte hier gerade jemand anderem. Bitte gleich noch einmal fragen.",
    "closing": "Ich werde gerade beendet. Bitte später noch einmal fragen.",
    "queue_full": "Hier warten schon zu viele Nachrichten. Bitte später noch einmal versuchen.",
    "unreachable": "Ein Teil von mir ist gerade nicht erreichbar. Bitte später noch einmal fragen.",
    "tool_progress": "-# {tool} läuft …",
    "reply_notice": "-# ↪ {link} ({name})",
    "ask_command": "Eine Frage stellen",
    "ask_prompt": "Die Frage",
    "ask_persona": "Wer antworten soll",
    "bare_mention": "Ja? Schreib deine Frage hinter meinen Namen, in dieselbe Nachricht.",
    "asked_too_much": (
        "Das waren viele Fragen in einer Minute. Bitte in {seconds} s noch einmal fragen."
    ),
    "still_answering": (
        "Ich bin noch bei der letzten Antwort. Bitte warten, bis ich fertig bin, oder sie stoppen."
    ),
    "not_here": "Hier antworte ich nicht.",
    "persona_answers": "{name} antwortet unten.",
    "thoughts_title": "Gedanken",
    "thoughts_thread": "Gedanken",
    "thoughts_left_out": "… ({characters} weitere Zeichen)",
}

JA: Mapping[str, str] = {
    "error_title": "今回は回答できませんでした",
    "error_rate_limit": "モデルへのリクエストが多すぎます。",
    "error_content_blocked": (
        "モデルの提供元がこの回答をブロックしました。言い方を変えるとうまくいくかもしれません。"
    ),
    "error_provider_overloaded": "モデルが現在混み合っています。",
    "error_timeout": "モデルの応答に時間がかかりすぎました。",
    "error_model_error": "モデルが回答の途中で中断しました。",
    "error_api_error": "モデルに問い合わせることができませんでした。",
    "try_again": "しばらくしてからもう一度お試しください。",
    "wait_seconds": "{seconds}秒後にもう一度お試しください。",
    "wait_minutes": "約{minutes}分後にもう一度お試しください。",
    "wait_hours": "約{hours}時間後にもう一度お試しください。",
    "incomplete": "上の回答は途中までです。",
    "timeout_title": "回答に時間がかかりすぎました",
    "timeout_inactivity": "モデルからの応答が途絶えました。",
    "timeout_deadline": "1回の回答に使える時間が過ぎました。",
    "timeout_sdk_call_timeout": "モデルへのリクエストが時間内に終わりませんでした。",
    "lost_title": "回答の一部が届いていません",
    "lost_blocked": "このサーバーまたはDiscordのフィルターにより表示されませんでした。",
    "lost_refused": "Discordに受け付けられませんでした。",
    "lost_unknown": "Discordにしばらく接続できませんでした。",
    "file_unattached": "{name}を添付できませんでした。",
    "length_title": "回答はここまでです",
    "length_cut": "一回の回答の長さの上限に達しました。続きは、もう一度聞いてください。",
    "length_spent": "回答を書き始める前に、一回の回答の長さの上限に達しました。",
    "empty_title": "今回は回答がありませんでした",
    "empty_response": "モデルから回答がありませんでした。",
    "stop_button": "停止",
    "stop_not_allowed": "停止できるのは、質問した本人かモデレーターだけです。",
    "stop_nothing": "ここでは何も実行されていません。",
    "stop_unreachable": "いまここで何が実行されているか確認できません。もう一度お試しください。",
    "stopped": "停止しました。",
    "stop_command": "ここで書かれている返信を停止します",
    "busy": "いま別の方に回答しています。少ししてからもう一度お試しください。",
    "closing": "シャットダウン中です。あとでもう一度お試しください。",
    "queue_full": "待機中のメッセージが多すぎます。しばらくしてからもう一度お試しください。",
    "unreachable": "現在、システムの一部に接続できません。数分後にもう一度お試しください。",
    "tool_progress": "-# {tool} を実行中…",
    "reply_notice": "-# ↪ {link} ({name})",
    "ask_command": "質問をする",
    "ask_prompt": "質問の内容",
    "ask_persona": "回答するペルソナ",
    "bare_mention": "はい？メンションと同じメッセージに質問を書いてください。",
    "asked_too_much": ("1分間の質問が多すぎます。{seconds}秒後にもう一度お試しください。"),
    "still_answering": (
        "まだ前の質問に回答しています。終わるまでお待ちいただくか、回答を停止してください。"
    ),
    "not_here": "ここでは回答できません。",
    "persona_answers": "{name} が下で回答します。",
    "thoughts_title": "思考",
    "thoughts_thread": "思考",
    "thoughts_left_out": "…（残り{characters}文字）",
}

PHRASES: Mapping[str, Mapping[str, str]] = {"en": EN, "de": DE, "ja": JA}
