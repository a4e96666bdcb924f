// Messages float, can be dismissed, and go by themselves unless they tell of trouble or somebody is reading them.
// The bell in the app bar shows them again.
const STAY_MS = 8000;

function arm(toasts) {
  if (!toasts) return;
  toasts.dataset.live = "";
  for (const toast of toasts.querySelectorAll(".notice")) {
    const button = toast.querySelector("[data-dismiss]");
    button.hidden = false;
    button.addEventListener("click", () => toast.remove());
    if (!("stay" in toast.dataset)) setTimeout(() => leave(toast), STAY_MS);
  }
}

function leave(toast) {
  if (toast.matches(":hover, :focus-within")) setTimeout(() => leave(toast), 1000);
  else toast.remove();
}

arm(document.querySelector("[data-toasts]"));
document.addEventListener("htmx:oobAfterSwap", (event) => {
  if (event.target.matches("[data-toasts]")) arm(event.target);
});
