"""How Sphinx makes the site; run by docs/_make/site.py."""  # noqa: INP001 - a folder of scripts

from importlib.metadata import version as version_of

project = "noisegate"
release = version = version_of("noisegate")
extensions = ["myst_parser"]
html_theme = "furo"
html_title = f"noisegate {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_copyright = html_show_sphinx = html_copy_source = False
# Headings can be linked to, as on a forge.
myst_heading_anchors = 4
# Blocks that are no whole program (a shell with its output) stay as they are.
suppress_warnings = ["misc.highlighting_failure"]
_LIGHT = {
    "color-brand-primary": "#1a1916",
    "color-brand-content": "#1f66a8",
    "color-background-primary": "#fbfaf7",
    "color-background-secondary": "#f3f1eb",
}
_DARK = {
    "color-brand-primary": "#f3f0e9",
    "color-brand-content": "#7db6ea",
    "color-background-primary": "#141311",
    "color-background-secondary": "#1b1a17",
}
html_theme_options = {"light_css_variables": _LIGHT, "dark_css_variables": _DARK}
