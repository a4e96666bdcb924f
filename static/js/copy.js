// data-copy="ID": copies the text (or the value) of the element with that id. Hidden where there is no script.
function show(root) {
  for (const button of root.querySelectorAll("[data-copy][hidden]")) button.hidden = false;
}

async function copy(button) {
  const source = document.getElementById(button.dataset.copy);
  const words = button.querySelector("span");
  const before = (button.dataset.words ??= words.textContent);
  try {
    await navigator.clipboard.writeText(source.value ?? source.textContent);
    words.textContent = "Copied";
  } catch {
    // No clipboard on plain http or when it is forbidden: select the text, so that Ctrl-C works.
    getSelection().selectAllChildren(source);
    words.textContent = "Selected: press Ctrl-C";
  }
  setTimeout(() => (words.textContent = before), 2500);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-copy]");
  if (button) copy(button);
});
document.addEventListener("htmx:afterSwap", (event) => show(event.target));
show(document);
