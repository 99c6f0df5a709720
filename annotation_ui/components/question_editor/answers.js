// The answer: choices, accepted answers, or steps.

function moved(list, from, to) {
  const result = [...list];
  result.splice(to, 0, ...result.splice(from, 1));
  return result;
}

// Alt+Up and Alt+Down move a row of a list.
function moveByKey(event, place, count, move) {
  const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  if (!event.altKey || !step || isComposing(event)) return false;
  event.preventDefault();
  const to = place + step;
  if (to >= 0 && to < count) move(to);
  return true;
}

// Lines that were pasted as a list, without the letters or numbers that they were counted by.
function pastedLines(text) {
  const lines = text.split(/\r?\n/).map((line) => line.trim()).filter(Boolean);
  const counted = lines.map((line) => /^[(（]?([A-Za-z]|\d{1,2})\s*[.)、．:：）]\s*(.+)$/.exec(line));
  const marks = counted.map((found, place) => found && [letter(place), letter(place).toLowerCase(), String(place + 1)].includes(found[1]));
  return lines.length > 1 && marks.every(Boolean) ? counted.map((found) => found[2]) : lines;
}

const FIRST_CHOICES = 4;

class ChoicesField {
  constructor(editor) {
    this.editor = editor;
    this.several = editor.content.correct.length > 1;
    this.node = make("div", { class: "qe-stack" });
    this.draw();
  }

  // An empty question shows rows to write in; they become its choices with the first word.
  get rows() {
    const { choices, correct } = this.editor.content;
    return this._shown(choices).map((text, place) => ({ text, right: correct.includes(place) }));
  }

  _shown(choices) {
    return choices.length ? choices : Array(FIRST_CHOICES).fill("");
  }

  set(rows, focus) {
    const kept = rows.slice(0, MOST_ENTRIES);
    this.editor.content.choices = kept.map((row) => row.text);
    this.editor.content.correct = kept.flatMap((row, place) => (row.right ? [place] : []));
    this.draw();
    if (focus !== undefined) this.focus(focus);
    this.editor.changed();
  }

  focus(place) {
    this.node.querySelector(`[data-control="choices.${place}"]`)?.focus();
  }

  draw() {
    const { say, id } = this.editor;
    const several = make("input", { type: "checkbox", checked: this.several, onchange: () => this._several(several.checked) });
    this.node.replaceChildren(
      make("p", { class: "qe-hint" }, say("choices_hint")),
      make("div", { class: "qe-list-rows", role: "group", "aria-label": say("field_choices"), id: `${id}-choices` }, ...this.rows.map((row, place) => this._row(row, place))),
      make("div", { class: "qe-row" },
        button(say("add_choice"), () => this.set([...this.rows, { text: "", right: false }], this.rows.length), { "data-control": "choices" }),
        make("label", { class: "qe-option" }, several, say("several_right"))),
      this.editor.slot("choices"),
      this.editor.slot("correct"),
    );
  }

  _several(several) {
    this.several = several;
    const first = this.rows.findIndex((row) => row.right);
    this.set(this.rows.map((row, place) => ({ ...row, right: several ? row.right : place === first })));
  }

