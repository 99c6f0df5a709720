// The desk in front of the microphone. A take is told as saved only once the studio has answered with the hash of the
// very bytes that were recorded; until then they are kept here, and leaving the page is warned of.

const SEND_MS = 120000;
const desks = new WeakMap();
// A take that could not be sent when its desk was left; the next desk offers it again.
let unsent = null;

export default function ({ data, parentElement, setTriggerValue }) {
  let desk = desks.get(parentElement);
  if (!desk) {
    desk = new RecorderDesk(parentElement);
    desks.set(parentElement, desk);
  }
  desk.update(data, setTriggerValue);
  return () => {
    desk.leave();
    desks.delete(parentElement);
  };
}

class RecorderDesk {
  constructor(parent) {
    this.state = "idle"; // idle, recording, sending, saved, failed
    this.level = new Level();
    this.microphone = new Microphone((peak, rms) => this._heard(peak, rms), () => this._lost());
    if (unsent) Object.assign(this, unsent, { state: "failed" });
    unsent = null;
    this._draw(parent);
    this.onKey = (event) => this._key(event);
    this.onLeave = (event) => ["recording", "sending", "failed"].includes(this.state) && event.preventDefault();
    // On the window and before all others: Streamlit has shortcuts of its own for single letters.
    window.addEventListener("keydown", this.onKey, true);
    window.addEventListener("beforeunload", this.onLeave);
  }

  update(data, tell) {
    const isOther = this.data && (this.data.script !== data.script || this.data.contributor !== data.contributor);
    if (isOther && this.state === "recording") this._stop();
    if (isOther && this.state === "saved") this.state = "idle";
    this.data = data;
    this.tell = tell;
    this._show();
  }

  leave() {
    window.removeEventListener("keydown", this.onKey, true);
    window.removeEventListener("beforeunload", this.onLeave);
    // What was said until now is saved all the same, and waits among one's takes.
    if (this.state === "recording") this._stop();
    if (this.state === "failed") unsent = { bytes: this.bytes, address: this.address, why: this.why };
    this.microphone.close();
  }

  _draw(parent) {
    this.problem = make("div", { class: "ip-rec-problem", role: "alert" });
    this.test = button("", () => this._open(), { class: "ip-rec-test" });
    this.devices = make("select", { class: "ip-rec-devices", onchange: () => this._open(this.devices.value) });
    this.bar = make("i");
    this.track = make("div", { class: "ip-rec-bar", role: "img" }, this.bar);
    this.voice = make("span", { class: "ip-rec-voice" });
    this.room = make("span", { class: "ip-rec-room" });
    this.rate = make("span", { class: "ip-rec-rate" });
    this.meter = make("div", { class: "ip-rec-meter" }, this.devices, this.track, this.voice, this.room, this.rate);
    this.main = button("", () => this._toggle(), { class: "ip-rec-main" });
    this.clock = make("span", { class: "ip-rec-clock" });
    this.hint = make("span", { class: "ip-rec-hint" });
    const controls = make("div", { class: "ip-rec-controls" }, this.main, this.clock, this.hint);
    this.told = make("div", { class: "ip-rec-told", role: "status" });
    this.root = make("div", { class: "ip-recorder" }, this.problem, this.test, this.meter, controls, this.told);
    parent.append(this.root);
  }

  _show() {
    const { words } = this.data;
    const isRecording = this.state === "recording";
    this.root.dataset.state = this.state;
    this.test.textContent = words.test;
    this.test.hidden = this.microphone.isOpen;
    this.meter.hidden = !this.microphone.isOpen;
    this.devices.setAttribute("aria-label", words.microphone);
    this.devices.disabled = isRecording;
    this.track.setAttribute("aria-label", words.level);
    this.main.textContent = isRecording ? words.stop : words.record;
    this.main.disabled = this.state === "sending" || this.state === "failed";
    this.hint.textContent = words.keys;
    if (!isRecording) this.clock.textContent = "";
    const rate_khz = this.microphone.rate_hz / 1000;
    this.rate.textContent = rate_khz === 48 ? "48 kHz" : words.other_rate.replace("{rate}", String(rate_khz));
    this.told.replaceChildren(...this._report());
  }

  _report() {
    const { words } = this.data;
    if (this.state === "sending") return [make("span", {}, words.sending)];
    if (this.state === "saved") {
      const hash = make("span", { class: "ip-mono" }, this.sha256);
      return [make("strong", { class: "ip-rec-good" }, words.saved), make("span", {}, `${words.checksum} `), hash];
    }
    if (this.state !== "failed") return this.note ? [make("span", {}, this.note)] : [];
    const again = button(words.send_again, () => this._send(), { class: "ip-rec-again" });
    const away = button(words.throw_away, () => this._forget(), { class: "ip-rec-away" });
    return [make("strong", { class: "ip-rec-bad" }, words.not_saved), make("span", {}, this.why), again, away];
  }

