// The picture of an image or of a film: a box is drawn on it, in pixels of the source.

const LARGE_STEPS = 10; // with Shift
const BOX = ["left_px", "top_px", "width_px", "height_px"];

class BoxField {
  constructor(panel, picture) {
    Object.assign(this, { panel, picture });
    const { say, place } = panel;
    const corner = (right, down) => make("div", { class: `ev-corner ${right ? "right" : "left"} ${down ? "down" : "up"}`, "data-right": right, "data-down": down });
    // Moving the box and its last corner reaches every box: one corner is enough for the keyboard.
    this.grip = corner(1, 1);
    for (const [name, value] of Object.entries({ role: "button", tabindex: 0, "aria-label": say("ev_resize", { place }) })) this.grip.setAttribute(name, value);
    this.box = make("div", { class: "ev-box", role: "button", tabindex: 0, "aria-label": say("ev_move", { place }), onkeydown: (event) => this._key(event) }, corner(0, 0), corner(1, 0), corner(0, 1), this.grip);
    this.stage = make("div", { class: "ev-stage", title: say("ev_stage_hint") }, picture, this.box);
    this.stage.addEventListener("pointerdown", (event) => this._point(event));
    for (const name of ["load", "loadedmetadata"]) picture.addEventListener(name, () => this.show());
    this.begin = button(say("ev_draw_box"), () => (this.panel.set(this._middle()), this.box.focus()));
    this.clear = button(say("ev_clear_box"), () => (this.panel.set(Object.fromEntries(BOX.map((name) => [name, null]))), this.begin.focus()));
    this.fields = Object.fromEntries(BOX.map((name) => [name, new NumberField(say(`ev_${name}`), { step: 1, inputmode: "numeric" }, (number) => this._typed(name, number))]));
    this.row = make("div", { class: "qe-row" }, ...Object.values(this.fields).map((field) => field.node), this.clear);
    this.node = make("div", { class: "qe-stack" }, this.stage, make("div", { class: "qe-row" }, this.begin), this.row);
  }

  // In pixels of the source.
  get size() {
    const { width_px, height_px } = this.panel.medium;
    const { naturalWidth, naturalHeight, videoWidth, videoHeight } = this.picture;
    return [width_px ?? naturalWidth ?? videoWidth ?? 0, height_px ?? naturalHeight ?? videoHeight ?? 0];
  }

  show(value = this.panel.value) {
    const [width, height] = this.size;
    if (width && height) this.stage.style.setProperty("--ev-ratio", width / height);
    const isSet = BOX.every((name) => name in value);
    this.box.hidden = this.row.hidden = !isSet;
    this.begin.parentNode.hidden = isSet || !width;
    for (const [name, field] of Object.entries(this.fields)) field.show(value[name]);
    if (!isSet) return;
    const shares = { left: value.left_px / width, top: value.top_px / height, width: value.width_px / width, height: value.height_px / height };
    for (const [name, share] of Object.entries(shares)) this.box.style[name] = percent(share || 0);
  }

  _middle() {
    const [width, height] = this.size.map((side) => Math.max(1, Math.round(side / 2)));
    return { left_px: Math.floor(width / 2), top_px: Math.floor(height / 2), width_px: width, height_px: height };
  }

  _typed(name, number) {
    const box = { ...this._box(), [name]: number };
    const [width, height] = this.size;
    const isGood = Object.values(box).every(Number.isInteger) && Math.min(box.left_px, box.top_px) >= 0 && Math.min(box.width_px, box.height_px) >= 1;
    if (!isGood || box.left_px + box.width_px > width || box.top_px + box.height_px > height) return false;
    this.panel.set(box);
    return true;
  }

  _box() {
    return Object.fromEntries(BOX.map((name) => [name, this.panel.value[name]]));
  }

  _key(event) {
    const arrow = arrowOf(event);
    if (!arrow) return;
    const step = (side) => Math.max(1, Math.round(side / 200)) * (event.shiftKey ? LARGE_STEPS : 1);
    const by = this.size.map((side, axis) => arrow[axis] * step(side));
    this.panel.set(event.target === this.grip ? this._resized(this._box(), [1, 1], by) : this._moved(this._box(), by));
  }

  _moved(box, by) {
    const [width, height] = this.size;
    return {
      ...box,
      left_px: within(Math.round(box.left_px + by[0]), 0, width - box.width_px),
      top_px: within(Math.round(box.top_px + by[1]), 0, height - box.height_px),
    };
  }

  // One corner goes, the opposite one stays.
  _resized(box, [right, down], by) {
    const across = [box.left_px + (right ? 0 : box.width_px), box.top_px + (down ? 0 : box.height_px)];
    const corner = [box.left_px + (right ? box.width_px : 0) + by[0], box.top_px + (down ? box.height_px : 0) + by[1]];
    return this._between(across, corner);
  }

  _between(one, other) {
    const sides = this.size.map((side, axis) => {
      const ends = [one[axis], other[axis]].map((at) => within(Math.round(at), 0, side));
      const length = Math.max(1, Math.abs(ends[1] - ends[0]));
      return { from: Math.min(...ends, side - length), length };
    });
    return { left_px: sides[0].from, top_px: sides[1].from, width_px: sides[0].length, height_px: sides[1].length };
  }

  _at(event) {
    const { left, top, width, height } = this.stage.getBoundingClientRect();
    const [across, down] = this.size;
    return [((event.clientX - left) / width) * across, ((event.clientY - top) / height) * down];
  }

  _point(event) {
    if (event.button !== 0 || !this.size[0]) return;
    event.preventDefault();
    const begun = this._at(event);
    const { right, down } = event.target.dataset;
    const [old, isBox] = [this._box(), event.target === this.box];
    const now = (later) => {
      const at = this._at(later);
      const by = [at[0] - begun[0], at[1] - begun[1]];
      if (isBox) return this._moved(old, by);
      return right === undefined ? this._between(begun, at) : this._resized(old, [Number(right), Number(down)], by);
    };
    follow(this.stage, event, {
      moved: (later) => this.show({ ...this.panel.value, ...now(later) }),
      dragged: (later) => (this.panel.set(now(later)), this.box.focus()),
      lost: () => this.show(),
    });
    if (isBox) this.box.focus();
  }
}
