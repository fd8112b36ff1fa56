"""`minamo doctor`: checks of all a bot needs; network checks run concurrently, time-limited."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Mapping
from functools import partial
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from minamo import __version__
from minamo.bot.doctor_discord import Check, Diagnosis, DiscordChecks, ok, problem, warning
from minamo.bot.factory import make_provider, make_providers
from minamo.bot.provider_check import TRY_S, probe, try_provider
from minamo.bot.settings import ProviderSettings, Settings
from minamo.bot.settings_file import read_settings
from minamo.bot.tools import toolbox
from minamo.errors import BadSetting, MinamoError
from minamo.shell.stops.redis_link import client_for, close_client

# A check that takes longer has failed.
CHECK_S = 10.0
# The oldest supported version.
_PYTHON = (3, 11)
# Parts of a requirement; the package uses no other bounds than these two.
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_BOUND = re.compile(r"(>=|<)\s*([0-9][0-9.]*)")


async def examine(
    path: Path | None,
    environ: Mapping[str, str] | None = None,
    *,
    within_s: float = CHECK_S,
    try_models: bool = False,
) -> list[Diagnosis]:
    """Run all checks and return the findings in a fixed order.

    With *try_models* every model is asked two small questions, which may cost money.
    """
    environ = os.environ if environ is None else environ
    found = [_python(), *_packages()]
    settings, diagnoses = _settings(path, environ)
    found += [*diagnoses, *_tools(settings, path)]
    discord = DiscordChecks(settings)
    checks: list[tuple[str, Check]] = [("discord", discord.run)]
    checks += [
        ("provider", _provider(provider, number))
        for number, provider in enumerate(settings.provider, 1)
    ]
    if not settings.provider:
        found.append(_no_provider(settings))
    if settings.redis.url:
        checks.append(("redis", lambda: _redis(settings.redis.url)))
    bounded = [_bounded(name, check, within_s) for name, check in checks]
    if try_models:
        bounded += [
            _bounded("model", partial(try_provider, provider, number, settings), TRY_S)
            for number, provider in enumerate(settings.provider, 1)
        ]
    answers = await asyncio.gather(*bounded)
    return found + [finding for answer in answers for finding in answer]


async def _bounded(name: str, check: Check, within_s: float) -> list[Diagnosis]:
    task = asyncio.ensure_future(check())
    # Not cancelled: hikari cannot always be.  The process ends soon, and the task with it.
    done, _ = await asyncio.wait({task}, timeout=within_s)
    if not done:
        return [problem(name, f"no answer within {within_s:g} s: is this machine online?")]
    try:
        return task.result()
    except Exception as error:  # noqa: BLE001 - a broken check is a finding, not a crash
        return [problem(name, f"it could not be checked ({type(error).__name__})")]


def _python() -> Diagnosis:
    running = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info >= _PYTHON:
        return ok("python", running)
    return problem("python", f"{running} is too old: install 3.11 or newer")


def _packages() -> list[Diagnosis]:
    try:
        lines = requires("hikari-minamo") or []
    except PackageNotFoundError:
        return [warning("packages", "minamo is not installed as a package; versions not checked")]
    wrong = [words for line in lines if (words := _package(line)) is not None]
    if wrong:
        return [problem("packages", words) for words in wrong]
    return [ok("packages", f"minamo {__version__}, hikari {version('hikari')}")]


def _package(line: str) -> str | None:
    """Return what is wrong with the package of a requirement such as ``hikari<3,>=2.6``."""
    wanted, _, marker = line.partition(";")
    found = _NAME.match(wanted.strip())
    if found is None or "extra" in marker:
        return None
    try:
        installed = version(found[0])
    except PackageNotFoundError:
        return f"{found[0]} is not installed: pip install '{wanted.strip()}'"
    if all(_fits(installed, sign, number) for sign, number in _BOUND.findall(wanted)):
        return None
    return f"{found[0]} {installed} does not fit: pip install '{wanted.strip()}'"


def _fits(installed: str, sign: str, number: str) -> bool:
    mine, other = _numbers(installed), _numbers(number)
    return mine >= other if sign == ">=" else mine < other


def _numbers(release: str) -> tuple[int, ...]:
    leading = re.match(r"[0-9.]*", release)
    return tuple(int(part) for part in (leading[0] if leading else "").split(".") if part)


def _settings(path: Path | None, environ: Mapping[str, str]) -> tuple[Settings, list[Diagnosis]]:
    try:
        settings = read_settings(path, environ)
    except BadSetting as error:
        diagnoses = [problem("settings", str(error))]
    else:
        origin = str(path) if path is not None else "from the environment"
        return settings, [ok("settings", origin)]
    try:
        # The other checks can still run.
        return read_settings(None, environ), diagnoses
    except BadSetting:
        return Settings(), diagnoses


def _tools(settings: Settings, path: Path | None) -> list[Diagnosis]:
    file = settings.bot.tools_file
    folder = path.parent if path is not None else Path()
    try:
        tools = toolbox(settings.bot.tools, folder / file if file else None)
    except BadSetting as error:
        return [problem("tools", str(error))]
    return [ok("tools", ", ".join(tools) or "none")]


def _no_provider(settings: Settings) -> Diagnosis:
    try:
        make_providers(settings.provider)
    except BadSetting as error:
        # The demo needs no provider.
        return (problem if settings.discord.token else warning)("provider", str(error))
    raise AssertionError("no providers cannot be made")


def _provider(provider: ProviderSettings, number: int) -> Check:
    async def check() -> list[Diagnosis]:
        try:
            adapter = make_provider(provider, number)
        except BadSetting as error:
            return [problem("provider", str(error))]
        await adapter.close()
        found = await probe(provider)
        level = {"fine": ok, "unclear": warning}.get(found.verdict, problem)
        return [level("provider", found.words)]

    return check


async def _redis(url: str) -> list[Diagnosis]:
    try:
        client = client_for(url)
    except MinamoError as error:
        return [problem("redis", str(error))]
    try:
        await client.ping()
    except Exception as error:  # noqa: BLE001 - only the type may be shown, for any error
        words = f"it cannot be used ({type(error).__name__}): is it running, is the password right?"
        return [problem("redis", words)]
    finally:
        await close_client(client)
    return [ok("redis", "answers")]
