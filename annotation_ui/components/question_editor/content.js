// What a draft holds, and how two of its versions differ.

const BLANK = {
  name: "", task_type: "", language: "", kind: "choice", prompt: "", media: {}, choices: [], correct: [], accepted: [],
  grader: null, tolerance: null, steps: [], required: [], asked_in: "text", twin_group: "", evidence: {},
};
const BLANK_STEP = { ask: "", points: null, accepted: [], grader: null, tolerance: null, rubric: "" };
const MOST_ENTRIES = 40;

function whole(content) {
  const filled = { ...clone(BLANK), ...clone(content) };
  filled.steps = filled.steps.map((step) => ({ ...clone(BLANK_STEP), ...step }));
  return filled;
}

function stable(value) {
  if (Array.isArray(value)) return value.map(stable);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, stable(value[key])]));
}

function isSame(one, other) {
  return JSON.stringify(stable(one)) === JSON.stringify(stable(other));
}

// Fields that only make sense together are taken together.
const GROUPS = {
  task_type: ["task_type"], language: ["language"], kind: ["kind"], prompt: ["prompt", "media"],
  choices: ["choices", "correct"], accepted: ["accepted", "grader", "tolerance"], steps: ["steps"],
  required: ["required"], asked_in: ["asked_in"], evidence: ["evidence"], name: ["name"], twin_group: ["twin_group"],
};

function differences(mine, theirs) {
  return Object.keys(GROUPS).filter((group) => GROUPS[group].some((field) => !isSame(mine[field], theirs[field])));
}

function merged(mine, theirs, takenFromTheirs) {
  const result = clone(mine);
  for (const group of takenFromTheirs) for (const field of GROUPS[group]) result[field] = clone(theirs[field]);
  // What is marked holds for the material that its own version has there.
  const marked = takenFromTheirs.includes("evidence") ? theirs : mine;
  result.evidence = Object.fromEntries(Object.entries(result.evidence).filter(([place]) => result.media[place] === marked.media[place]));
  return result;
}

function letter(place) {
  return String.fromCharCode(65 + place);
}

function answerText(given) {
  return [...given.accepted, given.grader && `(${given.grader})`, given.tolerance !== null && `± ${given.tolerance}`]
    .filter(Boolean)
    .join("\n");
}

function stepText(step, place) {
  return [`${place + 1}. ${step.ask} [${step.points ?? "–"}]`, answerText(step), step.rubric].filter(Boolean).join("\n");
}

function evidenceText(evidence, words) {
  return Object.entries(evidence).map(([place, told]) => {
    const facts = Object.entries(told).map(([name, value]) => (name === "note" ? value : `${words[`ev_${name}`]} ${value}`));
    return `<${place}> ${facts.join(", ")}`;
  });
}

// A group of fields as lines that people can compare.
function asText(group, content, data) {
  const labels = (list, code) => list.find((entry) => entry.id === code)?.name ?? code;
  switch (group) {
    case "task_type": return labels(data.task_types, content.task_type);
    case "language": return labels(data.languages, content.language);
    case "kind": return labels(data.kinds, content.kind);
    case "prompt": return content.prompt;
    case "choices":
      return content.choices.map((text, place) => `${content.correct.includes(place) ? "✓" : " "} ${letter(place)}. ${text}`).join("\n");
    case "accepted": return answerText(content);
    case "steps": return content.steps.map(stepText).join("\n\n");
    case "required": return content.required.map((code) => labels(data.modalities, code)).join(", ");
    case "asked_in": return labels(data.modalities, content.asked_in);
    case "evidence": return evidenceText(content.evidence, data.words).join("\n");
    default: return String(content[group]);
  }
}
