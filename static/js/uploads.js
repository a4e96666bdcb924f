// <form data-upload="ADDRESS" data-piece="BYTES">: what was chosen or dropped goes to the server in pieces before the
// form is sent; the form then carries the number of the upload. A lost connection, a pause and a closed tab cost one
// piece: the server says how far it is. Both sides compute the file's SHA-256 and must agree.
import { size, span } from "./amounts.js";
import { chosen } from "./drop.js";
import { Sha256 } from "./sha256.js";
import { tar } from "./tar.js";

const LONGEST_WAIT_S = 15;

const pause = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));

class Refused extends Error {}

class Transfer {
  constructor(form, blob, name) {
    Object.assign(this, { form, blob, name });
    this.box = form.querySelector("[data-transfer]");
    this.remembered = `upload:${form.elements.team?.value ?? form.dataset.team}:${name}:${blob.size}`;
    this.paused = false;
    this.moved = [];
    this.box.querySelector("[data-transfer-pause]").onclick = () => this.toggle();
  }

  async run() {
    this.box.hidden = false;
    let state = (await this.earlier()) ?? (await this.ask(this.form.dataset.upload, { team: this.team(), name: this.name, size: this.blob.size }));
    localStorage.setItem(this.remembered, state.url);
    const hash = new Sha256();
    const piece = Math.min(state.piece_bytes, Number(this.form.dataset.piece));
    for (let at = 0; at < this.blob.size; at += piece) {
      const end = Math.min(at + piece, this.blob.size);
      hash.update(new Uint8Array(await this.blob.slice(at, end).arrayBuffer()));
      while (state.offset < end) state = await this.send(state, Math.min(state.offset + piece, this.blob.size));
      this.show(Math.max(at, end), state.offset);
    }
    this.say(`Checking ${this.name}`);
    localStorage.removeItem(this.remembered);
    if (state.state !== "complete") state = await this.ask(`${state.url}finish/`, { sha256: hash.hex() });
    this.say(`${this.name} has arrived. SHA-256 ${state.sha256.slice(0, 12)}`);
    return state.id;
  }

  team() {
    return this.form.elements.team?.value ?? this.form.dataset.team;
  }

  // An upload of the same file that this browser began, if the server still has it.
  async earlier() {
    const url = localStorage.getItem(this.remembered);
    if (!url) return null;
    const state = await fetch(url).then((answer) => answer.json()).catch(() => null);
    return state?.size === this.blob.size && state.state === "receiving" ? state : null;
  }

  // One piece, again and again until it is there. Returns the server's state, which knows how far it really is.
  async send(state, end) {
    for (let wait = 1; ; wait = Math.min(2 * wait, LONGEST_WAIT_S)) {
      await this.unpaused();
      try {
        this.stop = new AbortController();
        const body = this.blob.slice(state.offset, end);
        const headers = { "X-CSRFToken": this.csrf(), "Upload-Offset": state.offset };
        const answer = await fetch(state.url, { method: "PATCH", body, headers, signal: this.stop.signal });
        if (answer.ok) return await this.read(answer);
        if (answer.status < 500 && answer.status !== 409) throw new Refused(await this.told(answer));
        await pause(0.5);
      } catch (error) {
        if (error instanceof Refused) throw error;
        if (!this.paused) await this.lost(wait);
      }
      const now = await fetch(state.url).catch(() => null);
      if (now && now.status < 500) state = await this.read(now);
      if (state.offset >= end) return state;
    }
  }

  async lost(wait) {
    this.say(`The connection is lost: trying again in ${wait} s`);
    await Promise.race([pause(wait), new Promise((back) => addEventListener("online", back, { once: true }))]);
  }

  async ask(url, fields) {
    const body = new URLSearchParams(fields);
    return this.read(await fetch(url, { method: "POST", body, headers: { "X-CSRFToken": this.csrf() } }));
  }

  async read(answer) {
    const json = answer.headers.get("Content-Type")?.startsWith("application/json");
    if (answer.ok && json) return answer.json();
    throw new Refused(await this.told(answer));
  }

