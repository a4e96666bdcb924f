// Light, dark or as the system: without a page load. The form works without this script too.
const YEAR = 365 * 24 * 3600;

function choose(theme) {
  const kept = theme === "system" ? "theme=; max-age=0" : `theme=${theme}; max-age=${YEAR}`;
  document.cookie = `${kept}; path=/; samesite=lax`;
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

for (const form of document.querySelectorAll("[data-theme-form]")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    choose(event.submitter.value);
    for (const button of document.querySelectorAll("[data-theme-form] [name=theme]")) {
      button.setAttribute("aria-pressed", String(button.value === event.submitter.value));
    }
    document.dispatchEvent(new CustomEvent("themechange"));
  });
}