  _row(row, place) {
    const { say, id, content } = this.editor;
    const count = this.rows.length;
    const right = make("input", {
      type: this.several ? "checkbox" : "radio", name: `${id}-right`, checked: row.right, title: say("mark_right"),
      "aria-label": say("choice_is_right", { label: letter(place) }), ...(place === 0 ? { "data-control": "correct" } : {}),
    });
    right.addEventListener("change", () => {
      const rows = this.rows.map((one, at) => ({ ...one, right: at === place ? right.checked : this.several && one.right }));
      content.choices = [...this._shown(content.choices)];
      content.correct = rows.flatMap((one, at) => (one.right ? [at] : []));
      for (const [at, node] of [...this.node.querySelectorAll(".qe-choice-row")].entries()) node.classList.toggle("right", rows[at].right);
      this.editor.changed();
    });
    const input = textLine(`choices.${place}`, row.text, (text) => {
      content.choices = [...this._shown(content.choices)];
      content.choices[place] = text;
      this.editor.changed();
    }, { maxlength: 2000, "aria-label": say("choice", { label: letter(place) }) });
    input.addEventListener("keydown", (event) => this._key(event, place));
    input.addEventListener("paste", (event) => this._paste(event, place));
    const move = (to) => this.set(moved(this.rows, place, to), to);
    return make(
      "div", { class: `qe-choice-row${row.right ? " right" : ""}` },
      right, make("b", { "aria-hidden": "true" }, letter(place)), input,
      iconButton("↑", say("move_up", { label: letter(place) }), () => move(place - 1), { disabled: place === 0 }),
      iconButton("↓", say("move_down", { label: letter(place) }), () => move(place + 1), { disabled: place === count - 1 }),
      iconButton("×", say("remove_choice", { label: letter(place) }), () => this.set(this.rows.filter((_, at) => at !== place), Math.max(0, place - 1))),
      this.editor.slot(`choices.${place}`, input),
    );
  }

  _key(event, place) {
    const count = this.rows.length;
    if (moveByKey(event, place, count, (to) => this.set(moved(this.rows, place, to), to))) return;
    if (event.key !== "Enter" || isComposing(event) || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    if (place + 1 < count) this.focus(place + 1);
    else if (event.target.value.trim()) this.set([...this.rows, { text: "", right: false }], count);
  }

  _paste(event, place) {
    const lines = pastedLines(event.clipboardData.getData("text/plain"));
    if (lines.length < 2) return;
    event.preventDefault();
    const rows = this.rows;
    const first = { ...rows[place], text: rows[place].text.trim() ? `${rows[place].text}${lines[0]}` : lines[0] };
    const pasted = [first, ...lines.slice(1).map((text) => ({ text, right: false }))];
    const after = rows.slice(place + 1).filter((row) => row.text.trim() || row.right);
    this.set([...rows.slice(0, place), ...pasted, ...after], place + pasted.length - 1);
  }
}

// Accepted answers with how they are graded; `given` is the draft itself or one of its steps.
function acceptedField(editor, given, path) {
  const { say, data } = editor;
  const node = make("div", { class: "qe-stack" });
  const name = (field) => (path ? `${path}.${field}` : field);
  const draw = (focus) => {
    const shown = given.accepted.length ? given.accepted : [""];
    const rows = shown.map((text, place) => {
      const label = place ? say("also_accepted", { number: place }) : say("answer");
      const input = textLine(place ? `${name("accepted")}.${place}` : name("accepted"), text, (typed) => {
        given.accepted[place] = typed;
        editor.changed();
      }, { maxlength: 2000, "aria-label": label, placeholder: place ? say("also_accepted_hint") : say("answer_hint") });
      const remove = () => (given.accepted.splice(place, 1), draw(Math.max(0, place - 1)), editor.changed());
      return make("div", { class: "qe-answer-row" }, input, place > 0 && iconButton("×", say("remove_answer", { number: place }), remove));
    });
    const add = button(say("add_accepted"), () => {
      if (!given.accepted.length) given.accepted.push("");
      if (given.accepted.length < MOST_ENTRIES) given.accepted.push("");
      draw(given.accepted.length - 1);
      editor.changed();
    });
    node.replaceChildren(...rows, editor.slot(name("accepted"), rows[0].querySelector("input")), make("div", { class: "qe-row" }, add, ...grading()));
    if (focus !== undefined) node.querySelectorAll(".qe-answer-row input")[focus]?.focus();
    editor.showNotes();
  };
  const grading = () => {
    const grader = selection(name("grader"), data.graders.map((one) => [one.id, one.name]), given.grader ?? "", (code) => {
      given.grader = code || null;
      if (given.grader !== "number") given.tolerance = null;
      draw();
      editor.changed();
    });
    const parts = [make("label", { class: "qe-inline" }, say("graded_as"), grader)];
    if (given.grader === "number" || given.tolerance !== null) {
      const tolerance = make("input", { type: "number", min: 0, step: "any", class: "qe-input qe-short", "data-control": name("tolerance"), value: given.tolerance ?? "" });
      listen(tolerance, (typed) => {
        const number = Number.parseFloat(typed);
        given.tolerance = Number.isFinite(number) && number >= 0 ? number : null;
        editor.changed();
      });
      parts.push(make("label", { class: "qe-inline" }, say("tolerance"), tolerance));
    }
    return parts;
  };
  draw();
  return node;
}

class StepsField {
  constructor(editor) {
    this.editor = editor;
    this.sum = make("p", { class: "qe-sum", "aria-live": "polite" });
    this.node = make("div", { class: "qe-stack" });
    this.draw();
  }

