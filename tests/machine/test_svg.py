"""The picture of a chart: what is in it, that nothing covers anything, and that it never varies."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import xml.etree.ElementTree as ET
from functools import cache
from itertools import combinations, pairwise
from pathlib import Path

import pytest
from attrs import evolve

from minamo.machine.model import Chart, Row, State
from minamo.machine.reader import read
from minamo.machine.svg.layout import layout
from minamo.machine.svg.picture import (
    FULL,
    PITCH,
    SQUARE,
    TALL,
    WIDE,
    Line,
    Picture,
    Rect,
    Sizes,
    line_width,
    width,
)
from minamo.machine.svg.placement import bandings
from minamo.machine.svg.render import names_only, to_svg
from minamo.machine.svg.routing import draw

CHARTS = Path(__file__).parents[2] / "statecharts"
STREAM = read((CHARTS / "stream.yaml").read_text("utf-8"), "stream.yaml")
SVG = "{http://www.w3.org/2000/svg}"
# What a name can look like: short, long, and the kinds of outcome.
WORDS = ("go", "text_arrived", "a_rather_long_name_for_one_event", "lost", "completed", "idle")


def chart_of(states: dict[str, State], initial: str) -> Chart:
    """A chart of *states* alone: the picture asks nothing else."""
    return Chart("made", "made.yaml", "", {}, {}, {}, states, initial)


def random_chart(seed: int, size: int = 0) -> Chart:
    """A chart of up to three levels, with rows of every kind between any two states."""
    rng = random.Random(seed)
    left = size or rng.randint(1, 11)
    parents: dict[str, str | None] = {}
    for n in range(left):
        shallow = [s for s in parents if _depth(parents, s) < 3]
        parent = rng.choice([None, *shallow]) if n else None
        parents[f"{rng.choice(WORDS)}_{n}"] = parent
    ordered = _nested(parents, None)
    states: dict[str, State] = {}
    count = 0
    for key in ordered:
        children = tuple(child for child in ordered if parents[child] == key)
        final = not children and rng.random() < 0.2
        rows = []
        for _ in range(0 if final else rng.choice((0, 0, 1, 1, 2, 3))):
            rows.append(_row(rng, count, key, ordered))
            count += 1
        states[key] = State(
            key,
            parents[key],
            children,
            rng.choice(children) if children else None,
            final,
            rng.choice(("", "what it is <for> & why")),
            tuple(rng.choices(WORDS, k=rng.choice((0, 0, 1)))),
            tuple(rng.choices(WORDS, k=rng.choice((0, 0, 2)))),
            tuple(rows),
            transient="" if children else rng.choice(("", "", "left at once")),
        )
    return chart_of(states, rng.choice([key for key in ordered if parents[key] is None]))


def _depth(parents: dict[str, str | None], key: str | None) -> int:
    return 0 if key is None else 1 + _depth(parents, parents[key])


def _nested(parents: dict[str, str | None], at: str | None) -> list[str]:
    return [
        name for key, up in parents.items() if up == at for name in (key, *_nested(parents, key))
    ]


def _row(rng: random.Random, index: int, source: str, states: list[str]) -> Row:
    target = rng.choice([None, *rng.choices(states, k=3)])
    events = rng.choices(WORDS, k=rng.choice((0, 1, 1, 1, 2, 9)))
    return Row(
        index,
        source,
        tuple(events) if target else (*events, "go"),
        rng.choice(("", "", "ready", "ready and not lost or some_rather_long_condition")),
        tuple(rng.choices(WORDS, k=rng.choice((0, 1, 3)))),
        target,
    )


CHARTS_MADE = 16
# Measuring what is covered takes several times as long as drawing: some of them are enough.
CHART_NUMBERS = [
    pytest.param(n, marks=pytest.mark.no_cover if n not in range(1, 7) else [])
    for n in range(CHARTS_MADE + 1)
]
SMALL = {"wide": WIDE, "square": SQUARE, "tall": TALL}


@cache
def chart_number(n: int) -> Chart:
    """The stream chart, then made ones."""
    return random_chart(n) if n else STREAM


@cache
def picture_of(n: int) -> Picture:
    return draw(chart_number(n), layout(chart_number(n), FULL))


@cache
def svg_of_the_stream() -> str:
    return to_svg(STREAM)


@cache
def small_picture_of(n: int, sizes: Sizes) -> tuple[Chart, Picture]:
    chart = names_only(chart_number(n))
    return chart, draw(chart, layout(chart, sizes))


def rows_of(element: ET.Element) -> list[int]:
    return [
        int(index)
        for group in element.iter(f"{SVG}g")
        if group.get("class") == "row"
        for index in (group.get("data-rows") or "").split()
    ]


def apart(a: Rect, b: Rect) -> bool:
    return a.right < b.x or b.right < a.x or a.bottom < b.y or b.bottom < a.y


def within(inner: Rect, outer: Rect) -> bool:
    return (
        outer.x < inner.x
        and outer.y < inner.y
        and inner.right < outer.right
        and inner.bottom < outer.bottom
    )


def ancestors(chart: Chart, key: str) -> list[str]:
    return [state.id for state in chart.lineage(key)][1:]


def obstacles(picture: Picture) -> list[Rect]:
    """What no line may touch but at its ends: leaves, the heads of compounds, and labels."""
    found = [box.head or box.rect for box in picture.boxes]
    return found + [arrow.label.rect for arrow in picture.arrows if arrow.label]


@pytest.fixture(params=CHART_NUMBERS, scope="module")  # all tests of one chart, then the next
def drawn(request) -> tuple[Chart, Picture]:
    return chart_number(request.param), picture_of(request.param)


@pytest.mark.parametrize("sizes", SMALL.values(), ids=SMALL)
@pytest.mark.parametrize("n", CHART_NUMBERS)
def test_small_pictures_have_names_only_and_nothing_covers_anything(n, sizes):
    drawn = small_picture_of(n, sizes)
    for check in ALWAYS:
        getattr(TestGeometry(), check)(drawn)
    _, picture = drawn
    targets = {row.index for row in chart_number(n).rows if row.target is not None}
    assert {index for arrow in picture.arrows for index in arrow.rows} == targets
    assert not any(box.notes for box in picture.boxes)
    assert not any(arrow.label for arrow in picture.arrows)
    for box in picture.boxes:
        assert width(box.id, sizes.title_px) + 2 * sizes.inset <= box.rect.w


@pytest.mark.parametrize(
    ("sizes", "pane"), [(SQUARE, (545, 470)), (WIDE, (730, 500)), (TALL, (362, 600))]
)
def test_the_names_of_the_stream_chart_are_legible_in_a_pane(sizes, pane):
    """The panes are those of a page of 1280 by 720, of one of 1600 by 760, and of a phone."""
    _, picture = small_picture_of(0, sizes)
    scale = min(pane[0] / picture.width, pane[1] / picture.height)
    assert sizes.title_px * scale >= 10.5


def test_a_small_picture_has_no_heading_and_one_size_of_letters():
    root = ET.fromstring(to_svg(STREAM, sizes=WIDE))
    assert {text.get("class") for text in root.iter(f"{SVG}text")} == {"name large"}
    assert ".chart .large{font-size:22px}" in root.find(f"{SVG}style").text
    assert len(list(root.iter(f"{SVG}text"))) == len(STREAM.states)


ALWAYS = (
    "test_every_state_is_there_once_inside_its_parent",
    "test_siblings_keep_their_distance",
    "test_children_leave_the_text_of_their_parent_free",
    "test_lines_run_through_no_leaf_and_over_no_text",
    "test_lines_enter_only_the_states_they_belong_to",
    "test_lines_begin_and_end_at_what_they_join",
)


class TestGeometry:
    @pytest.mark.no_cover  # measuring would be most of its time
    def test_every_state_is_there_once_inside_its_parent(self, drawn):
        chart, picture = drawn
        boxes = {box.id: box.rect for box in picture.boxes}

        assert list(chart.states) == [box.id for box in picture.boxes]
        canvas = Rect(0, 0, picture.width, picture.height)
        for key, rect in boxes.items():
            parent = chart.states[key].parent
            assert within(rect, boxes[parent] if parent else canvas)

    def test_siblings_keep_their_distance(self, drawn):
        chart, picture = drawn
        for one, two in combinations(picture.boxes, 2):
            if one.id not in ancestors(chart, two.id) and two.id not in ancestors(chart, one.id):
                assert apart(one.rect, two.rect)

    def test_children_leave_the_text_of_their_parent_free(self, drawn):
        chart, picture = drawn
        boxes = {box.id: box for box in picture.boxes}
        for box in picture.boxes:
            parent = chart.states[box.id].parent
            if parent:
                assert boxes[parent].head.bottom < box.rect.y

    def test_labels_cover_nothing(self, drawn):
        chart, picture = drawn
        labelled = [arrow for arrow in picture.arrows if arrow.label]
        dots = [dot.rect for dot in picture.dots]

        for one, two in combinations([a.label.rect for a in labelled] + dots, 2):
            assert apart(one, two)
        for arrow in labelled:
            around = {*ancestors(chart, arrow.source), *ancestors(chart, arrow.target)}
            around |= {arrow.source, arrow.target}
            for box in picture.boxes:
                place = box.head or box.rect
                assert apart(arrow.label.rect, place)
                if box.id not in around:
                    assert apart(arrow.label.rect, box.rect)
            assert within(arrow.label.rect, Rect(0, 0, picture.width, picture.height))

    def test_lines_run_through_no_leaf_and_over_no_text(self, drawn):
        _, picture = drawn
        blocks = obstacles(picture)
        legs = [leg for arrow in picture.arrows for leg in arrow.legs]
        for leg in legs + [dot.leg for dot in picture.dots]:
            for (ax, ay), (bx, by) in pairwise(leg):
                assert ax == bx or ay == by
                run = Rect(min(ax, bx), min(ay, by), abs(ax - bx), abs(ay - by))
                # Shrunk by less than one step: a line may begin or end on a border.
                for block in blocks:
                    core = Rect(block.x + 1, block.y + 1, block.w - 2, block.h - 2)
                    assert apart(run, core)

    def test_lines_enter_only_the_states_they_belong_to(self, drawn):
        chart, picture = drawn
        for arrow in picture.arrows:
            own = {*ancestors(chart, arrow.source), *ancestors(chart, arrow.target)}
            for box in picture.boxes:
                for leg in arrow.legs if box.id not in own else ():
                    for (ax, ay), (bx, by) in pairwise(leg):
                        run = Rect(min(ax, bx), min(ay, by), abs(ax - bx), abs(ay - by))
                        core = Rect(box.rect.x + 1, box.rect.y + 1, box.rect.w - 2, box.rect.h - 2)
                        assert apart(run, core)

    def test_lines_begin_and_end_at_what_they_join(self, drawn):
        _, picture = drawn
        boxes = {box.id: box.rect for box in picture.boxes}
        for arrow in picture.arrows:
            places = [boxes[arrow.source], boxes[arrow.target]]
            if arrow.label:
                places[1:1] = [arrow.label.rect, arrow.label.rect]
            ends = [point for leg in arrow.legs for point in (leg[0], leg[-1])]
            for (x, y), place in zip(ends, places, strict=True):
                assert not apart(Rect(x, y, 0, 0), place)
                assert x in (place.x, place.right) or y in (place.y, place.bottom)

    def test_text_fits(self, drawn):
        _, picture = drawn
        for box in picture.boxes:
            assert width(box.id, FULL.title_px) < box.rect.w
            for line in (line for note in box.notes for line in note.lines):
                assert line_width(line) < box.rect.w
        for label in (arrow.label for arrow in picture.arrows if arrow.label):
            assert all(line_width(line) < label.rect.w for line in label.lines)
            assert 16 * len(label.lines) <= label.rect.h

    def test_every_row_is_there_once(self, drawn):
        chart, picture = drawn
        found = [index for arrow in picture.arrows for index in arrow.rows]
        found += [n.row for box in picture.boxes for n in box.notes if n.row is not None]

        assert sorted(found) == [row.index for row in chart.rows]
        assert len(picture.dots) >= 1


@pytest.mark.slow
@pytest.mark.parametrize("n", range(CHARTS_MADE + 1, 100))
def test_p09_more_pictures_show_every_row_and_nothing_covers_anything(n):
    drawn = chart_number(n), picture_of(n)
    for name, check in vars(TestGeometry).items():
        if name.startswith("test_"):
            check(TestGeometry(), drawn)
    for sizes in SMALL.values():
        test_small_pictures_have_names_only_and_nothing_covers_anything(n, sizes)


@pytest.mark.no_cover  # measuring would be most of its time
@pytest.mark.parametrize("n", range(8))
def test_the_xml_says_what_the_picture_says(n):
    chart, picture = chart_number(n), picture_of(n)
    root = ET.fromstring(to_svg(chart) if n else svg_of_the_stream())
    boxes = {f"state-{box.id}": box.head or box.rect for box in picture.boxes}
    groups = root.findall(f"{SVG}g")

    assert sorted(rows_of(root)) == [row.index for row in chart.rows]
    assert list(boxes) == [g.get("id") for g in groups if "state" in g.get("class").split()]
    assert root.find(f"{SVG}title").text == f"{chart.name}: statechart"
    for group in groups[: len(boxes)]:
        place = boxes[group.get("id")]
        for text in group.iter(f"{SVG}text"):
            assert place.y + 10 < int(text.get("y")) < place.bottom - 3


def words_of(lines: tuple[Line, ...]) -> list[str]:
    return ["".join(span.text for span in line) for line in lines]


def test_the_stream_chart_fits_a_page():
    picture = picture_of(0)

    assert picture.width <= 1500
    assert 0.85 <= picture.width / picture.height <= 2


def test_rows_between_two_states_share_an_arrow():
    arrows = {(arrow.source, arrow.target): arrow for arrow in picture_of(0).arrows}

    assert arrows["live", "completing"].rows == (0, 4)
    ending = " ".join(words_of(arrows["live", "timing_out"].label.lines)).split()
    assert " ".join(ending) == "went_silent, overran / note_ending, keep_open, flush_cut_off"
    closing = " ".join(words_of(arrows["in_think", "streaming"].label.lines)).split()
    assert " ".join(closing) == "think_closed [outermost] / close_thought"
    assert arrows["handing", "streaming"].label is None
    assert len(arrows) == 33


def test_targetless_rows_and_entry_actions_stand_in_the_box():
    closing = next(box for box in picture_of(0).boxes if box.id == "closing")

    assert words_of(closing.notes[0].lines) == ["entry / close_stream"]
    assert closing.notes[0].row is None
    assert len([note for note in closing.notes if note.row is not None]) == 2


def test_initial_marks_only_where_they_matter():
    assert [dot.target for dot in picture_of(0).dots] == ["live", "opening"]


def test_p08_same_bytes_in_any_process():
    code = (
        "import sys\nfrom minamo.machine.reader import read\n"
        "from minamo.machine.svg.render import to_svg\n"
        "sys.stdout.buffer.write(to_svg(read(open(sys.argv[1]).read(), 'stream.yaml')).encode())"
    )
    for seed in ("1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        run = subprocess.run(
            [sys.executable, "-c", code, str(CHARTS / "stream.yaml")],
            env=env,
            capture_output=True,
            check=True,
        )
        assert run.stdout == svg_of_the_stream().encode()


def test_lit():
    plain, lit = svg_of_the_stream(), to_svg(STREAM, lit="streaming")
    classes = {
        group.get("id"): (group.get("class") or "").split()
        for group in ET.fromstring(lit).iter(f"{SVG}g")
    }

    assert "lit" in classes["state-streaming"]
    assert [key for key, names in classes.items() if "lit-path" in names] == [
        "state-live",
        "state-reading",
    ]
    assert ' lit"' not in plain


@pytest.mark.parametrize("lit", ["nowhere", "live"])
def test_only_a_leaf_can_be_lit(lit):
    with pytest.raises(ValueError, match=f"{lit}.*opening, streaming, .*follow_up_interrupt"):
        to_svg(STREAM, lit=lit)


def test_what_a_chart_says_cannot_break_out():
    evil = "a<b>&\"c'd"
    state = State(evil, about=evil, enter=(evil,), rows=(Row(0, evil, (evil,), evil, (evil,)),))
    text = to_svg(evolve(chart_of({evil: state}, evil), name=evil, about=evil), lit=evil)

    root = ET.fromstring(text)
    assert "<b>" not in text
    assert root.find(f"{SVG}g").get("id") == f"state-{evil}"


def test_nothing_is_fetched_and_nothing_runs():
    text = svg_of_the_stream().replace("http://www.w3.org/2000/svg", "")

    for word in ("http", "<script", "url(", "@import", "href"):
        assert word not in text


@pytest.mark.no_cover  # measuring would be most of its time
def test_a_large_chart():
    chart = random_chart(9, size=40)
    picture = draw(chart, layout(chart, FULL))

    assert len(picture.boxes) == 40
    assert picture.width % PITCH == 0


def test_seven_siblings_in_a_row_are_folded_into_bands():
    keys = [f"step_{n}" for n in range(7)]
    states = {
        key: State(key, rows=(Row(n, key, ("go",), target=keys[n + 1]),) if n < 6 else ())
        for n, key in enumerate(keys)
    }
    chart = chart_of(states, keys[0])
    picture = draw(chart, layout(chart, FULL))

    assert len({box.rect.y for box in picture.boxes}) > 1
    assert picture.width < 1500


@pytest.mark.parametrize(
    ("key", "tint"),
    [("sent", "good"), ("not_sent", "calm"), ("timeout", "bad"), ("follow_up_interrupt", "calm")],
)
def test_an_outcome_is_tinted_by_its_name(key, tint):
    root = ET.fromstring(to_svg(chart_of({key: State(key, final=True)}, key)))

    assert root.find(f"{SVG}g").get("class") == f"state final {tint}"


def test_a_heading_that_is_too_long_is_left_out():
    chart = chart_of({"a": State("a")}, "a")

    assert 'class="about"' not in to_svg(evolve(chart, about="far too long " * 20))
    assert "short</text>" in to_svg(evolve(STREAM, about="short. And more."))


@pytest.mark.parametrize(
    ("keys", "pairs", "expected"),
    [
        ("a", [], [[[["a"]]]]),
        # A chain: one band of two columns, or two bands.
        ("ab", [("a", "b")], [[[["a"], ["b"]]], [[["a"]], [["b"]]]]),
        ("ab", [("b", "a")], [[[["a"], ["b"]]], [[["a"]], [["b"]]]]),
        # What nothing joins: one band, of one to three columns.
        ("abc", [], [[[["a", "b", "c"]]], [[["a", "b"], ["c"]]], [[["a"], ["b"], ["c"]]]]),
        (
            "abc",
            [("a", "b"), ("a", "c")],
            [[[["a"], ["b", "c"]]], [[["a"]], [["b", "c"]]], [[["a"]], [["b"], ["c"]]]],
        ),
    ],
)
def test_siblings_are_laid_out_in_every_way_worth_comparing(keys, pairs, expected):
    assert list(bandings(keys, pairs)) == expected
