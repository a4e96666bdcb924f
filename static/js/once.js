// <form data-once>: a second click does not send it again. The server would notice too.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.matches("[data-once]") || event.defaultPrevented) return;
  if (form.dataset.once === "sent") event.preventDefault();
  form.dataset.once = "sent";
});
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("[data-once]")) form.dataset.once = "";
});
