// The task type: found by typing, grouped by ability, with its definition and an example beside it.

const MOST_SHOWN = 60;

class TaskTypeField {
  constructor(editor) {
    this.editor = editor;
    const { say, id } = editor;
    this.list = make("div", { class: "qe-list", role: "listbox", id: `${id}-types`, "aria-label": say("task_type"), hidden: true });
    this.input = make("input", {
      type: "text", class: "qe-input", role: "combobox", autocomplete: "off", "data-control": "task_type", id: `${id}-task_type`,
      "aria-expanded": "false", "aria-controls": `${id}-types`, "aria-autocomplete": "list", placeholder: say("task_type_search"),
    });
    this.about = make("div", { class: "qe-about", "aria-live": "polite" });
    this.input.addEventListener("input", () => this._open(this.input.value));
    this.input.addEventListener("focus", () => (this.input.select(), this._open("")));
    this.input.addEventListener("click", () => this.list.hidden && this._open(""));
    this.input.addEventListener("blur", () => this._close());
    this.input.addEventListener("keydown", (event) => this._key(event));
    this.node = make(
      "div", { class: "qe-type" },
      make("div", { class: "qe-field" },
        make("label", { class: "qe-label", for: this.input.id }, say("task_type")),
        make("div", { class: "qe-pop" }, this.input, this.list),
        editor.slot("task_type", this.input)),
      this.about,
    );
    this._show();
  }

  get chosen() {
    return this.editor.data.task_types.find((type) => type.id === this.editor.content.task_type);
  }

  _show() {
    const { say, content } = this.editor;
    const type = this.chosen;
    this.input.value = type?.name ?? content.task_type;
    this.about.replaceChildren(
      ...(type
        ? [make("p", {}, type.definition), make("p", { class: "qe-quiet" }, make("b", {}, say("example")), " ", type.example)]
        : [make("p", { class: "qe-quiet" }, say("task_type_hint"))]),
    );
  }

  _open(typed) {
    const words = typed.toLocaleLowerCase().split(/\s+/).filter(Boolean);
    const fits = (type) => words.every((word) => `${type.name} ${type.ability} ${type.definition} ${type.id}`.toLocaleLowerCase().includes(word));
    this.found = this.editor.data.task_types.filter(fits).slice(0, MOST_SHOWN);
    const rank = (type) => (type.name.toLocaleLowerCase().includes(typed.toLocaleLowerCase()) ? 0 : 1);
    this.at = this.found.length ? this.found.indexOf([...this.found].sort((one, other) => rank(one) - rank(other))[0]) : -1;
    if (!words.length) this.at = this.found.indexOf(this.chosen);
    this.list.replaceChildren(...this._rows());
    this.list.hidden = false;
    this.input.setAttribute("aria-expanded", "true");
    this._mark();
  }

  _rows() {
    if (!this.found.length) return [make("div", { class: "qe-quiet qe-none" }, this.editor.say("task_type_none"))];
    const rows = [];
    let ability;
    this.found.forEach((type, place) => {
      if (type.ability !== ability) rows.push(make("div", { class: "qe-group", role: "presentation" }, type.ability));
      ability = type.ability;
      const row = make("div", { class: "qe-choice", role: "option", id: `${this.editor.id}-type-${type.id}` }, make("b", {}, type.name), make("span", {}, type.definition));
      row.addEventListener("mousedown", (event) => (event.preventDefault(), this._pick(place)));
      rows.push(row);
    });
    return rows;
  }

  _mark() {
    const rows = [...this.list.querySelectorAll("[role=option]")];
    rows.forEach((row, place) => row.setAttribute("aria-selected", String(place === this.at)));
    const row = rows[this.at];
    row?.scrollIntoView({ block: "nearest" });
    if (row) this.input.setAttribute("aria-activedescendant", row.id);
    else this.input.removeAttribute("aria-activedescendant");
  }

  _key(event) {
    if (isComposing(event) || event.ctrlKey || event.metaKey) return;
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in steps) {
      event.preventDefault();
      if (this.list.hidden) return this._open("");
      this.at = Math.max(0, Math.min(this.found.length - 1, this.at + steps[event.key]));
      this._mark();
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (!this.list.hidden && this.at >= 0) this._pick(this.at);
    } else if (event.key === "Escape") {
      this._close();
    }
  }

  _pick(place) {
    this.editor.content.task_type = this.found[place].id;
    this._close();
    this.editor.changed();
  }

  _close() {
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
    this._show();
  }
}
