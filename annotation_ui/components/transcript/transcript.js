// The player is drawn by the page itself, and drawn anew by its reruns: it is looked up whenever it is needed.
const player = () => document.querySelector(".st-key-material-player audio, .st-key-material-player video");
const LATE_S = 0.05;

export default function ({ data, parentElement }) {
  const list = document.createElement("ol");
  list.className = "lines";
  for (const line of data.lines) list.append(row(line));
  parentElement.querySelector("ol.lines")?.remove();
  parentElement.append(list);
  const follow = (event) => event.target === player() && mark(list, data.lines, event.target.currentTime);
  // Media events do not bubble; they are heard on their way down.
  document.addEventListener("timeupdate", follow, true);
  return () => document.removeEventListener("timeupdate", follow, true);
}

function row(line) {
  const button = document.createElement("button");
  button.type = "button";
  for (const name of ["span", "speaker", "text"]) {
    const part = document.createElement("span");
    part.className = name;
    part.textContent = line[name];
    button.append(part);
  }
  button.addEventListener("click", () => {
    const media = player();
    if (!media) return;
    media.currentTime = line.start_s;
    media.play().catch(() => {}); // a browser that forbids sound still stands at the line
  });
  const item = document.createElement("li");
  item.append(button);
  return item;
}

function mark(list, lines, now_s) {
  [...list.children].forEach((item, place) => {
    const line = lines[place];
    const heard = now_s >= line.start_s - LATE_S && now_s < line.end_s;
    item.firstChild.setAttribute("aria-current", heard ? "true" : "false");
  });
}
