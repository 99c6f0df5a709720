// The time of a sound or film: it is played, and a span of it is marked.

const STEP_S = 0.1;
const LARGE_STEP_S = 1;

const hundredths = (number) => Math.round(number * 100) / 100;

function clock(time_s) {
  const tenths = Math.round(time_s * 10);
  return `${Math.floor(tenths / 600)}:${String(Math.floor((tenths % 600) / 10)).padStart(2, "0")}.${tenths % 10}`;
}

// A sound or film with buttons of our own: the browser's would lie where a box is drawn.
class Player {
  constructor(panel, node) {
    Object.assign(this, { panel, node, ticked: () => {} });
    this.toggle = button("", () => (node.paused ? this.play() : node.pause()), { class: "qe-button ev-play" });
    this.toggle.title = panel.say("ev_play_keys");
    this.toggle.addEventListener("keydown", (event) => {
      const [right] = arrowOf(event) ?? [0];
      if (right) this.seek(node.currentTime + right * (event.shiftKey ? LARGE_STEP_S : STEP_S));
    });
    this.time = make("span", { class: "ev-time" });
    for (const name of ["play", "pause", "seeked", "timeupdate", "loadedmetadata", "durationchange"]) node.addEventListener(name, () => this._tick());
    this._tick();
  }

  get duration_s() {
    const own = this.node.duration;
    return this.panel.medium.duration_s ?? (Number.isFinite(own) ? own : 0);
  }

  // From where it stands or from a moment, to the end or until another moment.
  play(from_s, until_s) {
    if (from_s !== undefined) this.node.currentTime = from_s;
    this.until_s = until_s;
    this.node.play().catch(() => {}); // what cannot be played is told by its "error" event
  }

  seek(time_s) {
    this.until_s = undefined;
    this.node.currentTime = within(time_s, 0, this.duration_s);
  }

  _tick() {
    if (this.node.currentTime >= this.until_s) {
      this.node.pause();
      this.until_s = undefined;
    }
    this.toggle.textContent = this.panel.say(this.node.paused ? "ev_play" : "ev_pause");
    this.time.textContent = `${clock(this.node.currentTime)} / ${clock(this.duration_s)}`;
    this.ticked();
    cancelAnimationFrame(this.next);
    if (!this.node.paused) this.next = requestAnimationFrame(() => this._tick());
  }

  destroy() {
    cancelAnimationFrame(this.next);
    this.node.pause();
  }
}

class SpanField {
  constructor(panel, player) {
    Object.assign(this, { panel, player });
    const { say, place } = panel;
    const slider = (edge) => make("div", { class: `ev-${edge}`, role: "slider", tabindex: 0, "data-edge": edge, "aria-label": say(`ev_${edge}`, { place }), onkeydown: (event) => this._key(event, edge) });
    this.sliders = { span: slider("span"), start: slider("start"), end: slider("end") };
    this.head = make("div", { class: "ev-head" });
    const wave = panel.medium.modality === "audio" && panel.medium.picture_url && make("img", { class: "ev-wave", src: panel.medium.picture_url, alt: "", draggable: "false" });
    this.line = make("div", { class: "ev-line", title: say("ev_line_hint") }, wave, ...Object.values(this.sliders), this.head);
    this.line.addEventListener("pointerdown", (event) => this._point(event));
    const more = { step: STEP_S, inputmode: "decimal" };
    this.fields = {
      start_s: new NumberField(say("ev_start_s"), more, (number) => this._typed({ start_s: number })),
      end_s: new NumberField(say("ev_end_s"), more, (number) => this._typed({ end_s: number })),
    };
    this.playSpan = button(say("ev_play_span"), () => player.play(this.span[0], this.span[1]));
    this.clear = button(say("ev_clear_span"), () => (this._set({ start_s: null, end_s: null }), player.toggle.focus()));
    this.problem = make("p", { class: "ev-problem", role: "status" });
    this.node = make(
      "div", { class: "qe-stack" }, this.line,
      make("div", { class: "qe-row" }, player.toggle, player.time, button(say("ev_start_here"), () => this._here("start_s")), button(say("ev_end_here"), () => this._here("end_s"))),
      make("div", { class: "qe-row" }, this.fields.start_s.node, this.fields.end_s.node, this.playSpan, this.clear), this.problem,
    );
    player.ticked = () => this._tick();
  }