  async _open(deviceId) {
    this._complain();
    if (!window.isSecureContext || !navigator.mediaDevices) return this._complain("insecure");
    try {
      this.level = new Level();
      await this.microphone.open(deviceId);
      await this._listDevices();
    } catch (error) {
      this.microphone.close();
      const kinds = { NotAllowedError: "denied", SecurityError: "denied", NotFoundError: "missing", OverconstrainedError: "missing" };
      this._complain(kinds[error.name] ?? "busy");
    }
    this._show();
    return this.microphone.isOpen;
  }

  async _listDevices() {
    const found = (await navigator.mediaDevices.enumerateDevices()).filter((one) => one.kind === "audioinput");
    this.devices.replaceChildren(
      ...found.map((one) => {
        const option = make("option", { value: one.deviceId }, one.label || one.deviceId);
        option.selected = one.deviceId === this.microphone.deviceId;
        return option;
      }),
    );
  }

  _complain(kind) {
    const { words } = this.data;
    this.problem.replaceChildren(
      ...(kind ? [make("strong", {}, words[kind]), make("span", {}, words[`${kind}_how`])] : []),
    );
    this.problem.hidden = !kind;
    return false;
  }

  _heard(peak, rms) {
    const { words } = this.data;
    this.level.take(peak, rms);
    const voice = this.level.voice, room = this.level.room;
    const share = Math.max(0, Math.min(1, (decibels(rms) + 60) / 60));
    this.bar.style.width = `${Math.round(share * 100)}%`;
    this.bar.className = voice;
    this.voice.textContent = words[voice];
    this.voice.dataset.voice = voice;
    const room_db = this.level.room_db;
    this.room.textContent = `${words.room}: ${words[room]}${room_db === null ? "" : ` (${Math.round(room_db)} dBFS)`}`;
    this.room.dataset.room = room;
  }

  async _toggle() {
    if (this.state === "recording") return this._stop();
    if (this.isOpening || this.main.disabled) return;
    this.isOpening = true;
    const isOpen = this.microphone.isOpen || (await this._open());
    this.isOpening = false;
    if (!isOpen) return;
    this.note = "";
    // Whose and what it is stands from now on, whatever the page shows when it ends or is sent again.
    this.address = `${this.data.address}?${new URLSearchParams({
      script: this.data.script, contributor: this.data.contributor, device: this.microphone.label,
    })}`;
    this.microphone.start();
    this.begun_ms = performance.now();
    this.ticking = setInterval(() => this._tick(), 200);
    this._become("recording");
    this._tick();
  }

  _tick() {
    const elapsed_s = (performance.now() - this.begun_ms) / 1000;
    const seconds = String(Math.floor(elapsed_s % 60)).padStart(2, "0");
    this.clock.textContent = `${this.data.words.recording} ${Math.floor(elapsed_s / 60)}:${seconds}`;
    if (elapsed_s < this.data.most_s - 1) return;
    this.note = this.data.words.longest;
    this._stop();
  }

  _lost() {
    if (this.state === "recording") this._stop();
    this.microphone.close();
    this._complain("lost");
    this._show();
  }

  async _stop() {
    clearInterval(this.ticking);
    this.bytes = this.microphone.stop();
    if (!this.bytes) {
      this.note = this.data.words.too_short;
      this._become("idle");
      return;
    }
    await this._send();
  }

  async _send() {
    this._become("sending");
    const { words } = this.data;
    try {
      const own = await sha256Of(this.bytes);
      const answer = await fetch(this.address, {
        method: "POST", body: this.bytes, headers: { "Content-Type": "audio/wav" }, signal: AbortSignal.timeout(SEND_MS),
      });
      const told = await answer.json().catch(() => ({}));
      if (answer.status !== 201) return this._fail(told.error ?? words.unreachable);
      if (told.sha256 !== own) return this._fail(words.differs);
      this.sha256 = own;
      this.bytes = null;
      this._become("saved");
      this.tell("saved", { id: told.id });
    } catch {
      this._fail(words.unreachable);
    }
  }

  _fail(why) {
    this.why = why;
    this._become("failed");
  }

  _forget() {
    this.bytes = null;
    this._become("idle");
  }

  _become(state) {
    this.state = state;
    this._show();
  }

  _key(event) {
    if (isComposing(event) || event.defaultPrevented || event.repeat) return;
    if (event.altKey || event.metaKey || event.ctrlKey || event.shiftKey) return;
    const isSpace = event.key === " ";
    if (!isSpace && event.key.toLowerCase() !== "r") return;
    const target = event.composedPath()[0];
    if (target instanceof Element) {
      const types = "textarea, select, input, [role=combobox], [role=textbox], [role=listbox]";
      if (target.closest(types) || target.isContentEditable) return;
      // The space bar presses what has the focus; our own button does by it what the key would.
      if (isSpace && target.closest("button, a, summary, audio, video, [role=button], [role=radio], [role=tab], label")) return;
    }
    if (document.querySelector("[role=dialog][aria-modal=true], [data-baseweb=popover]")) return;
    if (!this.root.isConnected || this.main.disabled) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    this._toggle();
  }
}
