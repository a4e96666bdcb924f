// SHA-256 in pieces (FIPS 180-4). The browser's own digest wants a whole file in memory, and https.
const PRIMES = [];
for (let n = 2; PRIMES.length < 64; n++) if (PRIMES.every((p) => n % p)) PRIMES.push(n);
const fraction = (root) => ((root - Math.floor(root)) * 2 ** 32) | 0;
const K = Int32Array.from(PRIMES, (p) => fraction(Math.cbrt(p)));
const START = PRIMES.slice(0, 8).map((p) => fraction(Math.sqrt(p)));

export class Sha256 {
  state = Int32Array.from(START);
  words = new Int32Array(64);
  rest = new Uint8Array(64);
  held = 0;
  length = 0;

  update(bytes) {
    this.length += bytes.length;
    let at = 0;
    if (this.held) {
      at = Math.min(64 - this.held, bytes.length);
      this.rest.set(bytes.subarray(0, at), this.held);
      this.held += at;
      if (this.held < 64) return;
      this.block(this.rest, 0);
    }
    for (; at + 64 <= bytes.length; at += 64) this.block(bytes, at);
    this.held = bytes.length - at;
    this.rest.set(bytes.subarray(at));
  }

  hex() {
    const bits = this.length * 8;
    const end = new Uint8Array(this.held < 56 ? 64 - this.held : 128 - this.held);
    end[0] = 0x80;
    new DataView(end.buffer).setUint32(end.length - 8, Math.floor(bits / 2 ** 32));
    new DataView(end.buffer).setUint32(end.length - 4, bits >>> 0);
    this.update(end);
    return Array.from(this.state, (word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
  }

  block(bytes, at) {
    const w = this.words;
    for (let i = 0; i < 16; i++, at += 4) {
      w[i] = (bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3];
    }
    for (let i = 16; i < 64; i++) {
      const x = w[i - 15];
      const y = w[i - 2];
      const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
      const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
      w[i] = (w[i - 16] + s0 + w[i - 7] + s1) | 0;
    }
    let [a, b, c, d, e, f, g, h] = this.state;
    for (let i = 0; i < 64; i++) {
      const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
      const t1 = (h + s1 + ((e & f) ^ (~e & g)) + K[i] + w[i]) | 0;
      const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
      const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + t1) | 0;
      d = c;
      c = b;
      b = a;
      a = (t1 + t2) | 0;
    }
    const s = this.state;
    for (const [i, word] of [a, b, c, d, e, f, g, h].entries()) s[i] = (s[i] + word) | 0;
  }
}
