"""How Sphinx builds the site, from the pages that `pages.py` has gathered; see `make site`."""

import re
from typing import Any

from timebound import __version__

project = "timebound"
author = "The timebound authors"
copyright = "the timebound authors, Apache-2.0"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.viewcode"]
nitpicky = True
# Types of others, and of ours those that are no public names, are told but lead nowhere.
nitpick_ignore_regex = [
    ("py:class", r"(numpy|pathlib|collections)\..*"),
    ("py:class", r"World|timebound\.(algorithms|kernels|viewer|worlds)\..*"),
]
autosummary_generate = False  # pages.py makes the pages
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
maximum_signature_line_length = 80
add_module_names = False
toc_object_entries_show_parents = "hide"
smartquotes = False  # -- begins an option
myst_heading_anchors = 4

html_theme = "pydata_sphinx_theme"
html_title = "timebound"
html_static_path = ["style"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "show_prev_next": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 8,
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
}
html_sidebars = {"index": [], "gallery": [], "game_loop": []}


def setup(app: Any) -> None:
    """Where a docstring names a page, the site leads there."""

    def linked(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
        lines[:] = [re.sub(r"``docs/(\w+)\.md``", r":doc:`/\1`", line) for line in lines]

    app.connect("autodoc-process-docstring", linked)
    # Whole pages, which are copied as they are.
    app.connect("config-inited", lambda app, config: config.html_extra_path.append(str(app.srcdir / "extra")))
