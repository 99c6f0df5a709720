"""A larger subset that holds all questions of one that there is."""

from functools import partial
from typing import Any

import streamlit as st

from annotation_ui.page import Page
from annotation_ui.pages.pool_choose import draw_subsets
from annotation_ui.pages.pool_fields import TABLES, given
from annotation_ui.permissions import Permission
from annotation_ui.pools.desk import subsets_of
from annotation_ui.pools.subsets import WantedMore, extend_subset, lacking_files
from compression.subset import Manifest

_EXAMPLE = "{name}-larger"


def draw_larger(page: Page, manifest: Manifest) -> None:
    """The larger ones that there are, and the form."""
    t = page.t
    with st.container(key="subset-larger-told"):
        page.at_work(_work(manifest))
    larger = [one for one in subsets_of(page.studio.workspace, page.who, manifest.pool) if one.extends == manifest.name]
    if larger:
        page.section(t("Subsets that hold this one"))
        draw_subsets(page, larger)
    else:
        page.empty(
            t("No larger subset yet"),
            t(
                "A larger subset holds all questions of this one, so that no answer is asked for twice: more are drawn "
                "from the same strata, and all get new weights. This one stays as it is."
            ),
            [
                (
                    t("Below, or on the command line:"),
                    f"interplay compress extend {manifest.name} --size {_size(manifest)} --name NAME",
                )
            ],
        )
    if not page.who.may(Permission.COMPRESS):
        return
    if manifest.kept == manifest.questions:
        page.notice(t("This subset holds every question of the pool already."))
    elif not manifest.strata:
        page.notice(t("This sampler has no strata to draw more of. Choose a new subset of the pool."))
    else:
        _form(page, manifest)


def _work(manifest: Manifest) -> str:
    return f"subset larger {manifest.name}"


def _size(manifest: Manifest) -> int:
    return min(2 * manifest.kept, manifest.questions)


def _form(page: Page, manifest: Manifest) -> None:
    t = page.t
    page.section(t("Make it larger"), t("Seed, sampler, floors and the rule for missing scores stay as they were."))
    with st.form("extend-subset"):
        name_place, size_place = st.columns([3, 2])
        name = name_place.text_input(
            t("Name of the larger subset"), max_chars=64, key="larger-name",
            placeholder=_EXAMPLE.format(name=manifest.name),
        )  # fmt: skip
        size = size_place.number_input(
            t("Questions to keep"), manifest.kept + 1, manifest.questions, _size(manifest), key="larger-size"
        )
        files = _files(page, manifest)
        sent = st.form_submit_button(t("Extend and seal the subset"), type="primary")
    if not sent:
        return
    more = WantedMore(name.strip(), int(size), given(files.get("labels")), given(files.get("fixed")))
    work = partial(extend_subset, page.studio.workspace, page.who, manifest.name, more, page.studio.clock)
    if page.begin(_work(manifest), work):
        st.rerun()


def _files(page: Page, manifest: Manifest) -> dict[str, Any]:
    """Only what the project does not have: a manifest holds nothing but their hashes."""
    t = page.t
    names = {"labels": t("Labels of questions"), "fixed": t("Questions that must be kept")}
    told = t("The same file that this subset was chosen with.")
    lacking = lacking_files(page.studio.workspace, manifest)
    return {
        name: st.file_uploader(label, type=TABLES, key=f"larger-{name}", help=told)
        for name, label in names.items()
        if lacking[name]
    }
