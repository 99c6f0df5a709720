"use strict";
(function () {
  const index = JSON.parse(document.getElementById("index").textContent);
  const parts = document.querySelectorAll("script.item");
  const t = index.words;
  const AT_ONCE = 100;
  const RESPONSES_AT_ONCE = 60;
  const [KEY, MODEL, CONDITION, ROTATION, STATE, MARK, RIGHT, ANSWER, ERROR, PICKED] = Array(10).keys();
  const SELECTS = ["state", "reason", "task_type"];
  const body = document.querySelector("#list tbody");
  const told = document.getElementById("told");
  const more = document.getElementById("more");
  const clear = document.getElementById("clear");
  const search = document.getElementById("search");
  let chosen = {}, found = [], shown = 0;

  // Everybody's text becomes text here, and never markup.
  function make(kind, attributes, ...inside) {
    const made = document.createElement(kind);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name === "click") made.addEventListener("click", value);
      else made.setAttribute(name, value === true ? "" : value);
    }
    made.append(...inside.filter((one) => one !== null && one !== undefined));
    return made;
  }

  function share(value) { return value === null || value === undefined ? t.undefined : value.toFixed(2); }
  function between(range) { const [low, high] = range.map(share); return low === high ? low : low + " – " + high; }
  function inWords(name) { return String(name).replaceAll("_", " "); }
  function taskType(name) { return index.task_types[name] || name; }
  function reason(code) { return index.reasons[code] || code; }
  function outcome(name) { return t[name + "_"] || t[name] || name; }
  function pill(text, kind, title) { return make("span", { class: "pill " + kind, title }, text); }
  function button(text, click) { return make("button", { type: "button", click }, text); }
  function state(name) { return t["state_" + name] || inWords(name); }
  function link(text, click) { return make("a", { href: "#", click }, text); }

  function table(heads, rows, kind) {
    const head = make("thead", {}, make("tr", {}, ...heads.map((one) => one instanceof Node ? one : make("th", {}, one))));
    return make("div", { class: "scroll" }, make("table", { class: kind }, head, make("tbody", {}, ...rows)));
  }

  // The list and its filters.

  const MATCH = {
    state: (item, value) => item.state === value,
    reason: (item, value) => item.reasons.includes(value),
    task_type: (item, value) => item.task_type === value,
    author: (item, value) => item.author === value,
    names: (item, value) => value.includes(item.name),
    round: (item, value) => String(value) in item.rounds,
    outcome: (item, value) => item.rounds[String(chosen.round)] === value,
    settled: (item, value) => item.settled.includes(value),
    overruled: (item, value) => item.overruled.includes(value),
  };

  function inFilter() {
    const words = search.value.trim().toLowerCase();
    const wanted = Object.entries(chosen);
    return index.items.map((item, place) => [item, place]).filter(([item]) =>
      wanted.every(([name, value]) => MATCH[name](item, value)) &&
      (words === "" || (item.name + " " + item.prompt).toLowerCase().includes(words)));
  }

  function filterWords() {
    const words = {
      author: (value) => t.author + ": " + value,
      names: (value) => value.length + " " + t.item_list,
      round: (value) => t["round_" + value] + (chosen.outcome ? ": " + outcome(chosen.outcome) : ""),
      settled: (value) => t["round_" + value] + ": " + t.settled_by_person,
      overruled: (value) => t["round_" + value] + ": " + t.overruled,
    };
    return Object.entries(chosen).filter(([name]) => name in words).map(([name, value]) => words[name](value)).join("; ");
  }

  function line([item, place]) {
    const rounds = Object.entries(item.rounds).map(([number, name]) => pill(number, name, t["round_" + number] + ": " + outcome(name)));
    const row = make("tr", { class: "line" },
      make("td", {}, make("button", { type: "button", "aria-expanded": "false" }, item.name), make("small", {}, item.prompt)),
      make("td", {}, t[item.state] || item.state),
      make("td", {}, taskType(item.task_type)),
      make("td", {}, ...rounds),
      make("td", {}, item.reasons.map(reason).join("; ")));
    // Who marks words in a line to copy them does not mean to open it.
    row.addEventListener("click", () => { if (String(getSelection()) === "") toggle(row, place); });
    return row;
  }

  function draw(count) {
    const next = found.slice(shown, shown + count);
    body.append(...next.map(line));
    shown += next.length;
    more.hidden = shown >= found.length;
    more.textContent = t.more + " (" + (found.length - shown).toLocaleString("en") + ")";
  }

  function refresh() {
    found = inFilter();
    body.replaceChildren();
    shown = 0;
    for (const name of SELECTS) document.getElementById("by-" + name).value = chosen[name] || "";
    clear.hidden = Object.keys(chosen).length === 0 && search.value === "";
    const words = filterWords();
    told.textContent = found.length.toLocaleString("en") + " / " + index.items.length.toLocaleString("en") + " " + t.shown +
      (words ? " (" + words + ")" : "");
    draw(AT_ONCE);
    if (found.length === 1) toggle(body.firstChild, found[0][1]);
  }

  function toggle(row, place) {
    const after = row.nextElementSibling;
    const isOpen = after !== null && after.classList.contains("opened");
    if (isOpen) after.remove();
    else {
      const cell = make("td", { colspan: 5 });
      row.after(make("tr", { class: "opened" }, cell));
      cell.append(...opened(JSON.parse(parts[place].textContent)));
    }
    row.classList.toggle("open", !isOpen);
    row.querySelector("button").setAttribute("aria-expanded", String(!isOpen));
  }

  // One item.

  function opened(item) {
    const responses = responsesOf(item);
    const steps = stepTable(item, responses);
    const made = [facts(item), make("div", { class: "prompt" }, item.prompt), ...asked(item, steps.length > 0), ...stopped(item)];
    if (item.rounds.length === 0) made.push(make("p", { class: "quiet" }, t.no_rounds));
    for (const round of item.rounds) made.push(...roundOf(item, round, responses));
    made.push(...steps, ...people(item));
    if (item.answers.length) {
      made.push(make("h4", {}, t.table), make("p", { class: "quiet" }, t.table_note), answersTable(item, responses));
      made.push(make("p", {}, button(t.all_responses + " (" + item.answers.length + ")", responses.showAll)));
    }
    if (item.lost) made.push(make("p", { class: "quiet" }, item.lost + " " + t.lost));
    return made;
  }

  function facts(item) {
    const needs = item.required.length ? "; " + t.needs + " " + item.required.map((one) => t[one]).join(" + ") : "";
    const twin = item.twin_group ? "; " + t.group + " " + item.twin_group : "";
    return make("p", { class: "quiet" }, (item.kind === "open" ? t.open_question : t[item.kind]) + "; " + taskType(item.task_type) + "; " + item.language + needs + twin +
      "; " + t.revision + " " + item.revision + ", " + t.by + " " + item.author);
  }

  function asked(item, hasStepTable) {
    const made = [];
    if (!hasStepTable) made.push(...item.steps.map((step, place) =>
      make("p", {}, (place + 1) + ". " + step.ask + " (" + step.points + " " + t.points + "): " + step.answer)));
    if (item.choices.length) made.push(make("ol", { class: "choices" }, ...item.choices.map(([label, text], place) =>
      make("li", { class: item.correct.includes(place) ? "key" : null }, label + ". " + text))));
    if (item.accepted.length) made.push(make("p", {}, t.key + ": " + item.accepted.join("; ")));
    return made;
  }

  // Why it stopped or waits, in a word and a sentence, before anything else is told.
  function stopped(item) {
    if (!item.reason_codes.length && !item.why.length) return [];
    const waits = item.rounds.find((round) => round.outcome === "open");
    const where = waits ? t["round_" + waits.round] + ", " + t.open : t[item.state] || item.state;
    return [make("div", { class: "stopped " + item.state }, make("strong", {}, where + ": " + item.reason_codes.map(reason).join("; ")),
      ...item.why.map((why) => make("span", { class: "why" }, why)))];
  }

  function roundOf(item, round, responses) {
    const title = make("h4", {}, t["round_" + round.round] + " ", pill(outcome(round.outcome), round.outcome),
      round.overruled ? pill(t.overruled, "person") : null);
    const list = make("ul", { class: "verdicts" }, ...round.verdicts.map((one) => verdict(item, one, responses)));
    const tables = round.verdicts.filter((one) => one.gates.length).flatMap((one) => gates(item, one, responses));
    return [title, list, ...tables];
  }

  function verdict(item, one, responses) {
    const made = make("li", {}, make("strong", {}, one.decider), " ", pill(t[one.decision] || one.decision, one.decision),
      one.codes.map(reason).join("; "), " ", make("span", { class: "quiet" }, one.at));
    for (const why of one.why) made.append(make("span", { class: "why" }, why));
    for (const finding of one.findings) made.append(make("span", { class: "why quiet" },
      t[finding.severity] + ": " + reason(finding.code) + " (" + finding.message + ")"));
    if (one.comment) made.append(" ", make("q", {}, one.comment));
    if (one.reviews) made.append(panelReview(one.reviews, responses));
    return made;
  }

  function panelReview(reviews, responses) {
    const made = make("span", { class: "why" }, t.model_review + ": " + reviews.valid + " " + t.valid_reviews);
    for (const [family, why] of Object.entries(reviews.invalid)) made.append("; " + family + ": " + state(why));
    for (const [aspect, family, words, at] of reviews.objections) {
      const show = (event) => { event.preventDefault(); responses.show(event.currentTarget, at === null ? [] : [at], family); };
      made.append(make("span", { class: "why quiet" }, link(family, show), " " + aspect + ": " + words));
    }
    return made;
  }

  function gates(item, one, responses) {
    const labels = item.choices.map(([label, text]) => make("th", {}, make("span", { class: "choice", title: text }, label + ". " + text)));
    const rows = one.gates.map((gate) => gateRow(item, one, gate, responses));
    return [table([t.condition, ...labels, t.solved, make("th", { title: t.range_note }, t.range), t.answers, t.gate, t.because], rows, "votes")];
  }

  function gateRow(item, one, gate, responses) {
    const show = (keep, words) => (event) => { event.preventDefault(); responses.show(event.currentTarget, gate.at.filter(keep), gate.shown + words); };
    const cells = item.choices.map(([label], place) => {
      if (!gate.share_ranges.length) return make("td", {}, "");
      const value = gate.shares.length ? gate.shares[place] : null;
      const isKey = item.correct.includes(place);
      const isReached = one.flagged_at !== null && value !== null && value >= one.flagged_at && (gate.condition !== "full" || !isKey);
      const kind = (isKey ? "is-key" : "") + (isReached ? " reached" : "");
      return make("td", { class: kind, title: t.range + " " + between(gate.share_ranges[place]) },
        link(share(value), show((at) => item.answers[at][PICKED].includes(place), ", " + t.option + " " + label)));
    });
    return make("tr", { class: gate.says === "probe" ? "probe" : null },
      make("th", { scope: "row" }, link(gate.shown, show(() => true, ""))), ...cells,
      make("td", {}, link(share(gate.solved), show((at) => item.answers[at][RIGHT] === true, ", " + t.right))),
      make("td", {}, between(gate.solved_range)),
      make("td", {}, link(gate.valid + " / " + gate.asked + " / " + gate.planned, show(() => true, ""))),
      make("td", {}, pill(t["says_" + gate.says], gate.says)),
      make("td", { class: "why" }, gate.why));
  }

  // All conditions beside one another, from the check's last word in each round.
  function stepTable(item, responses) {
    const columns = item.rounds.flatMap((round) => {
      const one = round.verdicts.filter((verdict) => verdict.gates.length).pop();
      return one ? one.gates.filter((gate) => gate.step_shares.length).map((gate) => [gate, one.flagged_at]) : [];
    });
    const rows = item.steps.map((step, place) => make("tr", {},
      make("th", { scope: "row" }, (place + 1) + ". " + step.ask), make("td", {}, String(step.points)), make("td", {}, step.answer),
      ...columns.map(([gate, flagged]) => {
        const value = gate.step_shares[place];
        const leaks = gate.leaking.includes(place + 1);
        const isReached = gate.condition !== "full" && flagged !== null && value >= flagged;
        const show = (event) => { event.preventDefault(); responses.show(event.currentTarget, gate.at, gate.shown); };
        return make("td", { class: leaks ? "leaks" : isReached ? "reached" : null }, link(share(value), show), leaks ? " " + t.leaks : null);
      })));
    return columns.length ? [make("h4", {}, t.steps), table([t.steps, t.points, t.key, ...columns.map(([gate]) => gate.shown)], rows, "steps")] : [];
  }

  function people(item) {
    if (!item.solves.length) return [];
    const rows = item.solves.map((one) => make("tr", {}, make("th", { scope: "row" }, one.hidden ? t[one.hidden] : t.solve_full),
      make("td", {}, String(one.right)), make("td", {}, String(one.answered)), make("td", {}, String(one.ungraded))));
    return [make("h4", {}, t.solves), table([t.hidden, t.right, t.asked, t.ungraded], rows)];
  }

  function marked(answer) {
    const kind = answer[RIGHT] === null ? "said-nothing" : answer[RIGHT] ? "right" : "wrong";
    return make("span", { class: kind }, answer[MARK]);
  }

  function answersTable(item, responses) {
    const rows = Object.entries(item.conditions).map(([name, words]) => make("tr", {}, make("th", { scope: "row" }, words),
      ...item.models.map((model) => {
        const at = [...item.answers.keys()].filter((place) => item.answers[place][CONDITION] === name && item.answers[place][MODEL] === model);
        if (!at.length) return make("td", { class: "marks" }, "-");
        at.sort((one, other) => item.answers[one][ROTATION] - item.answers[other][ROTATION]);
        const show = (event) => { event.preventDefault(); responses.show(event.currentTarget, at, words + ", " + model); };
        const made = link("", show);
        at.forEach((place, turn) => made.append(...(turn ? [" "] : []), marked(item.answers[place])));
        return make("td", { class: "marks" }, made);
      })));
    return table([t.condition, ...item.models], rows, "answers");
  }

  // The responses behind a number stand under the table that it is in; the same number once more puts them away.
  function responsesOf(item) {
    const element = make("div", { class: "behind" });
    const all = [...item.answers.keys()];
    function row(place) {
      const answer = item.answers[place];
      return make("tr", {}, make("td", {}, answer[MODEL]), make("td", {}, item.conditions[answer[CONDITION]] || answer[CONDITION]),
        make("td", {}, String(answer[ROTATION])), make("td", {}, state(answer[STATE])), make("td", {}, marked(answer)),
        make("td", { class: "answer" }, answer[ANSWER] === null ? "-" : answer[ANSWER], answer[ERROR] ? make("em", {}, " " + t.error + ": " + answer[ERROR]) : null),
        make("td", {}, make("code", { title: answer[KEY] }, answer[KEY])));
    }
    function show(from, at, words) {
      const top = from.getBoundingClientRect().top;
      const isShown = from.classList.contains("chosen");
      close();
      if (!isShown) {
        from.classList.add("chosen");
        fill(at, words);
        from.closest(".scroll, ul, p").after(element);
      }
      // What was read stays where it is, wherever the responses stood before.
      window.scrollBy({ top: from.getBoundingClientRect().top - top, behavior: "instant" });
      if (!isShown) element.firstChild.scrollIntoView({ block: "nearest", behavior: "instant" });
    }
    function close() {
      const opened = element.closest("tr.opened");
      if (opened) opened.querySelectorAll(".chosen").forEach((one) => one.classList.remove("chosen"));
      element.remove();
    }
    function fill(at, words) {
      const rows = at.slice(0, RESPONSES_AT_ONCE).map(row);
      const drawn = table([t.model, t.condition, t.rotation, t.state, t.says, t.answer, t.response_key], rows, "responses");
      const rest = button(t.more, () => { drawn.querySelector("tbody").append(...at.slice(RESPONSES_AT_ONCE).map(row)); rest.remove(); });
      const head = make("p", { class: "quiet" }, at.length + " " + t.behind + (words ? ": " + words : "") + " ", button(t.close, close));
      element.replaceChildren(head, drawn, ...(at.length > RESPONSES_AT_ONCE ? [rest] : []));
    }
    return { show, showAll: (event) => show(event.currentTarget, all, "") };
  }

  // Start.

  function options(name, values, words) {
    const select = document.getElementById("by-" + name);
    select.append(make("option", { value: "" }, t.all), ...values.map((value) => make("option", { value }, words(value))));
    select.addEventListener("change", () => {
      if (select.value) chosen[name] = select.value; else delete chosen[name];
      refresh();
    });
  }
  const distinct = (values) => [...new Set(values)].sort();
  options("state", [...new Set(index.items.map((item) => item.state))], (value) => t[value] || value);
  options("reason", distinct(index.items.flatMap((item) => item.reasons)), reason);
  options("task_type", distinct(index.items.map((item) => item.task_type)), taskType);
  document.addEventListener("click", (event) => {
    const from = event.target.closest("a[data-filter]");
    if (!from) return;
    chosen = JSON.parse(from.dataset.filter);
    search.value = "";
    refresh();
  });
  clear.addEventListener("click", () => { chosen = {}; search.value = ""; refresh(); });
  more.addEventListener("click", () => draw(AT_ONCE));
  search.addEventListener("input", refresh);
  refresh();
})();
