// A drop zone says what is about to be sent. The browser's own file field in it does the work.
const size = (bytes) => {
  const [scale, unit] = [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]].find(([least]) => bytes >= least) ?? [1, "B"];
  return `${(bytes / scale).toLocaleString("en", { maximumSignificantDigits: 3 })} ${unit}`;
};

function line(name, text) {
  const item = document.createElement("li");
  for (const words of [name, text]) item.append(Object.assign(document.createElement("span"), { textContent: words }));
  return item;
}

function list(zone) {
  const files = [...zone.querySelector("input[type=file]").files];
  const sum = files.reduce((total, file) => total + file.size, 0);
  const shown = files.slice(0, 6).map((file) => line(file.webkitRelativePath || file.name, size(file.size)));
  if (files.length > 1) shown.push(line(`${files.length} files in all`, size(sum)));
  zone.querySelector("[data-drop-files]").replaceChildren(...shown);
}

for (const zone of document.querySelectorAll("[data-drop]")) {
  const input = zone.querySelector("input[type=file]");
  input.addEventListener("change", () => list(zone));
  for (const name of ["dragenter", "dragover", "dragleave", "drop"]) {
    zone.addEventListener(name, (event) => {
      event.preventDefault();
      zone.classList.toggle("over", name === "dragenter" || name === "dragover");
    });
  }
  zone.addEventListener("drop", (event) => {
    input.files = event.dataTransfer.files;
    input.dispatchEvent(new Event("change", { bubbles: true }));
  });
}
