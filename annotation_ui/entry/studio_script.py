"""What Streamlit runs on every visit and every change: nothing but the shell.

It lies apart from `annotation_ui/pages`: Streamlit takes a `pages` folder beside its script for pages of its own.
"""

from annotation_ui.shell import run

run()
