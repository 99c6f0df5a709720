"""A new scene begins at its top: Streamlit itself leaves the reader where the scene before was scrolled to."""

import streamlit as st

# Mounted anew for every scene, because each has a key of its own, and once only, because a rerun mounts nothing.
_JS = """
export default function ({ parentElement }) {
  if (parentElement.dataset?.begun || parentElement.host?.dataset.begun) return;
  (parentElement.host ?? parentElement).dataset.begun = "yes";
  document.querySelector("[data-testid=stMain]")?.scrollTo(0, 0);
}
"""
_mount = st.components.v2.component("interplay_scene", js=_JS)


def scene(name: str) -> None:
    """Scroll to the top when a scene of this name is drawn for the first time."""
    with st.container(key="scene", height=1, border=False):
        _mount(key=f"scene-{name}", height=1)
