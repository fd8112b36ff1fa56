"""Settings of the ready-made bot, from a file and the environment, and the files to deploy it with."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml
from attrs import evolve, fields
from dockerfile_parse import DockerfileParser

from minamo.bot import settings as tables
from minamo.bot.settings import BotSettings, DiscordSettings, ProviderSettings, Settings
from minamo.bot.settings_file import example, read_settings
from minamo.core.config import StreamConfig
from minamo.errors import BadSetting

CANARY = "sk-canary-0123456789"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "minamo.toml"


def opened(text: str) -> str:
    """The example with every # taken away that hides a setting."""
    return re.sub(r"(?m)^# (?=[a-z_]+ = |\[)", "", text)


def test_the_example_changes_nothing(file: Path) -> None:
    file.write_text(example())
    assert read_settings(file, {}) == Settings()


def test_the_example_shows_the_defaults(file: Path) -> None:
    file.write_text(opened(example()))
    found = read_settings(file, {})
    assert found.bot == BotSettings()
    assert found.limits == Settings().limits
    assert found.stream == Settings().stream
    # Of the options of a request the provider has the defaults; those of the file are examples.
    [provider] = found.provider
    assert set(provider.options) == set(tables.OPTIONS)
    assert evolve(provider, options={}) == ProviderSettings()
    assert [one.name for one in found.persona] == ["Nereid"]


@pytest.mark.parametrize(
    "table", ["DiscordSettings", "BotSettings", "LimitSettings", "ProviderSettings",
              "PersonaSettings", "McpSettings", "RedisSettings", "PageSettings", "HealthSettings"],
)  # fmt: skip
def test_the_example_has_every_setting(table: str) -> None:
    for one in fields(getattr(tables, table)):
        if one.name != "options":  # a table of its own
            assert re.search(rf"(?m)^# {one.name} = ", example()), one.name


def test_the_example_has_every_setting_of_a_stream() -> None:
    table = example().partition("\n[stream]\n")[2].partition("\n\n")[0]
    for one in fields(StreamConfig):
        assert re.search(rf"(?m)^# {one.name} = ", table), one.name


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[bot]\nmod = 'edit'", ":2: bot.mod: unknown setting; did you mean 'mode'?"),
        ("\n[bto]\n", ":2: bto: unknown setting; did you mean 'bot'?"),
        ("x = 1", ":1: x: unknown setting; known are discord, bot"),
        ("[bot]\n\nmode = 'x'", ":3: bot.mode: must be one of 'messages', 'edit'"),
        ("[bot]\nmode = edit", ":2: bot.mode: Invalid value"),
        ("[bot\n", ":1: Expected ']'"),
        ("bot = 1", ":1: bot: it is a table: write it as [bot]"),
        ("[[bot]]\n", ":1: bot: it is a table: write it as [bot]"),
        ("[provider]\nkind = 'openai'", ":1: provider: write it as [[provider]]"),
        ("[[provider]]\n[[provider]]\nkind = 'x'", ":3: provider.kind: must be one of 'openai'"),
        ("[[provider]]\nmedia_types = 'x'", ":2: provider.media_types: must be a list of media types"),
        ("[[persona]]\nprompt = 'x'", ":1: persona: it needs a name"),
        ("[[persona]]\nname = 'A'\n[[persona]]\nname = 'A'", "two have the same name"),
        ("[stream]\ndegree = 9", ":2: stream.degree: must be a whole number, 0 to 3; it is 9"),
        ("[bot]\nguilds = [1, 'a']", ":2: bot.guilds: must be a list of ids"),
        ("[bot]\nguilds = 5", ":2: bot.guilds: must be a list of ids"),
        ("[bot]\nthoughts = 'log'", "bot.thoughts_channel: belongs to thoughts = \"log\""),
        ("[bot]\nask_command = 'Ask me'", ":2: bot.ask_command: must be a command's name"),
        ("[bot]\nmemory_messages = true", ":2: bot.memory_messages: must be a whole number"),
        ("[bot]\nsystem_prompt = '''\nmode = 1\n'''\nmood = 1", ":5: bot.mood: unknown"),
        ("[discord]\nurl = 'http://discord.example/api'", ":2: discord.url: must be https: plain http"),
        ("[discord]\nurl = 'HTTP://10.0.0.5:80/api'", ":2: discord.url: must be https: plain http"),
        ("[redis]\nurl = 'http://x'", ":2: redis.url: must be empty or an address that begins"),
        ("[redis]\nurl = 'redis://[x'", ":2: redis.url: must be empty or an address"),
        ("[page]\non = 'yes'", ":2: page.on: must be true or false"),
        ("[bot]\ntools = ['roll', 1]", ":2: bot.tools: must be a list of names"),
        ("[bot]\nlocale = ''", ":2: bot.locale: must be text of 1 to 35"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_line(file: Path, text: str, said: str) -> None:
    file.write_text(text)
    with pytest.raises(BadSetting) as caught:
        read_settings(file, {})
    assert str(caught.value).startswith(str(file))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match=r"none\.toml cannot be read: No such file"):
        read_settings(tmp_path / "none.toml", {})


