// A drop zone takes files and, where it may, whole folders. What lies in it: chosen(zone), a list of {path, file}.
// Without this script the browser's own file field does the work.
import { size } from "./amounts.js";

const held = new WeakMap();
export const chosen = (zone) => held.get(zone) ?? [];

function line(name, text) {
  const item = document.createElement("li");
  for (const words of [name, text]) item.append(Object.assign(document.createElement("span"), { textContent: words }));
  return item;
}

function hold(zone, files) {
  held.set(zone, files);
  const sum = files.reduce((total, { file }) => total + file.size, 0);
  const shown = files.slice(0, 6).map(({ path, file }) => line(path, size(file.size)));
  if (files.length > 1) shown.push(line(`${files.length.toLocaleString("en")} files in all`, size(sum)));
  zone.querySelector("[data-drop-files]").replaceChildren(...shown);
}

const listed = (files) => [...files].map((file) => ({ path: file.webkitRelativePath || file.name, file }));

// Everything below a dropped entry. A folder tells its entries in portions, the last of them empty.
async function below(entry) {
  const path = entry.fullPath.replace(/^\//, "");
  if (entry.isFile) return [{ path, file: await new Promise((done, failed) => entry.file(done, failed)) }];
  const found = [];
  const reader = entry.createReader();
  for (;;) {
    const portion = await new Promise((done, failed) => reader.readEntries(done, failed));
    if (!portion.length) return found;
    for (const inner of portion) found.push(...(await below(inner)));
  }
}

async function dropped(zone, data) {
  const entries = [...data.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.some((entry) => entry.isDirectory)) return listed(data.files);
  if (!("folder" in zone.dataset)) return [];
  return (await Promise.all(entries.map(below))).flat();
}

function arm(zone) {
  const [input, folder] = zone.querySelectorAll("input[type=file]");
  input.addEventListener("change", () => hold(zone, listed(input.files)));
  if (folder) {
    folder.parentElement.hidden = false;
    folder.addEventListener("change", () => {
      input.value = "";
      hold(zone, listed(folder.files));
    });
  }
  for (const name of ["dragenter", "dragover", "dragleave", "drop"]) {
    zone.addEventListener(name, (event) => {
      event.preventDefault();
      zone.classList.toggle("over", name === "dragenter" || name === "dragover");
    });
  }
  zone.addEventListener("drop", async (event) => {
    const files = await dropped(zone, event.dataTransfer);
    input.value = "";
    hold(zone, input.multiple ? files : files.slice(0, 1));
  });
}

for (const zone of document.querySelectorAll("[data-drop]")) arm(zone);
