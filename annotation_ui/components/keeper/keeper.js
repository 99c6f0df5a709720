// What was typed and not handed in, in this browser's own storage: for a fortnight, under names with the person's id.
const PREFIX = "interplay-typed-";
const LONGEST_MS = 14 * 24 * 3600 * 1000;
const places = new WeakMap();

export default function ({ data, parentElement, setTriggerValue }) {
  let place = places.get(parentElement);
  if (!place) {
    place = { typed: {}, asked: false, waits: false };
    places.set(parentElement, place);
    forgetOld();
    place.listener = (event) => heard(place, event);
    document.addEventListener("input", place.listener, true);
  }
  place.data = data;
  for (const name of data.done) if (name !== data.store) drop(name);
  if (!place.asked && data.is_new && data.store) {
    const kept = read(data.store);
    place.waits = kept !== null;
    setTriggerValue("kept", kept ?? {});
  }
  place.asked = true;
  // Until the page has taken over what was kept, its own empty fields must not write over it.
  if (!data.is_new) place.waits = false;
  save(place);
  return () => {
    document.removeEventListener("input", place.listener, true);
    places.delete(parentElement);
  };
}

function heard(place, event) {
  const area = event.composedPath()[0];
  if (!(area instanceof HTMLTextAreaElement)) return;
  const holder = area.closest("[class*='st-key-']");
  const name = holder && [...holder.classList].map((one) => place.data.fields[one]).find(Boolean);
  if (!name) return;
  place.typed[name] = area.value;
  save(place);
}

function save(place) {
  const { store, values, fields } = place.data;
  if (!store || place.waits) return;
  const known = new Set(Object.values(fields));
  for (const name of Object.keys(place.typed)) {
    // The page has it now, or the field is gone: what it says counts from here on.
    if (!known.has(name) || values[name] === place.typed[name]) delete place.typed[name];
  }
  const kept = { ...values, ...place.typed };
  if (Object.values(kept).some(says)) write(store, kept);
  else drop(store);
}

function says(value) {
  return Array.isArray(value) ? value.length > 0 : Boolean(value);
}

function read(store) {
  try {
    const found = JSON.parse(localStorage.getItem(PREFIX + store));
    return found && typeof found.values === "object" ? found.values : null;
  } catch {
    return null;
  }
}

function write(store, values) {
  try {
    localStorage.setItem(PREFIX + store, JSON.stringify({ at: Date.now(), values }));
  } catch {
    // A browser that stores nothing keeps nothing; the page works as ever.
  }
}

function drop(store) {
  try {
    localStorage.removeItem(PREFIX + store);
  } catch {
    // As above.
  }
}

function forgetOld() {
  try {
    for (const name of Object.keys(localStorage).filter((one) => one.startsWith(PREFIX))) {
      const { at } = JSON.parse(localStorage.getItem(name)) ?? {};
      if (!(Date.now() - at < LONGEST_MS)) localStorage.removeItem(name);
    }
  } catch {
    // As above.
  }
}
