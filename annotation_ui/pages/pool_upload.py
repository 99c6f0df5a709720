"""Files of scores that come into a pool through the browser."""

from datetime import timedelta
from functools import partial

import streamlit as st

from annotation_ui.background import Job
from annotation_ui.page import Page
from annotation_ui.pages.pool_fields import SCORE_FILES, given, reading_fields
from annotation_ui.permissions import Permission
from annotation_ui.pools.desk import NewScores, bring_in
from compression.pool_import import Imported
from core.errors import InterplayError

# One import at a time: each looks at what the pool has before it adds to it.
WORK = "pool import"
_TOLD_FOR = timedelta(minutes=5)


def draw_upload(page: Page, pool: str | None = None) -> None:
    """The form, and how the last import goes or went. `pool` is what the scores go to; None: a name is asked for."""
    if not page.who.may(Permission.COMPRESS):
        return
    # A place of its own: what is told there must not push the open form into another place, and shut it.
    with st.container(key="pool-import-told"):
        job = page.at_work(WORK)
        if job is not None:
            _tell(page, job, pool)
    t = page.t
    title = t("Bring in scores") if pool is None else t("Bring more scores into this pool")
    with st.expander(title, icon=":material/upload:"), st.form(f"pool-upload-{pool}", border=False):
        files = st.file_uploader(
            t("Files of scores"), type=SCORE_FILES, accept_multiple_files=True, key=f"pool-files-{pool}",
            help=t("CSV, TSV or Parquet with columns question_id, model and score; or what Inspect AI, VLMEvalKit, "
                   "lmms-eval, OpenCompass or HELM write."),
        )  # fmt: skip
        name = pool or st.text_input(
            t("Name of the pool"), max_chars=64, key="pool-name", help=t("One that is there gets what it lacks.")
        )
        more, reading = reading_fields(page, f"pool-{pool}")
        families = more.file_uploader(
            t("Families of models"), type=["csv"], key=f"pool-families-{pool}",
            help=t("CSV with columns model and family."),
        )  # fmt: skip
        replace = more.checkbox(t("Replace other scores"), key=f"pool-replace-{pool}")
        sent = st.form_submit_button(t("Bring them in"), type="primary")
    if not sent:
        return
    if not files:
        page.notice(t("Choose at least one file."), "warn")
        return
    try:
        read = [one for one in map(given, files) if one is not None]
        new = NewScores(name.strip(), read, reading(), given(families), replace)
    except InterplayError as error:
        page.problem(error)
        return
    if page.begin(WORK, partial(bring_in, page.studio.workspace, page.who, new, page.studio.clock)):
        st.rerun()


def _tell(page: Page, job: Job, pool: str | None) -> None:
    done = job.outcome
    is_recent = job.ended_at is not None and page.studio.clock() - job.ended_at < _TOLD_FOR
    if not isinstance(done, Imported) or not is_recent or pool not in {None, done.pool}:
        return
    t = page.t
    counts = {name: t.number(getattr(done, name)) for name in ("added", "known", "replaced")}
    page.notice(
        t(
            "{pool}: {added} scores came in, {known} were there already, {replaced} were replaced.",
            pool=done.pool,
            **counts,
        ),
        "good",
    )
