"""What Streamlit runs on every visit and every change: nothing but the shell.

It lies apart from `annotation_ui/pages`: Streamlit takes a `pages` folder beside its script for pages of its own.
"""

# Worker processes that start while a page is drawn import their parent's main script, which is this one then.
if __name__ == "__main__":
    from annotation_ui.shell import run

    run()
