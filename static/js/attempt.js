// The attempt page: what belongs together lights up. An evidence item lights its lines and the changes that cite it; a
// change lights itself and its evidence. Pointing shows it for a moment; a click or the keyboard keeps it, and the
// address with it (#S1). Escape shows everything again. Without this script the same addresses are plain anchors.
const root = document.querySelector("[data-attempt]");
const parts = [...root.querySelectorAll("[data-evidence]")];
const told = root.querySelector("[data-told]");
const showAll = root.querySelector("[data-show-all]");
const wide = matchMedia("(min-width: 64rem)");
let kept = null; // {label} or {change}, as the address says
let resting = false; // after a click, what scrolls under a mouse that rests is not pointed at

const labels = (part) => part.dataset.evidence.split(" ");
const item = (label) => parts.find((part) => part.dataset.item === label);

// What is lit by `what`: a label's own parts, or one change with the evidence that it cites.
function belongs(what) {
  if (what.label) return (part) => labels(part).includes(what.label);
  const cited = new Set(parts.filter((part) => part.dataset.change === what.change).flatMap(labels));
  return (part) => (part.dataset.change ? part.dataset.change === what.change : labels(part).some((each) => cited.has(each)));
}

function light(what) {
  root.classList.toggle("lit", Boolean(what));
  const on = what ? belongs(what) : () => false;
  for (const part of parts) part.classList.toggle("on", on(part));
}

function keep(what, address) {
  kept = what;
  light(what);
  showAll.hidden = !what;
  for (const link of root.querySelectorAll(".item-head .chip[aria-current]")) link.removeAttribute("aria-current");
  if (what?.label) item(what.label).querySelector(".chip").setAttribute("aria-current", "true");
  if (address !== undefined && address !== location.hash) history.pushState(null, "", address || location.pathname + location.search);
  told.textContent = what ? say(what) : "";
}

function say(what) {
  const lines = root.querySelectorAll(".diff-cell.on").length;
  const changes = root.querySelectorAll(".change-note.on").length;
  return `${what.label ?? `Change ${what.change}`}: ${lines} ${lines === 1 ? "line" : "lines"}, ${changes} ${changes === 1 ? "change" : "changes"}.`;
}

// The lines that a label lights, or the change itself where the evidence has no lines.
function lines() {
  return root.querySelector(".diff-cell.on") ?? root.querySelector(".change-note.on");
}

function inSight(element) {
  const box = element.getBoundingClientRect();
  return box.top > 60 && box.bottom < innerHeight;
}

// Evidence and lines stand side by side on wide screens, so both are brought into sight.
function reveal(what) {
  if (what.label) {
    item(what.label).closest("section").scrollTop = 0;
    item(what.label).scrollIntoView({ block: "nearest" });
  }
  const first = lines();
  if (wide.matches && first && !inSight(first)) first.scrollIntoView({ block: "center" });
}

function fromAddress() {
  const name = decodeURIComponent(location.hash.slice(1));
  const change = name.match(/^change-(\d+)$/)?.[1];
  const what = item(name) ? { label: name } : change && document.getElementById(name) ? { change } : null;
  if (what || !/L\d+$/.test(name)) keep(what); // a line's address leaves what is lit as it is
  if (what?.label) reveal(what);
}

function meant(target) {
  const chip = target.closest?.("a.chip");
  const label = chip ? chip.hash.slice(1) : target.closest?.("[data-item]")?.dataset.item;
  if (label && item(label)) return { label };
  const change = target.closest?.("[data-change]")?.dataset.change;
  return change ? { change } : null;
}

root.addEventListener("click", (event) => {
  const chip = event.target.closest("a.chip");
  const card = event.target.closest("[data-item]");
  if (event.ctrlKey || event.metaKey || event.shiftKey || !(chip || card)) return;
  if (!chip && (event.target.closest("a, button") || getSelection().toString())) return;
  const label = chip ? chip.hash.slice(1) : card.dataset.item;
  if (!item(label)) return;
  event.preventDefault();
  keep({ label }, `#${label}`);
  reveal({ label });
  if (chip && !card) item(label).querySelector(".chip").focus({ preventScroll: true });
});
root.addEventListener("pointerdown", () => (resting = true));
root.addEventListener("pointermove", (event) => {
  if (event.movementX || event.movementY) resting = false;
});
root.addEventListener("pointerover", (event) => {
  if (event.pointerType === "mouse" && !resting) light(meant(event.target) ?? kept);
});
root.addEventListener("pointerleave", () => light(kept));
root.addEventListener("focusin", (event) => {
  const card = event.target.closest("[data-item]");
  if (!card || !event.target.matches(".chip:focus-visible") || kept?.label === card.dataset.item) return;
  kept = { label: card.dataset.item };
  history.replaceState(null, "", `#${kept.label}`);
  keep(kept);
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && kept) keep(null, "");
});
showAll.addEventListener("click", () => keep(null, ""));
addEventListener("popstate", fromAddress);
addEventListener("hashchange", fromAddress);
fromAddress();