def test_a_file_that_is_no_text(file: Path) -> None:
    file.write_bytes(b"[bot]\n# \xff")
    with pytest.raises(BadSetting, match=":2: this is not UTF-8"):
        read_settings(file, {})
    file.write_bytes(b"#" * ((1 << 20) + 1))
    with pytest.raises(BadSetting, match="too large"):
        read_settings(file, {})


def test_a_file_of_windows_is_read(file: Path) -> None:
    file.write_bytes("\ufeff[bot]\r\nmode = 'edit'\r\n".encode())
    assert read_settings(file, {}).bot.mode == "edit"


def test_ids_may_be_in_quotes(file: Path) -> None:
    file.write_text("[bot]\nguilds = ['123456789012345678', 5]")
    assert read_settings(file, {}).bot.guilds == (123456789012345678, 5)


def test_secrets_come_from_the_environment_first(file: Path) -> None:
    file.write_text(
        "[discord]\ntoken = 'of the file'\n[[provider]]\napi_key = 'of the file'\nmodel = 'm'\n"
        "[[provider]]\nkind = 'anthropic'\napi_key = 'of the file'\n"
        "[[provider]]\napi_key_env = 'OTHER'\n"
    )
    environ = {"DISCORD_TOKEN": " abc\n", "OPENAI_API_KEY": CANARY, "OTHER": "second"}
    found = read_settings(file, environ)
    assert found.discord.token == "abc"
    assert [one.api_key for one in found.provider] == [CANARY, "of the file", "second"]


def test_no_service_is_sent_the_key_of_another(file: Path) -> None:
    file.write_text(
        "[[provider]]\nbase_url = 'https://a.example/v1'\n"
        "[[provider]]\nbase_url = 'https://b.example/v1'\napi_key = 'of b'\n"
        "[[provider]]\nkind = 'anthropic'\nbase_url = 'https://c.example'\n"
        "[[provider]]\nbase_url = 'https://d.example/v1'\napi_key_env = 'OF_D'\n"
    )
    environ = {"OPENAI_API_KEY": CANARY, "ANTHROPIC_API_KEY": CANARY, "OF_D": "of d"}
    assert [one.api_key for one in read_settings(file, environ).provider] == [
        "",
        "of b",
        "",
        "of d",
    ]


def test_no_secret_is_in_a_repr(file: Path) -> None:
    file.write_text(
        f"[redis]\nurl = 'redis://:{CANARY}@localhost'\n[[provider]]\napi_key = '{CANARY}'"
    )
    assert CANARY not in repr(read_settings(file, {"DISCORD_TOKEN": CANARY}))