  // Both ends, also where only one is given: what is open goes to the beginning or to the end.
  get span() {
    const { start_s, end_s } = this.panel.value;
    return [start_s ?? 0, end_s ?? this.player.duration_s];
  }

  get isSet() {
    return "start_s" in this.panel.value || "end_s" in this.panel.value;
  }

  show(value = this.panel.value) {
    const duration_s = this.player.duration_s;
    const [start, end] = [value.start_s ?? 0, value.end_s ?? duration_s];
    for (const [name, node] of Object.entries(this.sliders)) {
      const now = name === "end" ? end : start;
      node.hidden = !("start_s" in value || "end_s" in value);
      node.style.left = percent(now / duration_s || 0);
      const facts = { min: 0, max: duration_s, now, text: name === "span" ? `${clock(start)} – ${clock(end)}` : clock(now) };
      for (const [fact, told] of Object.entries(facts)) node.setAttribute(`aria-value${fact}`, told);
    }
    this.sliders.span.style.width = percent((end - start) / duration_s || 0);
    for (const [name, field] of Object.entries(this.fields)) field.show(value[name]);
    this.playSpan.disabled = this.clear.disabled = !this.isSet;
  }

  _tick() {
    this.head.style.left = percent(this.player.node.currentTime / this.player.duration_s || 0);
    if (this.player.duration_s !== this.shown_s) this.show();
    this.shown_s = this.player.duration_s;
  }

  _typed(change) {
    const { duration_s } = this.player;
    const { start_s, end_s } = { ...this.panel.value, ...change };
    const isInside = [start_s ?? 0, end_s ?? 0].every((number) => number >= 0 && (!duration_s || number <= duration_s));
    const isGood = isInside && (start_s ?? 0) < (end_s ?? Infinity);
    this.problem.textContent = isGood ? "" : this.panel.say(isInside ? "ev_end_first" : "ev_outside", { duration: clock(duration_s) });
    if (isGood) this.panel.set(change);
    return isGood;
  }

  // An end of the span where the player stands.
  _here(name) {
    const now_s = hundredths(this.player.node.currentTime);
    const isNothing = name === "start_s" ? now_s >= this.player.duration_s : now_s <= 0;
    if (isNothing) this.problem.textContent = this.panel.say("ev_end_first");
    else this._set({ [name]: now_s });
  }

  // One end that passes the other lets it go.
  _set(change) {
    const { start_s, end_s } = { ...this.panel.value, ...change };
    this.problem.textContent = "";
    const isCrossed = start_s !== null && end_s !== null && (start_s ?? 0) >= end_s;
    this.panel.set({ ...change, ...(isCrossed && ("start_s" in change ? { end_s: null } : { start_s: null })) });
  }

  // The span after one of its edges, or the whole of it, went by some seconds.
  _moved(edge, [start, end], by_s) {
    const duration_s = this.player.duration_s;
    const least_s = Math.min(STEP_S, duration_s);
    const by = edge === "span" ? within(by_s, -start, duration_s - end) : by_s;
    if (edge !== "end") start = within(start + by, 0, edge === "start" ? end - least_s : duration_s);
    if (edge !== "start") end = within(end + by, edge === "end" ? start + least_s : 0, duration_s);
    return { start_s: hundredths(Math.max(start, 0)), end_s: hundredths(end) };
  }

  _key(event, edge) {
    const arrow = arrowOf(event);
    if (!arrow || !this.player.duration_s) return;
    const [right, down] = arrow;
    this._set(this._moved(edge, this.span, (right - down) * (event.shiftKey ? LARGE_STEP_S : STEP_S)));
  }

  _at(event) {
    const { left, width } = this.line.getBoundingClientRect();
    return within((event.clientX - left) / width, 0, 1) * this.player.duration_s;
  }

  _point(event) {
    if (event.button !== 0 || !this.player.duration_s) return;
    event.preventDefault();
    const begun = this._at(event);
    const edge = event.target.dataset.edge;
    const old = this.span;
    const now = (later) => {
      const at = this._at(later);
      return edge ? this._moved(edge, old, at - begun) : { start_s: hundredths(Math.min(begun, at)), end_s: hundredths(Math.max(begun, at)) };
    };
    follow(this.line, event, {
      moved: (later) => this.show({ ...this.panel.value, ...now(later) }),
      dragged: (later) => (this._set(now(later)), this.sliders[edge ?? "span"].focus()),
      clicked: () => this.player.seek(begun),
      lost: () => this.show(),
    });
    this.sliders[edge]?.focus();
  }
}
