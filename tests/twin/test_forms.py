"""The tables of request bodies: each field is checked, and a refusal says where."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minamo.twin import Permission, Refused, Rules
from minamo.twin.bodies.forms import (
    Address,
    Boolean,
    FieldType,
    List,
    Map,
    Number,
    Object,
    OneOf,
    Snowflake,
    Text,
    Timestamp,
    Union,
    Whole,
    read_form,
)
from minamo.twin.bodies.tables import ChoiceValue, ImageData, Nonce
from minamo.twin.routes import ROUTES
from minamo.twin.server.calls import Route
from support.twin_http import Lab, twin_lab

RULES = Rules()
TABLES = [route for route in ROUTES if route.body != Object()]
#: A value that no field of the kind takes.
WRONG: dict[type[FieldType], Any] = {
    Address: "javascript:x",
    Boolean: "perhaps",
    ChoiceValue: {},
    ImageData: "x",
    List: "x",
    Map: "x",
    Timestamp: "soon",
    Nonce: {},
    Number: "x",
    Object: "x",
    OneOf: "zzz",
    Snowflake: "x",
    Text: {},
    Union: "x",
    Whole: "x",
}
Place = tuple[str, ...]


def wrongs(kind: FieldType, depth: int = 6) -> Iterator[tuple[Place, Any]]:
    """A value for each place in a table at which it is wrong, and the place."""
    yield (), WRONG[type(kind)]
    if depth == 0:
        return
    if isinstance(kind, Object):
        for name, one in kind.fields.items():
            for place, value in wrongs(one, depth - 1):
                yield (name, *place), {name: value}
    if isinstance(kind, Union):
        for number, table in kind.tables.items():
            for place, value in wrongs(table, depth - 1):
                if place:
                    yield place, {**value, "type": number}
    if isinstance(kind, List):
        for place, value in wrongs(kind.items, depth - 1):
            least = max(kind.least, 1)
            yield ("0", *place), [value] * least
    if isinstance(kind, Map):
        for place, value in wrongs(kind.values, depth - 1):
            yield ("de", *place), {"de": value}


def _name(route: Route) -> str:
    return route.name


@pytest.mark.parametrize("route", TABLES, ids=_name)
def test_each_field_refuses_what_it_cannot_be(route: Route) -> None:
    seen = 0
    for place, body in wrongs(route.body):
        with pytest.raises(Refused) as caught:
            read_form(route.body, body, RULES)
        found: Any = caught.value.errors
        for step in place:
            found = found[step]
        assert found["_errors"][0]["code"].isupper(), (place, body)
        seen += 1
    assert seen > 1


def test_all_problems_are_told_at_once() -> None:
    create = next(one.body for one in TABLES if one.name == "POST /channels/{channel}/messages")
    body = {"content": "x" * 2_001, "embeds": [{"title": "t"}, {"title": "x" * 257, "color": -1}]}
    with pytest.raises(Refused) as caught:
        read_form(create, body, RULES)
    assert caught.value.errors == {
        "content": {
            "_errors": [
                {"code": "BASE_TYPE_MAX_LENGTH", "message": "Must be 2000 or fewer in length."}
            ]
        },
        "embeds": {
            "1": {
                "title": {
                    "_errors": [
                        {
                            "code": "BASE_TYPE_MAX_LENGTH",
                            "message": "Must be 256 or fewer in length.",
                        }
                    ]
                },
                "color": {
                    "_errors": [
                        {
                            "code": "NUMBER_TYPE_MIN",
                            "message": "int value should be greater than or equal to 0.",
                        }
                    ]
                },
            }
        },
    }


def test_a_limit_is_read_from_the_rules() -> None:
    create = next(one.body for one in TABLES if one.name == "POST /channels/{channel}/messages")
    assert read_form(create, {"content": "xxx"}, Rules(content_max=3)) == {"content": "xxx"}
    with pytest.raises(Refused):
        read_form(create, {"content": "xxxx"}, Rules(content_max=3))


_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters(codec=None), max_size=20),
    st.sampled_from(["5", "true", "https://x.y", "users", "2024-01-01T00:00:00Z"]),
)


def _different(routes: list[Route]) -> list[Route]:
    """One route for each table."""
    return list({id(route.body): route for route in routes}.values())


def _any_json(names: list[str]) -> st.SearchStrategy[Any]:
    keys = st.sampled_from(names)
    types = st.fixed_dictionaries({"type": st.integers(0, 20)})
    return st.recursive(
        _SCALARS,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(keys, inner, max_size=4),
            st.tuples(types, st.dictionaries(keys, inner, max_size=4)).map(lambda x: x[1] | x[0]),
        ),
        max_leaves=8,
    )


def _names(kind: FieldType) -> set[str]:
    """The names of all fields in a table."""
    if isinstance(kind, Object):
        return set(kind.fields).union(*map(_names, kind.fields.values()))
    if isinstance(kind, Union):
        return set().union(*map(_names, kind.tables.values()))
    return _names(kind.items) if isinstance(kind, List) else set()


def _bodies(kind: FieldType) -> st.SearchStrategy[Any]:
    names = sorted(_names(kind))
    fields = st.dictionaries(st.sampled_from(names), _any_json(names), max_size=4)
    return st.lists(fields, max_size=2) if isinstance(kind, List) else fields


@pytest.mark.parametrize("route", _different(TABLES), ids=_name)
def test_any_body_is_read_or_refused(route: Route) -> None:
    has_image = {"avatar", "icon"} & _names(route.body)  # an image becomes its hash

    @settings(max_examples=40)
    @given(_bodies(route.body))
    def check(body: Any) -> None:
        try:
            form = read_form(route.body, body, RULES)
        except Refused:
            return
        assert has_image or read_form(route.body, form, RULES) == form

    check()


# Over HTTP: whatever a field holds, the twin does not stumble.

ODD: list[Any] = [None, True, 0, -1, 1.5, 10**30, "", "x", "5", [], [None], ["5"], {}, [{}]]
GOOD: dict[str, Any] = {
    "POST /channels/{channel}/messages/bulk-delete": {"messages": ["5", "6"]},
    "POST /interactions/{interaction}/{token}/callback": {"type": 4, "data": {"content": "x"}},
}
#: What the twin has not and says so, with 501.
MISSING = ("poll", "sticker_ids", "shared_client_theme", "type", "thread_name")


async def _path(lab: Lab, route: Route, hook: str) -> str:
    twin = lab.twin
    _, _, webhook, token = hook.split("/")
    names: dict[str, Any] = {"channel": twin.channel().id, "guild": twin.guild.id}
    names |= {"application": twin.bot.id, "overwrite": twin.user().id}
    names |= {"webhook": webhook, "token": token}
    if "{interaction}" in route.path:
        used = await twin.slash("a")
        names |= {"interaction": used.id, "token": used.token}
    if "{message}" in route.path:
        names["message"] = (await lab.sent({"content": "m"}))["id"]
    if "{command}" in route.path:
        home = route.path.format(**names, command="").rstrip("/")
        made = await lab.ask("POST", home, {"name": "a", "description": "d"})
        names["command"] = made.body["id"]
    return route.path.format(**names)


@pytest.mark.anyio
@pytest.mark.parametrize("route", _different(TABLES), ids=_name)
async def test_no_field_makes_the_twin_stumble(route: Route) -> None:
    if isinstance(route.body, Object):
        fields = route.body.fields
    else:
        fields = {"type": Whole(), "data": Object(), "name": Text()}
    async with twin_lab() as lab:
        for name in ("MANAGE_CHANNELS", "MANAGE_ROLES", "MANAGE_THREADS"):
            lab.twin.allow("general", Permission[name])
        hook = await lab.webhook()
        good = GOOD.get(route.name, {"name": "a", "description": "d", "content": "x"})
        for field in fields:
            for value in ODD:
                path = await _path(lab, route, hook)
                body: Any = {**good, field: value}
                if isinstance(route.body, List):
                    body = [body]
                answer = await lab.ask(route.method, path, body)
                assert answer.status < 500 or field in MISSING, (field, value, answer)
