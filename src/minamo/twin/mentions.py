"""Mentions: the users and roles that a text notifies, limited by `allowed_mentions`."""

from __future__ import annotations

import re
from typing import Any

from attrs import frozen

_CODE = re.compile(r"```.*?```|``.*?``|`[^`\n]*`", re.DOTALL)  # mentions in code do not notify
_USER = re.compile(r"<@!?(\d{1,20})>")
_ROLE = re.compile(r"<@&(\d{1,20})>")
_EVERYONE = re.compile(r"@(?:everyone|here)\b")
#: The default `allowed_mentions` of webhooks and interactions; elsewhere all mentions notify.
USERS_ONLY = {"parse": ["users"]}


@frozen
class Pings:
    """The users and roles that a message notifies."""

    users: tuple[int, ...] = ()
    roles: tuple[int, ...] = ()
    everyone: bool = False


def pings(
    text: str, allowed: Any, *, replied: int | None = None, may_everyone: bool = True
) -> Pings:
    """Return the users and roles notified by *text*, and by a reply to *replied*.

    Without `allowed_mentions` every mention in the text notifies, and so does a reply; with it
    only those it names. Without *may_everyone*, `@everyone` and roles are not notified.
    """
    bare = _CODE.sub("", text)
    users = [int(one) for one in dict.fromkeys(_USER.findall(bare))]
    roles = [int(one) for one in dict.fromkeys(_ROLE.findall(bare))]
    everyone = bool(_EVERYONE.search(bare))
    rings_author = True
    if isinstance(allowed, dict):
        parse = allowed.get("parse") or ()
        users = _kept(users, "users" in parse, allowed.get("users"))
        roles = _kept(roles, "roles" in parse, allowed.get("roles"))
        everyone = everyone and "everyone" in parse
        rings_author = bool(allowed.get("replied_user"))
    if replied is not None and rings_author and replied not in users:
        users.append(replied)
    return Pings(tuple(users), tuple(roles) if may_everyone else (), everyone and may_everyone)


def _kept(found: list[int], all_of_them: bool, listed: Any) -> list[int]:
    if all_of_them:
        return found
    wanted = {int(one) for one in listed or ()}
    return [one for one in found if one in wanted]
