// What the marking of time and that of pictures share.

const CLICK_PX = 4; // a pointer that goes less far has clicked
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

const within = (number, least, most) => Math.min(Math.max(number, least), most);
const percent = (share) => `${100 * share}%`;

// Where an arrow key goes, as [right, down]; undefined for other keys, and for arrows that mean something else.
function arrowOf(event) {
  const isOther = isComposing(event) || event.ctrlKey || event.metaKey || event.altKey;
  if (isOther || !(event.key in ARROWS)) return undefined;
  event.preventDefault();
  event.stopPropagation();
  return ARROWS[event.key];
}

// Follows a pointer until it is lifted. What the system takes away, a touch that became a scroll, is no gesture.
function follow(node, down, { moved, dragged, clicked, lost }) {
  const listening = new AbortController();
  let isDrag = false;
  const on = (name, act) => node.addEventListener(name, act, { signal: listening.signal });
  const end = (act) => (event) => (listening.abort(), act?.(event));
  node.setPointerCapture(down.pointerId);
  on("pointermove", (event) => {
    isDrag ||= Math.hypot(event.clientX - down.clientX, event.clientY - down.clientY) >= CLICK_PX;
    if (isDrag) moved(event);
  });
  on("pointerup", end((event) => (isDrag ? dragged : clicked)?.(event)));
  on("pointercancel", end(lost));
}

// A number that is typed. `take` says whether it can be so; one that cannot is marked, and given up when left.
class NumberField {
  constructor(label, more, take) {
    this.input = make("input", { type: "number", class: "qe-input qe-short", min: 0, ...more });
    this.node = make("label", { class: "qe-inline" }, label, this.input);
    listen(this.input, (typed) => {
      const isGood = !this.input.validity.badInput && take(typed === "" ? null : Number.parseFloat(typed));
      this.input.setAttribute("aria-invalid", String(!isGood));
    });
    this.input.addEventListener("blur", () => this.show(this.value));
  }

  show(value) {
    this.value = value;
    if (document.activeElement === this.input) return;
    this.input.value = value ?? "";
    this.input.setAttribute("aria-invalid", "false");
  }
}
