// Unpack the program of @sparticuz/chromium and the libraries that it needs: node unpack.js FROM TO
const fs = require("node:fs"), path = require("node:path"), zlib = require("node:zlib");
const [from, to] = process.argv.slice(2);
for (const name of ["chromium", "al2023.tar"]) {
  const packed = fs.readFileSync(path.join(from, `${name}.br`));
  fs.writeFileSync(path.join(to, name), zlib.brotliDecompressSync(packed), { mode: 0o755 });
}
