// Gentle polling: <div data-poll hx-get="..." hx-trigger="every 2s, resume" hx-swap="outerHTML">.
// A hidden tab asks for nothing; it catches up when it is seen again. The server ends it with status 286, or by
// sending the part without hx-get; 204 means that nothing has changed.
document.addEventListener("htmx:beforeRequest", (event) => {
  if (document.hidden && event.target.matches("[data-poll]")) event.preventDefault();
});

document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  for (const part of document.querySelectorAll("[data-poll][hx-get]")) window.htmx.trigger(part, "resume");
});

// A page that has lost its server says so, and says when it is back.
const told = () => document.getElementById("offline");
document.addEventListener("htmx:sendError", (event) => {
  if (!event.target.matches("[data-poll]") || told()) return;
  const notice = document.createElement("p");
  notice.id = "offline";
  notice.className = "notice tone-warn";
  notice.setAttribute("role", "status");
  notice.textContent = "The server does not answer. What you see may be old; this page keeps asking.";
  event.target.before(notice);
});
document.addEventListener("htmx:afterRequest", (event) => {
  if (event.detail.successful) told()?.remove();
});
