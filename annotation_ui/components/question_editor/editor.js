// The question editor: the only writer of a draft in this tab. It draws the fields once and changes them in place, so
// that nothing that the page around it does takes the caret from whoever writes.

const SESSIONS = new Map(); // drafts that were open in this tab: words outlive a visit to another page of the studio

function sessionOf(data) {
  const key = `${data.user}:${data.draft}`;
  const known = SESSIONS.get(key);
  if (known && !known.saver.isHalted && (known.saver.isDirty || known.saver.version >= data.version)) return known;
  const session = { content: whole(data.content), shelf: new Shelf(data.user, data.draft), notes: data.notes, isReady: data.is_ready };
  session.saver = new Saver(data.draft, data.version, session.shelf, () => session.content);
  session.saver.savedAt = data.saved_at;
  session.saver.status = "saved";
  SESSIONS.set(key, session);
  return session;
}

class QuestionEditor {
  constructor(root, data) {
    this.root = root;
    this.id = `qe-${data.draft}`;
    this.materials = new Map();
    this.session = sessionOf(data);
    this.frame = make("div", { class: "qe", id: this.id, onkeydown: (event) => this._key(event) });
    root.append(this.frame);
    this.say = (key, values) => fill(this.data.words[key] ?? key, values);
    this._take(data);
    this.saver.listener = {
      status: () => this._showStatus(),
      checked: (told) => this._checked(told),
      conflict: (told) => this._conflict(told),
      settled: (version) => this.tell.settled({ draft: data.draft, version }),
    };
    this.draw();
    this._offerKept();
  }

  get content() {
    return this.session.content;
  }

  get saver() {
    return this.session.saver;
  }

  // What the page says anew: addresses of media, commands; the words only where this tab has written none since.
  update(data) {
    this._take(data);
    const isBehind = data.version > this.saver.version && !this.saver.isDirty && !this.saver.isHalted;
    if (isBehind && !this.frame.contains(document.activeElement)) {
      Object.assign(this.session, { content: whole(data.content), notes: data.notes, isReady: data.is_ready });
      Object.assign(this.saver, { version: data.version, savedAt: data.saved_at });
      this.draw();
    } else {
      this.prompt.draw();
      this.senses.showEvidence();
      this.showNotes();
    }
    this._obey(data.command);
  }

  _take(data) {
    this.data = data;
    for (const material of Object.values(data.materials)) this.materials.set(material.material_id, material);
    const isOfThese = data.version === this.saver.version && !this.saver.isDirty;
    if (isOfThese) Object.assign(this.session, { notes: data.notes, isReady: data.is_ready });
  }

  destroy() {
    this.senses.destroy();
    this.saver.listener = {};
    this.saver.flush();
    this.frame.remove();
  }

  changed() {
    this.saver.changed();
    this._hideAsking();
  }

  draw() {
    const { say, data, content } = this;
    this.senses?.destroy();
    this.notices = make("div", { class: "qe-stack" });
    this.prompt = new PromptField(this);
    this.senses = new SensesField(this);
    this.answer = make("div");
    const choose = (field, redraw) => (value) => ((content[field] = value), redraw?.(), this.changed());
    const spoken = data.modalities.filter((one) => ["text", "audio"].includes(one.id)).map((one) => [one.id, one.name]);
    this.frame.replaceChildren(
      this.notices,
      this._section(say("section_task"), new TaskTypeField(this).node, make("div", { class: "qe-pair" },
        this._labelled(say("language"), selection("language", [["", say("choose")], ...this._languages()], content.language, choose("language")), "language"),
        this._group(say("kind"), oneOf("kind", `${this.id}-kind`, data.kinds.map((one) => [one.id, one.name]), content.kind, choose("kind", () => this._drawAnswer())), "kind"))),
      this._section(say("section_question"), this.prompt.node, this._group(say("asked_in"), oneOf("asked_in", `${this.id}-asked`, spoken, content.asked_in, choose("asked_in")), "asked_in")),
      this._section(say("section_answer"), this.answer),
      this._section(say("section_senses"), this.senses.node),
      this._section(say("section_name"), this._name()),
      this._bar(),
    );
    this._drawAnswer();
    this._showStatus();
  }

  _languages() {
    const known = this.data.languages.map((one) => [one.id, one.name]);
    const { language } = this.content;
    return language && !known.some(([code]) => code === language) ? [...known, [language, language]] : known;
  }

  _section(title, ...parts) {
    return make("section", { class: "qe-section" }, make("h3", {}, title), ...parts);
  }

  _labelled(label, control, field) {
    control.id ||= `${this.id}-${field}`;
    return make("div", { class: "qe-field" }, make("label", { class: "qe-label", for: control.id }, label), control, this.slot(field, control));
  }

  _group(label, group, field) {
    group.setAttribute("aria-label", label);
    return make("div", { class: "qe-field" }, make("span", { class: "qe-label" }, label), group, this.slot(field, group));
  }

