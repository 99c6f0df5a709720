"use strict";
(function () {
  const data = JSON.parse(document.getElementById("data").textContent);
  const FIELDS = { model: 2, condition: 3, view: 4, state: 5, person: 10 };
  const AT_ONCE = 50;
  const body = document.querySelector("#answers tbody");
  const told = document.getElementById("told");
  const more = document.getElementById("more");
  const all = document.getElementById("all");
  const search = document.getElementById("search");
  let selections = null, behind = 0, words = "", found = [], shown = 0;

  function value(row, name) {
    if (name in FIELDS) return row[FIELDS[name]];
    return row[0] === null ? null : data.items[row[0]][name];
  }

  function matches(row, selection) {
    return Object.entries(selection).every(([name, values]) => values.includes(value(row, name)));
  }

  // A difference is taken over the items that both sides answered.
  function inAll(wanted) {
    const sides = wanted.map((one) => new Set(data.rows.filter((row) => matches(row, one)).map((row) => row[0])));
    return new Set([...sides[0]].filter((item) => sides.every((side) => side.has(item))));
  }

  function inWords(name) { return String(name).replaceAll("_", " "); }

  function cell(line, text, kind) {
    const made = document.createElement("td");
    made.textContent = text;
    if (kind) made.className = kind;
    line.append(made);
  }

  function draw(count) {
    for (const row of found.slice(shown, shown + count)) {
      const line = document.createElement("tr");
      line.title = "response " + row[9];
      cell(line, row[1]);
      cell(line, row[2]);
      cell(line, inWords(row[3]));
      cell(line, row[6] === null ? "-" : String(Math.round(row[6] * 100) / 100));
      cell(line, row[7] || inWords(row[5]), "answer");
      cell(line, row[8] || (row[6] === null ? "not graded: " + inWords(row[5]) : ""), "reason");
      body.append(line);
    }
    shown = Math.min(found.length, shown + count);
    more.hidden = shown >= found.length;
    more.textContent = "Show more (" + (found.length - shown).toLocaleString("en") + " left)";
  }

  function refresh() {
    const items = selections === null ? null : inAll(selections);
    found = data.rows.filter((row) =>
      (selections === null || (items.has(row[0]) && selections.some((one) => matches(row, one)))) &&
      (words === "" || (row[1] + " " + row[7]).toLowerCase().includes(words)));
    body.replaceChildren();
    shown = 0;
    all.hidden = selections === null;
    const count = found.length.toLocaleString("en") + (found.length === 1 ? " response" : " responses");
    if (selections === null) told.textContent = count;
    else {
      const parts = selections.map((one) => Object.entries(one).map(([name, values]) =>
        inWords(name) + " " + values.map(inWords).join(" or ")).join(", "));
      told.textContent = count + (found.length < behind ? " (of " + behind.toLocaleString("en") + ")" : "") +
        " behind this number: " + parts.join("; against ");
    }
    draw(AT_ONCE);
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-of]");
    if (!link) return;
    document.querySelectorAll("a.chosen").forEach((one) => one.classList.remove("chosen"));
    link.classList.add("chosen");
    selections = JSON.parse(link.dataset.of);
    behind = Number(link.dataset.n);
    search.value = words = "";
    refresh();
  });
  more.addEventListener("click", () => draw(AT_ONCE));
  all.addEventListener("click", () => {
    selections = null;
    document.querySelectorAll("a.chosen").forEach((one) => one.classList.remove("chosen"));
    refresh();
  });
  search.addEventListener("input", () => { words = search.value.trim().toLowerCase(); refresh(); });
  refresh();
})();