@pytest.mark.parametrize("table", ["discord", "redis", "bot"])
def test_no_secret_is_in_a_complaint(file: Path, table: str) -> None:
    file.write_text(f"[{table}]\nurl = '{CANARY}'\nmode = '{CANARY}'\n")
    with pytest.raises(BadSetting) as caught:
        read_settings(file, {})
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize(
    ("environ", "kind", "base_url"),
    [
        ({"OPENAI_API_KEY": "k"}, "openai", ""),
        ({"GEMINI_API_KEY": "k"}, "gemini", ""),
        ({"ANTHROPIC_API_KEY": "k"}, "anthropic", ""),
        ({"OPENAI_BASE_URL": "http://localhost:1/v1"}, "openai", "http://localhost:1/v1"),
        ({"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "MINAMO_MODEL": "claude-x"}, "anthropic", ""),
        ({"OPENAI_API_KEY": "k", "GEMINI_API_KEY": "k", "MINAMO_MODEL": "gemini-x"}, "gemini", ""),
        ({"GEMINI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "MINAMO_MODEL": "other"}, "gemini", ""),
    ],
)  # fmt: skip
def test_a_provider_from_the_environment(environ: dict[str, str], kind: str, base_url: str) -> None:
    (one,) = read_settings(None, environ).provider
    assert (one.kind, one.base_url) == (kind, base_url)
    assert one.model == environ.get("MINAMO_MODEL", "")


def test_a_wrong_address_in_the_environment() -> None:
    with pytest.raises(BadSetting, match="OPENAI_BASE_URL"):
        read_settings(None, {"OPENAI_BASE_URL": "ftp://x"})


def test_the_numbers_of_a_stream_come_from_the_environment_too(file: Path) -> None:
    assert read_settings(None, {"MAX_MESSAGE_LENGTH": "500"}).stream.max_message_length == 500
    file.write_text("[stream]\nmax_message_length = 600")
    found = read_settings(file, {"MAX_MESSAGE_LENGTH": "500", "HUMANIZER_DEGREE": "2"}).stream
    assert (found.max_message_length, found.degree) == (600, 2)


def test_too_many_tables(file: Path) -> None:
    file.write_text("[[provider]]\n" * 11)
    with pytest.raises(BadSetting, match="at most 10"):
        read_settings(file, {})
    file.write_text("".join(f"[[persona]]\nname = 'P{n}'\n" for n in range(26)))
    with pytest.raises(BadSetting, match="at most 25"):
        read_settings(file, {})


@pytest.mark.parametrize(
    "given",
    [
        {"url": "http://localhost:1"}, {"url": "http://127.0.0.1:1/api"}, {"url": "http://[::1]:1"},
        {"url": "https://discord.example/api"}, {"url": "http://proxy/api", "allow_http": True},
    ],
)  # fmt: skip
def test_a_token_goes_over_plain_http_only_where_that_was_allowed(given: Any) -> None:
    assert DiscordSettings(**given).url == given["url"]


ROOT = Path(__file__).parents[2]


@pytest.fixture
def steps(tmp_path: Path) -> list[dict[str, Any]]:
    """The instructions of the Dockerfile, in order."""
    parser = DockerfileParser(path=str(tmp_path))
    parser.content = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    return [step for step in parser.structure if step["instruction"] != "COMMENT"]


def last(steps: list[dict[str, Any]], name: str) -> str:
    return next(step["value"] for step in reversed(steps) if step["instruction"] == name)


def test_the_image_has_two_stages_and_no_root(steps: list[dict[str, Any]]) -> None:
    known = {"FROM", "WORKDIR", "RUN", "COPY", "ENV", "USER", "STOPSIGNAL", "HEALTHCHECK",
             "ENTRYPOINT", "CMD"}  # fmt: skip
    assert {step["instruction"] for step in steps} == known
    froms = [number for number, step in enumerate(steps) if step["instruction"] == "FROM"]
    assert len(froms) == 2
    final = [step["instruction"] for step in steps[froms[1] :]]
    assert "RUN" not in final  # tools to build with stay in the first stage
    user = last(steps, "USER").split(":")[0]
    assert int(user) > 0
    assert final.index("USER") < final.index("ENTRYPOINT")


def test_everything_copied_is_there_and_not_ignored(steps: list[dict[str, Any]]) -> None:
    kept = [
        line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line[:1] == "!"
    ]
    copied = [
        source
        for step in steps
        if step["instruction"] == "COPY" and "--from" not in step["value"]
        for source in shlex.split(step["value"])[:-1]
    ]
    assert copied
    for source in copied:
        assert (ROOT / source).exists(), source
        assert any(fnmatch(source, pattern) for pattern in kept), source


def test_its_commands_are_lists_of_words(steps: list[dict[str, Any]]) -> None:
    for name in ("ENTRYPOINT", "CMD"):
        assert all(isinstance(word, str) for word in json.loads(last(steps, name)))
    check = last(steps, "HEALTHCHECK")
    program = json.loads(check.partition("CMD")[2])
    compile(program[-1], "HEALTHCHECK", "exec")
    address = re.search(r"127\.0\.0\.1:\d+", last(steps, "ENV"))
    assert address is not None
    assert address[0] in program[-1]


def test_the_composition_is_whole() -> None:
    services = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]
    assert set(services) == {"bot", "redis"}
    bot = services["bot"]
    assert bot["read_only"] is True
    assert bot["cap_drop"] == ["ALL"]
    assert "ports" not in bot
    assert set(bot["depends_on"]) <= set(services)
    assert "healthcheck" in services["redis"]
    for name, value in bot["environment"].items():
        assert re.fullmatch(r"[A-Z_]+", name)
        assert "$" not in value or re.fullmatch(r"\$\{[A-Z_]+:[-?][^}]*\}", value), value
    needed = ["DISCORD_TOKEN", "MINAMO_MODEL"]
    assert [name for name, value in bot["environment"].items() if ":?" in value] == needed


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_its_steps_make_a_bot_that_starts(steps: list[dict[str, Any]], tmp_path: Path) -> None:
    """Run the first stage in a folder instead of an image, and then the entry point."""
    build, home = tmp_path / "build", tmp_path / "minamo"
    build.mkdir()
    environ = {name: value for name, value in os.environ.items() if "TOKEN" not in name}
    for step in steps[: next(n for n, s in enumerate(steps[1:], 1) if s["instruction"] == "FROM")]:
        if step["instruction"] == "COPY":
            *sources, target = shlex.split(step["value"])
            for source in sources:
                subprocess.run(["cp", "-r", ROOT / source, build / target], check=True)
        elif step["instruction"] == "RUN":
            words = [word.replace("/opt/minamo", str(home)) for word in json.loads(step["value"])]
            words = [sys.executable, *words[1:]] if words[0] == "python" else words
            subprocess.run(words, cwd=build, env=environ, check=True)
    entry = json.loads(last(steps, "ENTRYPOINT"))[0]
    done = subprocess.run(
        [home / "bin" / entry, *json.loads(last(steps, "CMD")), "--config", "none.toml"],
        cwd=tmp_path, env=environ, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (2, "minamo: none.toml cannot be read: No such file or directory\n")  # fmt: skip
    doctor = subprocess.run(
        [home / "bin" / entry, "doctor"], cwd=tmp_path, env=environ,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "packages" in doctor.stdout
    assert (
        "redis"
        in subprocess.run(
            [home / "bin" / "pip", "list"], capture_output=True, text=True, check=True
        ).stdout
    )