  _name() {
    const { say, data, content } = this;
    const twin = content.twin_group && make("p", { class: "qe-hint" }, say("twin", { name: content.twin_group }));
    if (data.item_name) return make("div", { class: "qe-stack" }, make("p", {}, say("revises", { name: data.item_name })), twin);
    const input = textLine("name", content.name, (text) => ((content.name = text.trim()), this.changed()), { maxlength: 128, placeholder: say("name_hint") });
    return make("div", { class: "qe-stack" }, this._labelled(say("name"), input, "name"), twin, this.slot("twin_group"));
  }

  _drawAnswer() {
    const fields = { choice: () => new ChoicesField(this).node, open: () => acceptedField(this, this.content, ""), multi_step: () => new StepsField(this).node };
    this.answer.replaceChildren(fields[this.content.kind]());
    this.showNotes();
  }

  // Keys

  _key(event) {
    if (!isHandInKey(event)) return;
    event.preventDefault();
    event.stopPropagation();
    this.askToHandIn();
  }

  // Commands of the page; each is obeyed once, also over a reload of this part of the page

  _obey(command) {
    const done = `interplay-done:${this.data.draft}`;
    let last = this.session.done;
    try {
      last ??= sessionStorage.getItem(done);
    } catch { /* then the tab's memory has to do */ }
    if (!command || command.nonce === last) return;
    this.session.done = command.nonce;
    try {
      sessionStorage.setItem(done, command.nonce);
    } catch { /* as above */ }
    if (command.put) this.prompt.put(command.put);
    if (command.take) this._replace(whole(command.take.content), fill(this.say("brought_back"), command.take));
    if (command.focus !== undefined) this.jump(command.focus);
    if (command.problem) this._problem(command.problem);
  }

  // Other words come in the place of these, which are stored first and stay in the draft's versions.
  async _replace(content, text) {
    if (this.saver.isDirty && !(await this.saver.flush())) return this._notice(this.say("not_replaced"), "warn");
    TAB.renew();
    this.session.content = content;
    this.draw();
    this._notice(text);
    this.saver.changed();
    await this.saver.flush();
  }

  _notice(text, kind = "", ...more) {
    const close = iconButton("×", this.say("close"), () => notice.remove());
    const notice = make("div", { class: `ip-notice qe-notice ${kind}`, role: kind === "bad" ? "alert" : "status" }, make("span", {}, text), ...more, close);
    this.notices.replaceChildren(notice);
  }

  _problem(text) {
    this._hideAsking();
    this._notice(text, "bad");
    this.notices.scrollIntoView({ block: "nearest" });
  }

  // Versions that differ

  _conflict(told) {
    const theirs = whole(told.theirs);
    this.notices.replaceChildren(comparePanel(this, {
      heading: told.error, text: this.say("conflict_text"),
      mineTitle: this.say("mine"), theirsTitle: this.say("theirs", { name: told.saved_by, time: clockTime(told.saved_at, this.data.language) }),
      mine: () => this.content, theirs: () => theirs, keepMine: this.say("keep_mine"), takeTheirs: this.say("take_theirs"),
      decided: (content) => {
        this.saver.goOn(told.version);
        this.session.content = content;
        this.draw();
        this._notice(this.say("conflict_over"));
        this.saver.changed();
        this.saver.flush();
      },
    }));
    this.notices.scrollIntoView({ block: "start", behavior: "smooth" });
  }

  _offerKept() {
    if (this.saver.isDirty) return;
    const kept = this.session.shelf.find(this.content);
    if (!kept) return;
    this.notices.replaceChildren(comparePanel(this, {
      heading: this.say("kept_heading", { time: clockTime(kept.at, this.data.language) }), text: this.say("kept_text"),
      mineTitle: this.say("kept_here"), theirsTitle: this.say("saved_there"), mine: () => kept.content, theirs: () => this.content,
      keepMine: this.say("bring_back"), takeTheirs: this.say("leave_saved"),
      decided: async (content, isSaved) => {
        if (!isSaved) await this._replace(content, this.say("kept_back"));
        // Words under this tab's own name are forgotten by the save itself.
        if (isSaved || !this.saver.isDirty) this.session.shelf.forget(kept.key);
      },
    }));
  }

  // Findings of the live checks

  slot(field, control) {
    const node = make("div", { class: "qe-notes", "data-field": field, id: `${this.id}-notes-${field}` });
    node.control = control;
    return node;
  }

  _checked(told) {
    Object.assign(this.session, { notes: told.notes, isReady: told.is_ready });
    this.showNotes();
  }

  showNotes() {
    const { notes } = this.session;
    for (const slot of this.frame.querySelectorAll(".qe-notes")) {
      const own = notes.filter((note) => note.field === slot.dataset.field);
      slot.replaceChildren(...own.map((note) => this._note(note)));
      if (!slot.control) continue;
      slot.control.setAttribute("aria-describedby", slot.id);
      slot.control.setAttribute("aria-invalid", String(own.some((note) => note.severity === "error")));
    }
    this._showOpen();
  }

