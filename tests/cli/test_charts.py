"""`minamo charts`: what it prints and with which code it ends."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from minamo.cli.main import main
from minamo.machine.reader import chart_names, home, load

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*arguments: object) -> tuple[int, str, str]:
        code = main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of our charts, to be broken."""
    return Path(shutil.copytree(home(), tmp_path / "statecharts"))


@pytest.fixture
def drawn(tmp_path: Path) -> Path:
    """A copy of two charts that are quickly drawn, and of their diagrams."""
    for name, ending in (("statecharts", "yaml"), ("diagrams", "md"), ("diagrams", "svg")):
        (tmp_path / name).mkdir(exist_ok=True)
        for chart in ("delivery", "edit"):
            shutil.copy(home().parent / name / f"{chart}.{ending}", tmp_path / name)
    return tmp_path / "statecharts"


def test_the_list_counts_states_events_and_rows(run: Run) -> None:
    code, out, _ = run("charts")
    head, *rows = out.splitlines()
    assert code == 0
    assert head.split() == ["chart", "states", "leaves", "events", "rows", "about"]
    (stream,) = (row.split() for row in rows if row.startswith("stream "))
    chart = load("stream")
    counts = (len(chart.states), len(chart.leaves), len(chart.events), len(chart.rows))
    assert stream[1:5] == [str(count) for count in counts]
    assert len(rows) == 6


@pytest.mark.parametrize(
    ("form", "begins"),
    [("mermaid", "stateDiagram-v2"), ("md", "# stream"), ("svg", "<svg"), ("scxml", "<scxml")],
)
def test_a_chart_is_shown_in_each_format(run: Run, form: str, begins: str) -> None:
    code, out, _ = run("charts", "stream", "--format", form)
    assert code == 0
    assert out.startswith(begins)


def test_the_page_is_the_default_format(run: Run) -> None:
    assert run("charts", "stream") == run("charts", "stream", "--format", "md")


def test_a_state_can_be_lit(run: Run) -> None:
    assert (
        "class in_code lit"
        in run("charts", "stream", "--format", "mermaid", "--state", "in_code")[1]
    )
    lit = run("charts", "stream", "--format", "svg", "--state", "in_code")[1]
    assert lit != run("charts", "stream", "--format", "svg")[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["steam"], "there is no chart 'steam'; known are "),
        (
            ["stream", "--format", "svg", "--state", "live"],
            "stream has no leaf 'live'; it has opening",
        ),
        (["stream", "--state", "in_code"], "--state lights a picture; md has none"),
        (["--charts", "some/where"], "no charts in some/where;"),
        (["--state", "in_code"], "which chart? Name one of " + ", ".join(chart_names())),
        (["stream", "--write"], "leave the name out"),
    ],
)
def test_a_wrong_question_gets_a_helpful_answer(
    run: Run, arguments: list[str], message: str
) -> None:
    code, _, err = run("charts", *arguments)
    assert code == 2
    assert message in err
    assert err.count("\n") == 1


def test_p09_our_own_charts_and_diagrams_are_in_order(run: Run) -> None:
    code, out, err = run("charts", "--check")
    assert (code, err) == (0, "")
    assert out.endswith("charts checked, nothing wrong\n")


STREAM_BREAKS = {
    "a state made unreachable": (
        "target: in_details, ",
        "",
        "state 'in_details': cannot be reached",
    ),
    "a row removed": (
        "              - {event: fence_closed, target: streaming, on: close_code}\n",
        "",
        "event 'fence_closed' is declared and never used",
    ),
    "an inherited row removed": (
        "          - {event: delivery_lost, on: abandon}\n",
        "",
        "state 'calling', event 'delivery_lost': is neither handled nor ignored",
    ),
    "a targetless row removed": (
        "              - {event: details_closed, on: drop_marker}\n",
        "",
        "state 'streaming', event 'details_closed': is neither handled nor ignored",
    ),
    "a guard misspelt": (
        "cond: segment_ready",
        "cond: segment_redy",
        "unknown guard 'segment_redy'",
    ),
    "a duplicate key": (
        "        enter: close_stream\n",
        "        enter: close_stream\n        enter: keep_open\n",
        "state 'closing': the key 'enter' is written twice",
    ),
    "two competing rows": (
        "              - {event: text, on: take_text}\n",
        "              - {event: text, on: take_text}\n"
        + 14 * " "
        + "- {event: text, on: take_code}\n",
        "state 'streaming', event 'text': competes with the row in line",
    ),
    "an event named done": ("  text: characters", "  done: characters", "event 'done': this name"),
    "an ignored pair without a reason": (
        "fence_closed: no fence is open in plain text",
        "fence_closed:",
        "state 'streaming', event 'fence_closed': no reason given; say why it is ignored",
    ),
    "an ignored pair left out": (
        "              fence_closed: no fence is open in plain text",
        "              {}",
        "state 'streaming', event 'fence_closed': is neither handled nor ignored",
    ),
    "a chart with another name": ("name: stream\n", "name: steam\n", "calls itself 'steam'"),
}


@pytest.mark.parametrize("name", STREAM_BREAKS)
def test_a_broken_chart_fails_the_check_in_one_line(run: Run, folder: Path, name: str) -> None:
    old, new, message = STREAM_BREAKS[name]
    path = folder / "stream.yaml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))

    code, _, err = run("charts", "--check", "--charts", folder)

    assert code == 1
    (line,) = [line for line in err.splitlines() if message in line]
    assert line.startswith("stream.yaml")


def test_a_diagram_edited_by_hand_fails_the_check(run: Run, drawn: Path) -> None:
    for file in ("delivery.md", "delivery.svg"):
        path = drawn.parent / "diagrams" / file
        path.write_text(path.read_text() + " ")
        code, _, err = run("charts", "--check", "--charts", drawn)
        assert code == 1
        remedy = f"minamo charts --charts {drawn} --write"
        assert f"diagrams/{file}: does not match delivery.yaml; run `{remedy}`" in err
        path.unlink()
        assert f"diagrams/{file}: missing" in run("charts", "--check", "--charts", drawn)[2]


def test_write_draws_what_check_wants(run: Run, drawn: Path, tmp_path: Path) -> None:
    pictures = tmp_path / "new"
    code, out, _ = run("charts", "--write", "--charts", drawn, "--diagrams", pictures)
    assert code == 0
    assert str(pictures / "delivery.svg") in out.splitlines()
    assert run("charts", "--check", "--charts", drawn, "--diagrams", pictures)[0] == 0


def test_where_pictures_are_drawn_is_told_from_here(
    run: Run, drawn: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(drawn.parent)
    out = run("charts", "--write", "--charts", drawn)[1]
    assert "diagrams/delivery.svg" in out.splitlines()


def test_nothing_is_drawn_into_an_installed_package(run: Run, drawn: Path) -> None:
    (drawn.parent / "__init__.py").touch()
    code, _, err = run("charts", "--write", "--charts", drawn)
    assert (code, "--diagrams DIR" in err) == (2, True)
    assert run("charts", "--write", "--charts", drawn, "--diagrams", drawn.parent / "x")[0] == 0


def test_charts_without_pictures_can_be_checked(run: Run, folder: Path) -> None:
    assert run("charts", "--check", "--charts", folder)[0] == 0
