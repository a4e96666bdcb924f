// Files as one tar, without reading them: a Blob of headers and of the files themselves, which the browser reads as
// it sends them. Names go into pax headers, which hold any length and any language.
const BLOCK = 512;
const encoder = new TextEncoder();

function header(name, bytes, type) {
  const block = new Uint8Array(BLOCK);
  const put = (text, at) => block.set(encoder.encode(text), at);
  put(name, 0);
  put("0000644\0", 100);
  put("0000000\0", 108);
  put("0000000\0", 116);
  put(bytes.toString(8).padStart(11, "0") + "\0", 124);
  put("00000000000\0", 136);
  put("        ", 148);
  put(type, 156);
  put("ustar\0" + "00", 257);
  const sum = block.reduce((total, byte) => total + byte, 0);
  put(sum.toString(8).padStart(6, "0") + "\0 ", 148);
  return block;
}

const padding = (bytes) => new Uint8Array((BLOCK - (bytes % BLOCK)) % BLOCK);

// "LENGTH path=NAME\n", where LENGTH counts itself too.
function record(path) {
  const rest = encoder.encode(` path=${path}\n`).length;
  let length = rest + String(rest).length;
  length = rest + String(length).length;
  return encoder.encode(`${length} path=${path}\n`);
}

// entries: {path, file}; a file of null stands for an empty one.
export function tar(entries) {
  const parts = [];
  for (const { path, file } of entries) {
    const name = record(path);
    parts.push(header("name", name.length, "x"), name, padding(name.length));
    parts.push(header("file", file?.size ?? 0, "0"), ...(file ? [file, padding(file.size)] : []));
  }
  return new Blob([...parts, new Uint8Array(2 * BLOCK)]);
}
