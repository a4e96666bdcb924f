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

// A mouse that rests on a number opens its paper too; click, tap and Enter do without us.
function hover(event, visible) {
  if (event.pointerType !== "mouse" || !event.target.matches?.("[data-why]")) return;
  event.target.nextElementSibling.togglePopover(visible);
}
document.addEventListener("pointerenter", (event) => hover(event, true), true);
document.addEventListener("pointerleave", (event) => hover(event, false), true);
