// What opens over the page: menus, dialogs, and the papers that tell where a number came from.
const menus = () => document.querySelectorAll("details[data-menu][open]");

document.addEventListener("click", (event) => {
  for (const menu of menus()) if (!menu.contains(event.target)) menu.open = false;
  const opener = event.target.closest("[data-open]");
  // Browsers without commandfor.
  if (opener && !("commandForElement" in opener)) document.getElementById(opener.dataset.open).showModal();
  if (event.target.matches("dialog")) event.target.close(); // a click beside it
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of menus()) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
});

// A mouse that rests on a number opens its paper too, and a click then pins it instead of closing it again.
// Tap and Enter do without us.
const paper = (event) =>
  event.pointerType === "mouse" && event.target.matches?.("[data-why]") ? event.target.nextElementSibling : null;

document.addEventListener("pointerenter", (event) => paper(event)?.togglePopover(true), true);
document.addEventListener("pointerleave", (event) => {
  const open = paper(event);
  if (open && !("pinned" in open.dataset)) open.hidePopover();
}, true);
document.addEventListener("click", (event) => {
  const open = paper(event);
  if (!open?.matches(":popover-open")) return;
  event.preventDefault();
  open.dataset.pinned = "";
  open.addEventListener("toggle", () => delete open.dataset.pinned, { once: true });
});
