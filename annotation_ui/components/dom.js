// Small tools of what is drawn in the browser. Text of people only ever becomes text nodes and values, never markup.

function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (["value", "checked", "disabled"].includes(name)) node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== undefined && child !== null && child !== false));
  return node;
}

function fill(text, values = {}) {
  return text.replace(/\{(\w+)\}/g, (all, name) => (name in values ? String(values[name]) : all));
}

// A key that an input method takes for itself: the Enter that commits Chinese characters is one.
function isComposing(event) {
  return event.isComposing || event.keyCode === 229;
}

function isHandInKey(event) {
  return event.key === "Enter" && (event.ctrlKey || event.metaKey) && !isComposing(event);
}

function clone(value) {
  return JSON.parse(JSON.stringify(value));
}

function randomId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function fitHeight(area) {
  area.style.height = "auto";
  area.style.height = `${area.scrollHeight + 2}px`;
}

// Calls `take` with the words of a field, never with those that an input method is still composing.
function listen(node, take) {
  const heard = (event) => {
    if (node.tagName === "TEXTAREA") fitHeight(node);
    if (!event.isComposing) take(node.value);
  };
  node.addEventListener("input", heard);
  node.addEventListener("compositionend", () => take(node.value));
  return node;
}

function textLine(control, value, take, more = {}) {
  return listen(make("input", { type: "text", class: "qe-input", "data-control": control, value, ...more }), take);
}

function textArea(control, value, take, more = {}) {
  const area = make("textarea", { class: "qe-input", rows: 1, "data-control": control, value, ...more });
  requestAnimationFrame(() => fitHeight(area));
  return listen(area, take);
}

function button(label, act, more = {}) {
  return make("button", { type: "button", class: "qe-button", onclick: act, ...more }, label);
}

function iconButton(sign, label, act, more = {}) {
  return button(sign, act, { class: "qe-icon", "aria-label": label, title: label, ...more });
}

function selection(control, options, value, take, more = {}) {
  const node = make("select", { class: "qe-input", "data-control": control, ...more });
  for (const [code, label] of options) node.append(make("option", { value: code }, label));
  node.value = value;
  node.addEventListener("change", () => take(node.value));
  return node;
}

// One of some, all in sight, as radio buttons.
function oneOf(control, name, options, value, take) {
  const group = make("div", { class: "qe-options", role: "radiogroup", "data-control": control, tabindex: -1 });
  for (const [code, label] of options) {
    const radio = make("input", { type: "radio", name, value: code, checked: code === value });
    radio.addEventListener("change", () => take(code));
    group.append(make("label", { class: "qe-option" }, radio, label));
  }
  return group;
}
