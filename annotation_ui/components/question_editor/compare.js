// Two versions of a draft side by side, where they differ; for each difference one is chosen.

function comparePanel(editor, { heading, text, mineTitle, theirsTitle, mine, theirs, keepMine, takeTheirs, decided }) {
  const { say, data } = editor;
  const groups = differences(mine(), theirs());
  const taken = new Set();
  const rows = groups.map((group) => {
    const name = `${editor.id}-compare-${group}`;
    const side = (title, content, isTheirs) => {
      const radio = make("input", { type: "radio", name, checked: !isTheirs });
      radio.addEventListener("change", () => (isTheirs ? taken.add(group) : taken.delete(group)));
      const words = asText(group, content, data) || say("nothing");
      return make("label", { class: "qe-side" }, make("span", { class: "qe-option" }, radio, title), make("div", { class: "qe-words" }, words));
    };
    return make(
      "div", { class: "qe-difference", role: "group", "aria-label": say(`field_${group}`), "data-group": group },
      make("h4", {}, say(`field_${group}`)),
      make("div", { class: "qe-sides" }, side(mineTitle, mine(), false), side(theirsTitle, theirs(), true)),
    );
  });
  const decide = (fields) => {
    panel.remove();
    decided(merged(mine(), theirs(), fields), fields.length === groups.length);
  };
  const panel = make(
    "section", { class: "qe-compare", role: "alert" },
    make("h3", {}, heading),
    make("p", {}, text),
    make(
      "div", { class: "qe-row" },
      button(keepMine, () => decide([])),
      button(takeTheirs, () => decide(groups)),
    ),
    ...rows,
    groups.length > 1 && make("div", { class: "qe-row" }, button(say("go_on_with_choice"), () => decide([...taken]), { class: "qe-button qe-main" })),
  );
  return panel;
}

function clockTime(iso, language) {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return "";
  const day = at.toDateString() === new Date().toDateString() ? {} : { month: "short", day: "numeric" };
  return new Intl.DateTimeFormat(language, { hour: "2-digit", minute: "2-digit", hourCycle: "h23", ...day }).format(at);
}
