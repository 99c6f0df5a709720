// The sheet on which an exam's question is answered: the only holder of what is filled in while it is. It is kept on the
// server a moment after each change; what is handed in is what stands here, so that no answer of an instant ago is sent.

const SAVE_AFTER_MS = 700;
const SEEN_EVERY_MS = 20000;
const UNCONFIRMED_AFTER_MS = 10000;
const LATE_MS = 300;
const sheets = new WeakMap();

export default function ({ data, parentElement, setStateValue, setTriggerValue }) {
  let sheet = sheets.get(parentElement);
  if (sheet && (sheet.data.place !== data.place || sheet.data.language !== data.language)) {
    sheet.leave();
    sheet = undefined;
  }
  if (!sheet) {
    sheet = new AnswerSheet(parentElement, data);
    sheets.set(parentElement, sheet);
  }
  sheet.tell = { filled: (value) => setStateValue("filled", value), event: (name, value) => setTriggerValue(name, value) };
  sheet.update(data);
  return () => {
    sheets.get(parentElement)?.leave();
    sheets.delete(parentElement);
  };
}

// The page's list of shortcuts presses buttons by the key of the widget that they stand in.
function widget(name, element) {
  return make("div", { class: `as-widget st-key-${name}` }, element);
}

class AnswerSheet {
  constructor(parent, data) {
    this.data = data;
    this.sheet = { chosen: [], texts: [], cannot_tell: false, confidence: null, ...data.saved };
    this.stroke = 0;
    this.isSending = false;
    this.isOver = false;
    this.root = make("section", { class: "as", "aria-label": data.words.title });
    parent.append(this.root);
    this._draw();
    this.onSight = () => this._seen(document.visibilityState === "visible");
    document.addEventListener("visibilitychange", this.onSight);
    this.beat = setInterval(() => document.visibilityState === "visible" && this._seen(false), SEEN_EVERY_MS);
    this.tick = setInterval(() => this._tick(), 500);
  }

  update(data) {
    this.data = data;
    if (data.left_s !== null && this.endsAt === undefined) this.endsAt = performance.now() + 1000 * data.left_s;
    if (data.problem && data.problem.nonce !== this.told) {
      this.told = data.problem.nonce;
      this._await(false);
      this._say(data.problem.text);
    }
    this._showSaved();
    this._tick();
  }

  leave() {
    clearTimeout(this.saving);
    clearTimeout(this.unconfirmed);
    clearInterval(this.beat);
    clearInterval(this.tick);
    document.removeEventListener("visibilitychange", this.onSight);
    this.root.remove();
  }

  _draw() {
    const { words, kind } = this.data;
    this.root.append(make("h2", { class: "as-title" }, words.title));
    if (this.data.several) this.root.append(make("p", { class: "as-quiet" }, words.several));
    this.root.append(kind === "choice" ? this._choices() : this._fields());
    this.unsure = button(words.cannot_tell, () => this._cannotTell(), { class: "as-pick as-unsure" });
    this.root.append(widget("sheet-unsure", this.unsure));
    if (this.data.asks_confidence) this.root.append(this._confidence());
    this.problem = make("p", { class: "as-problem", role: "alert" });
    this.hand = button(words.hand_in, () => this._handIn(false), { class: "as-hand" });
    this.stop = button(words.hand_in_and_stop, () => this._handIn(true), { class: "as-stop" });
    this.state = make("span", { class: "as-quiet", role: "status" });
    this.clock = make("span", { class: "as-clock" });
    const hand = widget("sheet-hand-in", this.hand);
    this.root.append(this.problem, make("div", { class: "as-foot" }, hand, this.stop, this.state, this.clock));
    this._show();
  }

  _choices() {
    const list = make("div", { class: "as-options", role: "group" });
    this.picks = this.data.options.map((option, place) => {
      const pick = button(make("b", {}, option.label), () => this._pick(place), { class: "as-pick" });
      pick.append(make("span", {}, option.text));
      list.append(widget(`sheet-pick-${option.label}`, pick));
      return pick;
    });
    return list;
  }

