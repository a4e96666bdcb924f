// The source page: point at a line to see its reasons; n and p (or the buttons) go from hot line to hot line.
// Without this script all notes are listed beside the source, and line numbers are plain links.
const root = document.querySelector("[data-heat]");
const lines = [...root.querySelectorAll(".code li[data-line]")];
const hot = lines.filter((line) => line.classList.contains("hot"));
const side = root.querySelector("[data-line-side]");
const told = root.querySelector("[data-line-told]");
const onlyHot = root.querySelector("#only-hot");
let here = null;

const number = (line) => Number(line.dataset.line);
const note = (line) => document.getElementById(`line-${line.dataset.line}`);

function show(line, { scroll = true, focus = false, keep = true } = {}) {
  here?.classList.remove("here");
  here?.querySelector("a").removeAttribute("aria-current");
  here = line;
  line.classList.add("here");
  line.querySelector("a").setAttribute("aria-current", "true");
  for (const each of side.querySelectorAll("[data-note]")) each.hidden = each !== note(line);
  told.hidden = Boolean(note(line));
  told.textContent = told.hidden ? "" : `Line ${line.querySelector("a").getAttribute("aria-label")}.`;
  if (scroll) reveal(line, keep);
  if (focus) line.querySelector("a").focus({ preventScroll: true });
  if (keep) history.replaceState(null, "", `#L${line.dataset.line}`);
}

// The listing scrolls, and only up and down; the page does too when somebody asked and the listing is out of sight.
function reveal(line, asked) {
  const box = line.closest(".code");
  box.scrollTop += line.getBoundingClientRect().top - box.getBoundingClientRect().top - box.clientHeight / 3;
  if (asked) box.scrollIntoView({ block: "nearest" });
}

function step(by) {
  if (!hot.length) return;
  const at = here ? number(here) : 0;
  const ahead = by > 0 ? hot.find((line) => number(line) > at) : hot.findLast((line) => number(line) < at);
  show(ahead ?? (by > 0 ? hot[0] : hot.at(-1)), { focus: true });
}

function fromAddress() {
  const name = decodeURIComponent(location.hash.slice(1));
  const target = name && document.getElementById(name);
  const wanted = target?.closest?.("[data-note]")?.dataset.note ?? (name.match(/^L(\d+)$/) ?? [])[1];
  const line = lines.find((each) => each.dataset.line === wanted);
  if (line) show(line, { keep: false });
  if (line && name.startsWith("S")) root.scrollIntoView();
  return Boolean(line);
}

root.querySelector(".code")?.addEventListener("click", (event) => {
  const line = event.target.closest("li[data-line]");
  if (!line || getSelection().toString()) return;
  event.preventDefault();
  show(line, { scroll: false, focus: true });
});
root.addEventListener("focusin", (event) => {
  const line = event.target.closest(".code li[data-line]");
  if (line && line !== here) show(line, { scroll: false });
});
root.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("select, textarea, input[type=text]")) return;
  if (event.key === "n" || event.key === "p") {
    event.preventDefault();
    step(event.key === "n" ? 1 : -1);
  }
});
for (const button of root.querySelectorAll("[data-step]")) {
  button.hidden = hot.length === 0;
  button.addEventListener("click", () => step(Number(button.dataset.step)));
}
onlyHot?.addEventListener("change", () => here && reveal(here, true));
addEventListener("hashchange", fromAddress);
side.dataset.live = "";
// The costliest line, unless the address names one.
if (!fromAddress() && hot.length) {
  const first = side.querySelector("[data-note]");
  show(lines.find((line) => line.dataset.line === first?.dataset.note) ?? hot[0], { scroll: true, keep: false });
}
