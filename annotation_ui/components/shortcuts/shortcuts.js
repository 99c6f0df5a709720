// One listener for each place where the component stands; what it presses comes anew with every drawing.
const places = new WeakMap();
// A press that no drawing has answered for so long came to nothing.
const DRAWN_MS = 3000;

export default function ({ data, parentElement }) {
  let place = places.get(parentElement);
  if (!place) {
    place = { data, open: false };
    places.set(parentElement, place);
    draw(place, parentElement);
    // On the window and before all others: Streamlit has shortcuts of its own for single letters.
    place.listener = (event) => heard(place, event);
    window.addEventListener("keydown", place.listener, true);
  }
  place.data = data;
  if (place.pressed?.widget === data.walk?.at) place.pressed = null;
  fill(place);
  return () => {
    window.removeEventListener("keydown", place.listener, true);
    places.delete(parentElement);
  };
}

function heard(place, event) {
  if (event.isComposing || event.keyCode === 229 || event.defaultPrevented || event.repeat) return;
  if (event.altKey || event.metaKey || isTyping(event) || isCovered()) return;
  const key = event.key.toLowerCase();
  const pressed = key === "enter" ? (event.ctrlKey ? "ctrl+enter" : "") : event.ctrlKey ? "" : key;
  if (!pressed) return;
  if (pressed === "?" || (pressed === "escape" && place.open)) {
    taken(event);
    show(place, pressed === "?" && !place.open);
    return;
  }
  const found = place.data.shortcuts.find((one) => one.keys.includes(pressed));
  if (found) {
    taken(event);
    press(place, found.widget, found.place);
    return;
  }
  const walk = place.data.walk;
  if (walk && (pressed === "j" || pressed === "k")) {
    taken(event);
    const step = pressed === "j" ? 1 : -1;
    const from = walk.widgets.indexOf(standsAt(place));
    const to = from < 0 ? (step > 0 ? 0 : walk.widgets.length - 1) : from + step;
    press(place, walk.widgets[to], 0);
  }
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

function press(place, widget, at) {
  if (!widget) return;
  const buttons = document.querySelectorAll(`.st-key-${CSS.escape(widget)} button`);
  const button = buttons[at];
  if (!button || button.disabled) return;
  button.scrollIntoView({ block: "nearest" });
  button.click();
  if (place.data.walk?.widgets.includes(widget)) place.pressed = { widget, since: Date.now() };
}

// Where a walk stands: keys may come faster than the drawings that they lead to, the last of which brings the same.
function standsAt(place) {
  const { pressed } = place;
  if (pressed && Date.now() - pressed.since < DRAWN_MS) return pressed.widget;
  return place.data.walk.at;
}

function draw(place, parent) {
  const opener = element("button", "opener");
  opener.type = "button";
  opener.addEventListener("click", () => show(place, !place.open));
  const list = element("div", "list");
  list.hidden = true;
  place.opener = opener;
  place.list = list;
  parent.append(opener, list);
}

function fill(place) {
  const { title, toggle, typing, shortcuts, walk } = place.data;
  place.opener.replaceChildren(element("kbd", "", "?"), document.createTextNode(` ${title}`));
  place.opener.setAttribute("aria-expanded", String(place.open));
  const rows = shortcuts.filter((one) => one.shown).map((one) => [one.shown, one.label]);
  if (walk) rows.push(["J / K", walk.label]);
  rows.push(["?", toggle]);
  const table = element("dl", "");
  for (const [keys, label] of rows) {
    const named = element("dt", "");
    named.append(element("kbd", "", keys));
    table.append(named, element("dd", "", label));
  }
  place.list.replaceChildren(table, element("p", "", typing));
}

function show(place, open) {
  place.open = open;
  place.list.hidden = !open;
  place.opener.setAttribute("aria-expanded", String(open));
}

function element(name, kind, text) {
  const made = document.createElement(name);
  if (kind) made.className = kind;
  if (text !== undefined) made.textContent = text;
  return made;
}
