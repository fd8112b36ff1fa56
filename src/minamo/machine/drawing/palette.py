"""The colours and letters of a picture, for light and for dark pages."""

from __future__ import annotations

LIGHT = {
    "canvas": "#ffffff",
    "tint": "#f1f6fa",
    "tint2": "#e5eef5",
    "edge": "#a9c0d0",
    "leaf": "#ffffff",
    "leaf-edge": "#5b86a5",
    "ink": "#152b3a",
    "soft": "#4d6474",
    "line": "#5f7f95",
    "guard": "#6d4fa1",
    "action": "#2d6f73",
    "good": "#e3f3e8",
    "good-edge": "#4f9468",
    "calm": "#e6eff9",
    "calm-edge": "#5d84b3",
    "bad": "#faeae5",
    "bad-edge": "#bb6f58",
    "lit": "#ffe9ad",
    "lit-edge": "#b97700",
}
DARK = {
    "canvas": "#0e171f",
    "tint": "#14212c",
    "tint2": "#1a2b38",
    "edge": "#3f607a",
    "leaf": "#0f1c26",
    "leaf-edge": "#6f9dbd",
    "ink": "#e4eff6",
    "soft": "#a3b9c7",
    "line": "#7fa0b6",
    "guard": "#c3a9f0",
    "action": "#85cfcf",
    "good": "#15301f",
    "good-edge": "#67b483",
    "calm": "#172a41",
    "calm-edge": "#7aa3d6",
    "bad": "#381f19",
    "bad-edge": "#d88d76",
    "lit": "#55400a",
    "lit-edge": "#ffc445",
}
# Every selector is put below `.chart`, so that a picture set into a page leaves the page alone.
RULES = (
    (".canvas", "fill:var(--canvas)"),
    (
        "text",
        'font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;'
        "fill:var(--ink);white-space:pre",
    ),
    (".name", "font-size:13px;font-weight:700"),
    (".heading", "font-size:18px;font-weight:700"),
    (".about,.key", "fill:var(--soft)"),
    (".guard", "fill:var(--guard)"),
    (".action", "fill:var(--action)"),
    (".frame", "fill:var(--tint);stroke:var(--edge)"),
    (".even>.frame", "fill:var(--tint2)"),
    (".tab", "fill:var(--edge)"),
    (".leaf", "fill:var(--leaf);stroke:var(--leaf-edge);stroke-width:1.4"),
    (".rule", "stroke:var(--leaf-edge);stroke-opacity:.35"),
    (".transient>.leaf", "stroke-dasharray:5 4"),
    (".inner", "fill:none;stroke:var(--leaf-edge)"),
    (".good>.leaf", "fill:var(--good)"),
    (".calm>.leaf", "fill:var(--calm)"),
    (".bad>.leaf", "fill:var(--bad)"),
    (".good>.leaf,.good>.inner,.good>.rule", "stroke:var(--good-edge)"),
    (".calm>.leaf,.calm>.inner,.calm>.rule", "stroke:var(--calm-edge)"),
    (".bad>.leaf,.bad>.inner,.bad>.rule", "stroke:var(--bad-edge)"),
    (".line", "fill:none;stroke:var(--line);stroke-width:1.4"),
    (".tip,.dot", "fill:var(--line)"),
    (".patch", "fill:var(--canvas)"),
    (".patch1", "fill:var(--tint)"),
    (".patch2", "fill:var(--tint2)"),
    (".lit-path>.frame", "stroke:var(--lit-edge);stroke-width:2"),
    (".lit-path>.tab", "fill:var(--lit)"),
    (".lit>.leaf", "fill:var(--lit);stroke:var(--lit-edge);stroke-width:3"),
    (".lit>.inner,.lit>.rule", "stroke:var(--lit-edge)"),
    (".row.lit>.line", "stroke:var(--lit-edge);stroke-width:2.6"),
    (".row.lit>.tip", "fill:var(--lit-edge)"),
)


def style() -> str:
    """The whole style sheet of a picture."""
    light = ";".join(f"--{name}:{colour}" for name, colour in LIGHT.items())
    dark = ";".join(f"--{name}:{colour}" for name, colour in DARK.items())
    lines = [f".chart{{{light}}}", f"@media (prefers-color-scheme:dark){{.chart{{{dark}}}}}"]
    for selectors, rule in RULES:
        scoped = ",".join(f".chart {selector}" for selector in selectors.split(","))
        lines.append(f"{scoped}{{{rule}}}")
    return "\n".join(lines)
