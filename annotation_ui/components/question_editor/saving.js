// Saves a draft by itself: one request at a time, repeated until it is through; until then the words are kept here.

const DEBOUNCE_MS = 800;
const SETTLE_MS = 500;
const TIMEOUT_MS = 20000;
const FIRST_RETRY_MS = 2000;
const SLOWEST_RETRY_MS = 15000;
const TAB_KEY = "interplay-editor";

// Names this tab to the server. A tab that the browser duplicates copies the storage of the first: so the name stands
// in it only between one page and the next, and never while a page is open.
class Tab {
  constructor() {
    const found = this._take();
    this.id = found?.id ?? randomId();
    this.stroke = found?.stroke ?? 0;
    window.addEventListener("pagehide", () => {
      try {
        sessionStorage.setItem(TAB_KEY, JSON.stringify({ id: this.id, stroke: this.stroke }));
      } catch { /* a browser without storage: the next page gets another name */ }
    });
    window.addEventListener("pageshow", (event) => event.persisted && this._take());
  }

  renew() {
    this.id = randomId();
  }

  _take() {
    try {
      const found = JSON.parse(sessionStorage.getItem(TAB_KEY));
      sessionStorage.removeItem(TAB_KEY);
      return found;
    } catch {
      return null;
    }
  }
}

const TAB = new Tab();

// Words that are not saved yet, in the browser's own storage: by person, draft and tab.
class Shelf {
  constructor(user, draft) {
    this.prefix = `interplay-words:${user}:${draft}:`;
  }

  keep(content) {
    try {
      localStorage.setItem(this.prefix + TAB.id, JSON.stringify({ content, at: new Date().toISOString() }));
      return true;
    } catch {
      return false;
    }
  }

  forget(key = this.prefix + TAB.id) {
    try {
      localStorage.removeItem(key);
    } catch { /* nothing was kept then */ }
  }

  // The latest words that the studio does not hold; those that it does hold are forgotten.
  find(stored) {
    const found = [];
    try {
      for (const key of Object.keys(localStorage).filter((one) => one.startsWith(this.prefix))) {
        const entry = JSON.parse(localStorage.getItem(key));
        if (isSame(whole(entry.content), stored)) this.forget(key);
        else found.push({ key, at: entry.at, content: whole(entry.content) });
      }
    } catch { /* unreadable storage holds nothing for us */ }
    return found.sort((one, other) => (one.at < other.at ? 1 : -1))[0] ?? null;
  }
}

class Saver {
  constructor(draft, version, shelf, read) {
    Object.assign(this, { draft, version, shelf, read });
    this.written = this.stored = 0;
    this.listener = {};
    this.retry_ms = FIRST_RETRY_MS;
    this.isHalted = false; // a conflict waits for a decision, or the draft is closed
    window.addEventListener("online", () => this.isDirty && this.flush());
    window.addEventListener("focus", () => this.isSignedOut && this.flush());
    window.addEventListener("pagehide", () => this.flush(true));
  }

  get isDirty() {
    return this.written > this.stored;
  }

  changed() {
    this.written += 1;
    this.isKept = this.shelf.keep(this.read());
    clearTimeout(this.settling);
    if (this.isHalted) return;
    if (!this.isOffline) this._tell("saving");
    this._later(DEBOUNCE_MS);
  }

  // Everything that is written goes out now; whether all of it is stored then.
  async flush(isLeaving = false) {
    clearTimeout(this.timer);
    while (this.isDirty && !this.isHalted) {
      this.sending ??= this._send(isLeaving).finally(() => (this.sending = undefined));
      if (!(await this.sending)) return false;
    }
    return !this.isHalted;
  }

  goOn(version) {
    this.version = version;
    this.isHalted = false;
  }

  _later(after_ms) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.flush(), after_ms);
  }

  async _send(isLeaving) {
    const upTo = this.written;
    const body = JSON.stringify({
      expected_version: this.version, editor: TAB.id, stroke: ++TAB.stroke, content: this.read(),
    });
    this._tell(this.isOffline ? "offline" : "saving");
    let answer, told;
    try {
      answer = await fetch(`/drafts/${encodeURIComponent(this.draft)}`, {
        method: "PUT", body, headers: { "Content-Type": "application/json" }, keepalive: isLeaving && body.length < 15000,
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      told = await answer.json();
    } catch {
      return this._failed();
    }
    return answer.status >= 500 ? this._failed() : this._answered(answer.status, told, upTo);
  }

  _failed() {
    this.isOffline = true;
    this._tell(this.isKept === false ? "offline_unkept" : "offline");
    this._later(this.retry_ms);
    this.retry_ms = Math.min(2 * this.retry_ms, SLOWEST_RETRY_MS);
    return false;
  }

  _answered(status, told, upTo) {
    this.isOffline = false;
    this.isSignedOut = status === 401;
    this.retry_ms = FIRST_RETRY_MS;
    if (status === 200) return this._stored(told, upTo);
    this.isHalted = [404, 409, 410].includes(status);
    if (status === 409) this.listener.conflict?.(told);
    this._tell({ 401: "signed_out", 409: "conflict" }[status] ?? "refused", told.error);
    return false;
  }

  _stored(told, upTo) {
    this.version = told.version;
    this.stored = upTo;
    this.savedAt = told.saved_at;
    this.listener.checked?.(told);
    if (this.isDirty) return true;
    this.shelf.forget();
    this._tell("saved");
    clearTimeout(this.settling);
    this.settling = setTimeout(() => !this.isDirty && this.listener.settled?.(this.version), SETTLE_MS);
    return true;
  }

  _tell(status, detail) {
    this.status = status;
    this.detail = detail;
    this.listener.status?.();
  }
}
