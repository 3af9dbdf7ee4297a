"""How the site is built: `make docs`. It needs no network, neither to build nor to read."""

import sys
from pathlib import Path

import lacunet

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

project = "Lacunet"
author = "The Lacunet developers"
copyright = "The Lacunet developers"  # noqa: A001 - Sphinx wants this name
version = release = lacunet.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "command_line",
    "docstrings",
    "mathml",
    "picture",
    "redirects",
]
exclude_patterns = ["extensions", "**/make_*.py"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
default_role = "py:obj"  # single backquotes in docstrings: a link where there is such a name
highlight_language = "text"
nitpicky = False

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_type_aliases = {
    name: name for name in ("BoolArray", "CodeArray", "FloatArray", "IntArray", "Label", "State")
}
python_use_unqualified_type_names = True
maximum_signature_line_length = 88
napoleon_google_docstring = False
napoleon_custom_sections = [("Attributes", "params_style")]  # one line for each
napoleon_use_rtype = False
napoleon_preprocess_types = True
napoleon_use_param = False  # one line for parameters that are explained together
add_module_names = False

html_theme = "furo"
html_title = f"Lacunet {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "friendly"

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_line_continuation_character = "\\"

linkcheck_anchors = False
linkcheck_timeout = 20