  _note(note) {
    const signs = { missing: "○", error: "✕", warning: "▲" };
    return make("div", { class: `qe-note ${note.severity}`, title: note.code }, make("span", { "aria-hidden": "true" }, signs[note.severity]), make("span", { class: "qe-sr" }, this.say(`severity_${note.severity}`), " "), note.text);
  }

  // To the field of a finding, or to the one that holds it
  jump(field) {
    for (let name = field; name; name = name.split(".").slice(0, -1).join(".")) {
      const control = this.frame.querySelector(`[data-control="${CSS.escape(name)}"]`);
      if (!control) continue;
      control.scrollIntoView({ block: "center" });
      control.focus({ preventScroll: true });
      return;
    }
    this.openList.scrollIntoView({ block: "nearest" });
  }

  // The bar: what is saved, what is open, handing in

  _bar() {
    const { say } = this;
    this.status = make("span", { class: "qe-status", role: "status" });
    this.openButton = button("", () => ((this.openList.hidden = !this.openList.hidden), this._showOpen()), { class: "qe-button qe-open" });
    this.openList = make("div", { class: "qe-open-list", hidden: true });
    this.listed = undefined;
    this.asking = make("div", { class: "qe-asking", hidden: true, role: "group", "aria-label": say("hand_in") });
    const handIn = button(say("hand_in"), () => this.askToHandIn(), { class: "qe-button qe-main", title: "Ctrl+Enter" });
    return make("div", { class: "qe-bar" }, this.openList, this.asking, make("div", { class: "qe-bar-row" }, this.status, this.openButton, handIn));
  }

  _showStatus() {
    const { say, saver } = this;
    const texts = {
      saved: say("saved", { time: clockTime(saver.savedAt, this.data.language) }), saving: say("saving"), offline: say("offline"),
      offline_unkept: say("offline_unkept"), conflict: say("choose_version"),
    };
    this.status.textContent = texts[saver.status] ?? saver.detail;
    this.status.className = `qe-status ${saver.status}`;
    if (saver.status === "signed_out") this.status.append(" ", make("a", { href: "/auth/sign-in", target: "_blank", rel: "noopener" }, say("sign_in")));
  }

  _showOpen() {
    const { say } = this;
    const open = this.session.notes.filter((note) => note.severity !== "warning");
    const warnings = this.session.notes.filter((note) => note.severity === "warning");
    this.openButton.textContent = open.length ? say("open_points", { count: open.length }) : warnings.length ? say("only_warnings", { count: warnings.length }) : say("nothing_open");
    this.openButton.disabled = !this.session.notes.length;
    this.openButton.setAttribute("aria-expanded", String(!this.openList.hidden));
    // Drawn anew only where it changed: the focus may be in it.
    if (isSame(this.listed ?? null, this.session.notes)) return;
    this.listed = clone(this.session.notes);
    this.openList.replaceChildren(...[...open, ...warnings].map((note) => {
      const row = button("", () => this.jump(note.field), { class: "qe-jump" });
      row.append(this._note(note));
      return row;
    }));
  }

  async askToHandIn() {
    if (!(await this.saver.flush())) return;
    const { say, session } = this;
    if (!session.isReady) {
      this.openList.hidden = false;
      this._showOpen();
      this.openList.querySelector("button")?.focus();
      return;
    }
    const warnings = session.notes.length ? [make("p", {}, say("hand_in_warnings", { count: session.notes.length }))] : [];
    const yes = button(say("hand_in_now"), () => this._handIn(yes), { class: "qe-button qe-main" });
    this.asking.replaceChildren(make("p", {}, make("b", {}, say("hand_in_ask"))), ...warnings, make("div", { class: "qe-row" }, yes, button(say("go_on_writing"), () => this._hideAsking())));
    this.asking.hidden = false;
    this.openList.hidden = !session.notes.length;
    this._showOpen();
    yes.focus();
  }

  _handIn(yes) {
    yes.disabled = true;
    clearTimeout(this.saver.settling); // the page is drawn anew by this
    this.tell.handIn({ draft: this.data.draft, version: this.saver.version, form_key: this.data.form_key });
  }

  _hideAsking() {
    this.asking.hidden = true;
  }
}

const EDITORS = new WeakMap();

export default function (component) {
  const { data, parentElement, setStateValue, setTriggerValue } = component;
  const tell = { settled: (value) => setStateValue("settled", value), handIn: (value) => setTriggerValue("hand_in", value) };
  let editor = EDITORS.get(parentElement);
  if (editor && editor.data.draft === data.draft && editor.data.language === data.language) {
    editor.tell = tell;
    editor.update(data);
  } else {
    editor?.destroy();
    editor = new QuestionEditor(parentElement, data);
    editor.tell = tell;
    EDITORS.set(parentElement, editor);
    editor._obey(data.command);
  }
  return () => {
    EDITORS.get(parentElement)?.destroy();
    EDITORS.delete(parentElement);
  };
}
