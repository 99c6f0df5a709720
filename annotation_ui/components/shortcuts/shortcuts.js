// One listener for each place where the component stands; what it presses comes anew with every drawing.
const places = new WeakMap();
// Streamlit puts clicks together that come during one drawing, and forgets their order. So each key, and each click on
// what keys press, waits until what the one before it pressed is drawn; a press that no drawing has answered for so
// long came to nothing.
const DRAWN_MS = 10_000;

export default function ({ data, parentElement }) {
  let place = places.get(parentElement);
  if (!place) {
    place = { data, open: false, waiting: [], timer: null };
    places.set(parentElement, place);
    draw(place, parentElement);
    // On the window and before all others: Streamlit has shortcuts of its own for single letters.
    place.listener = (event) => heard(place, event);
    window.addEventListener("keydown", place.listener, true);
    place.clicked = (event) => clicked(place, event);
    window.addEventListener("click", place.clicked, true);
  }
  place.data = data;
  drawList(place);
  goOn(place);
  return () => {
    clearTimeout(place.timer);
    window.removeEventListener("keydown", place.listener, true);
    window.removeEventListener("click", place.clicked, true);
    places.delete(parentElement);
  };
}

function heard(place, event) {
  if (isComposing(event) || event.defaultPrevented || event.repeat) return;
  if (event.altKey || event.metaKey || isTyping(event) || isCovered()) return;
  const key = event.key.toLowerCase();
  const pressed = key === "enter" ? (event.ctrlKey ? "ctrl+enter" : "") : event.ctrlKey ? "" : key;
  if (!pressed) return;
  if (pressed === "?" || (pressed === "escape" && place.open)) {
    taken(event);
    show(place, pressed === "?" && !place.open);
    return;
  }
  if (!isMeant(place.data, pressed)) return;
  taken(event);
  inTurn(place, pressed);
}

// A click of somebody's own takes its turn like the key that stands for it.
function clicked(place, event) {
  if (!event.isTrusted || isCovered()) return;
  const button = event.target.closest("button");
  const found = button && place.data.shortcuts.find((one) => buttonIn(one.widget, one.place) === button);
  if (!found) return;
  taken(event);
  inTurn(place, found.keys[0]);
}

function inTurn(place, pressed) {
  place.waiting.push(pressed);
  if (place.timer === null) goOn(place);
}

function isMeant({ shortcuts, walk }, pressed) {
  return shortcuts.some((one) => one.keys.includes(pressed)) || (walk && (pressed === "j" || pressed === "k"));
}

// Press what is waiting, up to the first press that the server answers by a drawing.
function goOn(place) {
  clearTimeout(place.timer);
  place.timer = null;
  while (place.waiting.length && place.timer === null) {
    if (isCovered()) {
      place.waiting = [];
      return;
    }
    const button = buttonFor(place.data, place.waiting.shift());
    if (!button || button.disabled) continue;
    if (button.closest(".stButton, .stFormSubmitButton")) place.timer = setTimeout(() => goOn(place), DRAWN_MS);
    button.scrollIntoView({ block: "nearest" });
    button.click();
  }
}

function buttonFor({ shortcuts, walk }, pressed) {
  const found = shortcuts.find((one) => one.keys.includes(pressed));
  if (found) return buttonIn(found.widget, found.place);
  if (!walk) return null;
  const step = pressed === "j" ? 1 : -1;
  const from = walk.widgets.indexOf(walk.at);
  const to = from < 0 ? (step > 0 ? 0 : walk.widgets.length - 1) : from + step;
  return to in walk.widgets ? buttonIn(walk.widgets[to], 0) : null;
}

function buttonIn(widget, at) {
  return document.querySelectorAll(`.st-key-${CSS.escape(widget)} button`)[at];
}

function taken(event) {
  event.preventDefault();
  event.stopImmediatePropagation();
}

function isTyping(event) {
  // The innermost element, also inside a shadow root.
  const target = event.composedPath()[0];
  if (!(target instanceof Element)) return false;
  if (target.closest("textarea, select, [role=combobox], [role=textbox], [role=listbox]")) return true;
  if (target.isContentEditable) return true;
  const input = target.closest("input");
  return input !== null && !["button", "checkbox", "radio", "submit"].includes(input.type);
}

// A dialog or an open list lies over the page: what is under it is not to be pressed.
function isCovered() {
  return document.querySelector("[role=dialog][aria-modal=true], [data-testid=stDialog], [data-baseweb=popover]") !== null;
}

function draw(place, parent) {
  place.opener = make("button", { type: "button", class: "opener", onclick: () => show(place, !place.open) });
  place.list = make("div", { class: "list", hidden: true });
  parent.append(place.opener, place.list);
}

function drawList(place) {
  const { title, toggle, typing, shortcuts, walk } = place.data;
  place.opener.replaceChildren(make("kbd", {}, "?"), ` ${title}`);
  place.opener.setAttribute("aria-expanded", String(place.open));
  const rows = shortcuts.filter((one) => one.shown).map((one) => [one.shown, one.label]);
  if (walk) rows.push(["J / K", walk.label]);
  rows.push(["?", toggle]);
  const lines = rows.flatMap(([keys, label]) => [make("dt", {}, make("kbd", {}, keys)), make("dd", {}, label)]);
  place.list.replaceChildren(make("dl", {}, ...lines), make("p", {}, typing));
}

function show(place, open) {
  place.open = open;
  place.list.hidden = !open;
  place.opener.setAttribute("aria-expanded", String(open));
}
