// What a person has scrolled to or opened stays so when htmx replaces the part around it. Elements need an id.
const kept = new Map();

document.addEventListener("htmx:beforeSwap", (event) => {
  for (const log of event.target.querySelectorAll("[data-keep-scroll][id]")) kept.set(log.id, log.scrollTop);
  for (const details of event.target.querySelectorAll("details[id]")) kept.set(details.id, details.open);
});

document.addEventListener("htmx:afterSettle", () => {
  for (const [id, state] of kept) {
    const element = document.getElementById(id);
    if (element && typeof state === "boolean") element.open = state;
    else if (element) element.scrollTop = state;
  }
  kept.clear();
});
