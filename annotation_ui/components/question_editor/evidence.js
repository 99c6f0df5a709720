// Where each medium shows what it contributes: a span of its time, a box in its picture, and words.

class MediumPanel {
  constructor(view, medium, value) {
    Object.assign(this, { view, medium, value, place: medium.placeholder });
    this.say = view.say;
    this.note = textLine(`evidence.${this.place}`, value.note ?? "", (note) => this.set({ note }), { maxlength: 2000, "aria-label": this.say("ev_note", { place: this.place }), placeholder: this.say("ev_note_hint") });
    this.told = make("p", { class: "ev-told", role: "status" });
    this.parts = medium.url ? this._parts() : [];
    this.node = make(
      "section", { class: "ev-medium", role: "group", "aria-label": this.place, "data-place": this.place },
      make("div", { class: "ev-title" }, make("code", {}, `<${this.place}>`), " ", make("span", { class: "qe-quiet" }, medium.label ?? "")),
      this.told, this.shown, ...this.parts.map((part) => part.node), this.note,
    );
    this.show();
  }

  _parts() {
    const { modality } = this.medium;
    const tag = { image: "img", audio: "audio", video: "video" }[modality];
    const more = modality === "image" ? { alt: this.medium.label ?? this.place, draggable: "false" } : { preload: "metadata", playsinline: true };
    const media = make(tag, { class: "ev-media", src: this.medium.url, ...more });
    media.addEventListener("error", () => this._failed(media));
    this.player = modality !== "image" && new Player(this, media);
    this.shown = modality === "audio" && media;
    return [modality !== "audio" && new BoxField(this, media), this.player && new SpanField(this, this.player)].filter(Boolean);
  }

  // Addresses live for minutes only: one that is over is asked anew with the latest.
  _failed(media) {
    const { url } = this.medium;
    if (!url || media.getAttribute("src") === url) {
      this.told.textContent = this.say("ev_unplayable");
      return;
    }
    const at = media.currentTime;
    media.src = url;
    if (at) media.currentTime = at;
  }

  isOf(medium) {
    return medium.material_id === this.medium.material_id && Boolean(medium.url) === Boolean(this.medium.url);
  }

  take(medium, value) {
    this.medium = medium;
    if (isSame(value, this.value)) return;
    this.value = value;
    if (document.activeElement !== this.note) this.note.value = value.note ?? "";
    this.show();
  }

  set(change) {
    const next = Object.entries({ ...this.value, ...change }).filter(([, told]) => told !== null && told !== undefined && told !== "");
    this.value = Object.fromEntries(next);
    this.told.textContent = "";
    this.view.changed(this.place, next.length ? clone(this.value) : null);
    this.show();
  }

  show() {
    for (const part of this.parts) part.show();
  }

  destroy() {
    if (this.player) this.player.destroy();
    this.node.remove();
  }
}

function mountEvidence(root, options) {
  const panels = new Map();
  const node = make("div", { class: "ev" });
  let now = options;
  const view = { say: (key, values) => fill(now.words[key] ?? key, values), changed: (place, value) => now.onChange(place, value) };
  const none = make("p", { class: "qe-quiet" }, view.say("ev_none"));
  const panelOf = (medium) => {
    const place = medium.placeholder;
    const known = panels.get(place);
    const value = clone(now.evidence[place] ?? {});
    if (known?.isOf(medium)) {
      known.take(medium, value);
      return known;
    }
    const panel = new MediumPanel(view, medium, value);
    known?.destroy();
    panels.set(place, panel);
    // What was marked in the material that stood here before is not true of this one.
    if (known && Object.keys(known.value).length && !Object.keys(value).length) panel.told.textContent = view.say("ev_dropped", { place });
    return panel;
  };
  const update = (latest) => {
    now = latest;
    const wanted = now.media.map(panelOf);
    for (const [place, panel] of panels) if (!wanted.includes(panel)) (panel.destroy(), panels.delete(place));
    none.hidden = wanted.length > 0;
    // What stays where it is keeps the focus, and goes on playing.
    wanted.forEach((panel, at) => node.children[at] !== panel.node && node.insertBefore(panel.node, node.children[at] ?? null));
  };
  node.append(none);
  root.append(node);
  update(options);
  return { update, destroy: () => (panels.forEach((panel) => panel.destroy()), node.remove()) };
}