  async told(answer) {
    const { message, hint } = await answer.json().catch(() => ({}));
    return message ? `${message} ${hint}` : "The server did not take the file. Load the page again, sign in if it asks, and retry.";
  }

  csrf() {
    return this.form.elements.csrfmiddlewaretoken.value;
  }

  toggle() {
    this.paused = !this.paused;
    this.box.querySelector("[data-transfer-pause]").textContent = this.paused ? "Go on" : "Pause";
    if (this.paused) {
      this.stop?.abort();
      this.say("Paused");
    } else this.goOn?.();
  }

  unpaused() {
    return this.paused ? new Promise((done) => (this.goOn = done)) : undefined;
  }

  show(read, arrived) {
    const now = performance.now() / 1000;
    this.moved = [...this.moved.slice(-20), [now, arrived]];
    const [since, before] = this.moved[0];
    const speed = now > since ? (arrived - before) / (now - since) : 0;
    this.box.querySelector("[data-transfer-bar]").value = arrived / this.blob.size;
    this.box.querySelector("[data-transfer-words]").textContent =
      arrived > read ? `Looking for where ${this.name} stopped` : `${this.name}: ${size(arrived)} of ${size(this.blob.size)}`;
    this.box.querySelector("[data-transfer-speed]").textContent =
      speed > 0 ? `${size(speed)}/s, about ${span((this.blob.size - arrived) / speed)} left` : "";
  }

  // What a screen reader should hear, too.
  say(words) {
    this.box.querySelector("[data-transfer-words]").textContent = words;
    this.box.querySelector("[data-transfer-said]").textContent = words;
  }
}

// One file goes as it is. Several become one tar; of what the server leaves out by its name only the name goes, once.
function packed(zone) {
  const files = chosen(zone);
  if (files.length === 1 && !files[0].path.includes("/")) return [files[0].file, files[0].file.name];
  const pattern = zone.dataset.leftOut && new RegExp(zone.dataset.leftOut);
  const entries = new Map();
  for (const { path, file } of files) {
    const parts = path.split("/");
    const at = pattern ? parts.findIndex((part) => pattern.test(part)) : -1;
    if (at < 0) entries.set(path, { path, file });
    else entries.set(parts.slice(0, at + 1).join("/"), { path: parts.slice(0, at + 1).join("/"), file: null });
  }
  const top = files[0].path.includes("/") ? files[0].path.split("/")[0] : `${files.length} files`;
  return [tar(entries.values()), `${top}.tar`];
}

function refuse(form, message) {
  const notice = document.createElement("div");
  notice.className = "notice tone-bad";
  notice.setAttribute("role", "alert");
  notice.dataset.transferProblem = "";
  const text = Object.assign(document.createElement("p"), { textContent: message });
  notice.append(document.createElement("span"), text);
  form.querySelector("[data-transfer]").before(notice);
}

async function begin(event) {
  const form = event.currentTarget;
  const zone = form.querySelector("[data-drop]");
  if (!chosen(zone).length) return; // pasted text, or nothing: the form goes as it is
  event.preventDefault();
  form.querySelector("[data-transfer-problem]")?.remove();
  const buttons = form.querySelectorAll("button[type=submit]");
  for (const button of buttons) button.disabled = true;
  try {
    form.elements.upload.value = await new Transfer(form, ...packed(zone)).run();
    for (const input of zone.querySelectorAll("input[type=file]")) input.value = "";
    form.submit();
  } catch (error) {
    if (!(error instanceof Refused)) console.error(error);
    refuse(form, error instanceof Refused ? error.message : `The file could not be read: ${error.message}`);
    form.querySelector("[data-transfer]").hidden = true;
    for (const button of buttons) button.disabled = false;
  }
}

const forms = document.querySelectorAll("form[data-upload]");
for (const form of forms) form.addEventListener("submit", begin);
addEventListener("pageshow", () => {
  for (const form of forms) for (const button of form.querySelectorAll("button[type=submit]")) button.disabled = false;
});