  _fields() {
    const stack = make("div", { class: "as-options" });
    const asked = this.data.steps.length ? this.data.steps : [null];
    this.areas = asked.map((step, place) => {
      const label = make("label", { class: "as-field" });
      if (step) {
        const points = make("span", { class: "as-quiet" }, step.points);
        const head = make("span", { class: "as-step" }, make("b", {}, step.name), points);
        label.append(head, make("span", { class: "as-ask" }, step.ask));
      }
      const area = make("textarea", {
        class: "as-area",
        rows: step ? 2 : 3,
        maxlength: this.data.most_characters,
        placeholder: this.data.words.write_here,
        "aria-label": step ? step.name : this.data.words.title,
        value: this.sheet.texts[place] ?? "",
        oninput: () => this._write(place, area.value),
        onkeydown: (event) => {
          if (!isHandInKey(event)) return;
          event.preventDefault();
          this._handIn(false);
        },
      });
      label.append(area);
      stack.append(label);
      return area;
    });
    return stack;
  }

  _confidence() {
    const { how_sure } = this.data.words;
    const frame = make("div", { class: "as-sure", role: "group", "aria-label": how_sure });
    frame.append(make("span", { class: "as-sure-ask" }, how_sure));
    this.levels = this.data.levels.map((level, place) => {
      const pick = button(make("b", {}, `${level.value}%`), () => this._sure(level.value), { class: "as-level" });
      pick.append(make("small", {}, level.word));
      frame.append(widget(`sheet-sure-${place + 1}`, pick));
      return pick;
    });
    this.sureFrame = frame;
    return frame;
  }

  _pick(place) {
    const { sheet, data } = this;
    if (!data.several) sheet.chosen = [place];
    else if (sheet.chosen.includes(place)) sheet.chosen = sheet.chosen.filter((one) => one !== place);
    else sheet.chosen = [...sheet.chosen, place].sort((one, other) => one - other);
    sheet.cannot_tell = false;
    this._changed();
  }

  _cannotTell() {
    this.sheet.cannot_tell = !this.sheet.cannot_tell;
    if (this.sheet.cannot_tell) this.sheet.chosen = [];
    this._changed();
  }

  _write(place, text) {
    while (this.sheet.texts.length <= place) this.sheet.texts.push("");
    this.sheet.texts[place] = text;
    if (text.trim()) this.sheet.cannot_tell = false;
    this._changed();
  }

  _sure(value) {
    this.sheet.confidence = value;
    this._changed();
  }

  _changed() {
    this._say("");
    this._show();
    this.stroke += 1;
    this.state.textContent = "";
    clearTimeout(this.saving);
    this.saving = setTimeout(() => this._save(), SAVE_AFTER_MS);
  }

  _save() {
    if (this.isSending || this.isOver) return;
    this.tell.filled({ place: this.data.place, stroke: this.stroke, sheet: { ...this.sheet } });
  }

  _showSaved() {
    if (!this.isSending && this.stroke > 0 && this.data.saved_stroke === this.stroke) {
      this.state.textContent = this.data.words.saved;
    }
  }

  _show() {
    const { sheet } = this;
    this.picks?.forEach((pick, place) => mark(pick, sheet.chosen.includes(place)));
    mark(this.unsure, sheet.cannot_tell);
    this.levels?.forEach((pick, place) => mark(pick, this.data.levels[place].value === sheet.confidence));
    this.sureFrame?.classList.toggle("as-off", sheet.cannot_tell);
  }

  _handIn(stops) {
    if (this.isSending || this.isOver) return;
    this._send(stops);
  }

  _send(stops) {
    clearTimeout(this.saving);
    this._await(true);
    this._say("");
    this.tell.event("hand_in", { place: this.data.place, key: this.data.form_key, stops, sheet: { ...this.sheet } });
  }

  _await(isSending) {
    this.isSending = isSending;
    clearTimeout(this.unconfirmed);
    for (const one of [this.hand, this.stop]) one.disabled = isSending;
    this.state.textContent = isSending ? this.data.words.sending : "";
    if (isSending) {
      this.unconfirmed = setTimeout(() => {
        this._await(false);
        this._say(this.data.words.unconfirmed);
        this.isOver = false;
      }, UNCONFIRMED_AFTER_MS);
    }
  }

  _say(text) {
    this.problem.textContent = text;
  }

  _seen(begins) {
    if (!this.isSending) this.tell.event("seen", { place: this.data.place, begins });
  }

  _tick() {
    if (this.endsAt === undefined) return;
    const left = this.endsAt - performance.now();
    const seconds = Math.max(0, Math.ceil(left / 1000));
    this.clock.textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
    this.clock.classList.toggle("as-short", seconds <= 20);
    if (left > -LATE_MS || this.isOver || this.isSending) return;
    this.isOver = true;
    this._send(false);
    this.state.textContent = this.data.words.over;
  }
}

function mark(pick, isOn) {
  pick.classList.toggle("on", isOn);
  pick.setAttribute("aria-pressed", String(isOn));
}