  set(steps, focus) {
    this.editor.content.steps = steps.slice(0, MOST_ENTRIES);
    this.draw();
    if (focus !== undefined) this.node.querySelector(`[data-control="steps.${focus}.ask"]`)?.focus();
    this.editor.changed();
  }

  draw() {
    const { say, content } = this.editor;
    const add = () => this.set([...content.steps, clone(BLANK_STEP)], content.steps.length);
    this.node.replaceChildren(
      make("p", { class: "qe-hint" }, say("steps_hint")),
      ...content.steps.map((step, place) => this._step(step, place)),
      make("div", { class: "qe-row" }, button(say("add_step"), add, { "data-control": "steps" }), this.sum),
      this.editor.slot("steps"),
    );
    this._add();
  }

  _add() {
    const total = this.editor.content.steps.reduce((sum, step) => sum + (step.points ?? 0), 0);
    this.sum.textContent = this.editor.say("points_sum", { total, wanted: this.editor.data.points_total });
    this.sum.classList.toggle("right", total === this.editor.data.points_total);
  }

  _step(step, place) {
    const { say } = this.editor;
    const steps = this.editor.content.steps;
    const number = place + 1;
    const move = (to) => this.set(moved(steps, place, to), to);
    const ask = textArea(`steps.${place}.ask`, step.ask, (text) => ((step.ask = text), this.editor.changed()), { maxlength: 20000, "aria-label": say("step_asks", { number }), placeholder: say("step_asks", { number }) });
    const rubric = textArea(`steps.${place}.rubric`, step.rubric, (text) => ((step.rubric = text), this.editor.changed()), { maxlength: 20000, "aria-label": say("rubric", { number }), placeholder: say("rubric_hint") });
    const node = make(
      "div", { class: "qe-step", role: "group", "aria-label": say("step", { number }) },
      make("div", { class: "qe-step-head" }, make("b", {}, say("step", { number })), this._points(step, place),
        iconButton("↑", say("move_up", { label: number }), () => move(place - 1), { disabled: place === 0 }),
        iconButton("↓", say("move_down", { label: number }), () => move(place + 1), { disabled: place === steps.length - 1 }),
        iconButton("×", say("remove_step", { number }), () => this.set(steps.filter((_, at) => at !== place), Math.max(0, place - 1)))),
      ask, this.editor.slot(`steps.${place}.ask`, ask),
      this.editor.slot(`steps.${place}.points`),
      acceptedField(this.editor, step, `steps.${place}`),
      rubric,
    );
    node.addEventListener("keydown", (event) => moveByKey(event, place, steps.length, move));
    return node;
  }

  _points(step, place) {
    const { say, data } = this.editor;
    const points = make("input", { type: "number", min: 1, max: data.points_total, step: 1, class: "qe-input qe-short", "data-control": `steps.${place}.points`, value: step.points ?? "" });
    listen(points, (typed) => {
      const number = Number.parseInt(typed, 10);
      step.points = Number.isInteger(number) ? Math.min(data.points_total, Math.max(0, number)) : null;
      this._add();
      this.editor.changed();
    });
    points.addEventListener("change", () => (points.value = step.points ?? ""));
    return make("label", { class: "qe-inline" }, say("points"), points);
  }
}
