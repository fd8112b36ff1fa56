"""Settings of the documentation site; `make docs` builds it into build/docs."""

from __future__ import annotations

import sys
from pathlib import Path

import minamo

sys.path.insert(0, str(Path(__file__).parent))

project = "minamo"
author = "The minamo authors"
copyright = f"{author}. MIT licence"  # noqa: A001 - Sphinx's own name
version = release = minamo.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "generate"]
source_suffix = {".md": "markdown"}
exclude_patterns: list[str] = []
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4  # the anchors that GitHub makes, so that links work in both places

# Docstrings write names in single backticks, as Markdown does.
default_role = "code"
add_module_names = False
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
maximum_signature_line_length = 100
python_use_unqualified_type_names = True

html_theme = "furo"  # fonts of the system, no request to any other host
html_title = f"minamo {release}"
html_static_path = ["_static"]
html_css_files = ["charts.css"]
html_js_files = [("charts.js", {"defer": "defer"})]
html_show_sphinx = False
html_copy_source = False
