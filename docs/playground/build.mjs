// Builds the playground into dist/: `npm ci && npm run build`.
//
// Python runs here as it does in the browser, checks the examples, and the snapshot of its memory
// goes into the playground, so that the browser starts where the build ended.

import { createHash } from "node:crypto";
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { loadPyodide } from "pyodide";
import { install } from "./src/library.js";

const HERE = dirname(fileURLToPath(import.meta.url));
const ROOT = join(HERE, "..", "..");
const DIST = join(HERE, "dist");
const PYODIDE = dirname(fileURLToPath(import.meta.resolve("pyodide")));
// The parts of the package that check no source: they need torch, or libcst.
const OMITTED = new Set(
  ["runtime", "migration", "compare"].map((name) => join(ROOT, "namecheck", name)),
);

async function examples() {
  const listed = JSON.parse(await readFile(join(HERE, "examples.json"), "utf8"));
  return Promise.all(
    listed.map(async ({ file, ...example }) => ({
      evidence: "declared",
      ...example,
      program: await readFile(join(ROOT, file), "utf8"),
    })),
  );
}

async function bundle(examples) {
  const virtual = {
    name: "examples",
    setup(build) {
      build.onResolve({ filter: /^examples$/ }, () => ({ path: "examples", namespace: "data" }));
      build.onLoad({ filter: /.*/, namespace: "data" }, () => ({
        contents: JSON.stringify(examples),
        loader: "json",
      }));
    },
  };
  await build({
    entryPoints: [join(HERE, "src", "main.js"), join(HERE, "src", "worker.js")],
    outdir: DIST,
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    legalComments: "none",
    external: ["./pyodide/pyodide.mjs"],
    plugins: [virtual],
    logLevel: "warning",
  });
}

async function* filesOf(folder) {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (OMITTED.has(path) || entry.name === "__pycache__") continue;
    if (entry.isDirectory()) yield* filesOf(path);
    else yield path;
  }
}

// The texts of the package by their paths, and the module that answers the page.
async function library() {
  const texts = {};
  for await (const path of filesOf(join(ROOT, "namecheck"))) {
    texts[relative(ROOT, path)] = await readFile(path, "utf8");
  }
  texts["bridge.py"] = await readFile(join(HERE, "bridge.py"), "utf8");
  return texts;
}

// Pyodide restores no snapshot that is larger than the memory it begins with (pyodide#6254).
async function growing(path) {
  const text = await readFile(path, "utf8");
  const [before, after, ...more] = text.split("Module.HEAP8.set(t),");
  if (after === undefined || more.length)
    throw new Error(`${path} restores snapshots in another way`);
  await writeFile(path, `${before}Module.growMemory(t.length),Module.HEAP8.set(t),${after}`);
}

// The memory of an interpreter that has imported the checker and checked the examples.
async function snapshot(texts, examples) {
  const python = await loadPyodide({ _makeSnapshot: true });
  install(python, texts);
  python.globals.set("examples", JSON.stringify(examples));
  python.runPython(`
import bridge, gc, json

for example in json.loads(examples):
    for evidence in ("declared", "observed", "claimed"):
        for semantics in ("namecheck", "torch-2.12"):
            bridge.findings(example["program"], evidence, semantics)
            bridge.dims(example["program"], evidence, semantics)
del example, examples, evidence, semantics
gc.collect()
`);
  return python.makeMemorySnapshot();
}

async function main() {
  await rm(DIST, { recursive: true, force: true });
  await mkdir(join(DIST, "pyodide"), { recursive: true });
  const programs = await examples();
  await bundle(programs);
  for (const name of ["index.html", "style.css", "theme.js", "icon.svg"]) {
    await cp(join(HERE, name), join(DIST, name));
  }
  for (const name of await readdir(PYODIDE)) {
    if (
      /^(pyodide(\.asm)?\.mjs|pyodide\.asm\.wasm|python_stdlib\.zip|pyodide-lock\.json)$/.test(name)
    ) {
      await cp(join(PYODIDE, name), join(DIST, "pyodide", name));
    }
  }
  await growing(join(DIST, "pyodide", "pyodide.asm.mjs"));
  const texts = await library();
  await writeFile(join(DIST, "library.json"), JSON.stringify(texts));
  const memory = await snapshot(texts, programs);
  await writeFile(join(DIST, "snapshot.bin.gz"), gzipSync(memory, { level: 9 }));
  await licences();
  await serviceWorker();
}

// The licences of what the playground is made of.
async function licences() {
  const { packages } = JSON.parse(await readFile(join(HERE, "package-lock.json"), "utf8"));
  const parts = [await readFile(join(ROOT, "LICENSE"), "utf8")];
  for (const [path, { dev, license, version }] of Object.entries(packages)) {
    if (!path || dev) continue;
    const name = path.replace(/^.*node_modules\//, "");
    const text = await readFile(join(HERE, path, "LICENSE"), "utf8").catch(() => "");
    parts.push(`${name} ${version} (${license})\n\n${text}`);
  }
  await writeFile(join(DIST, "licences.txt"), parts.join(`\n${"-".repeat(72)}\n\n`));
}

// The service worker keeps every file; its version is that of their contents.
async function serviceWorker() {
  const hash = createHash("sha256");
  const files = [];
  for await (const path of filesOf(DIST)) {
    hash.update(await readFile(path));
    files.push(relative(DIST, path));
  }
  await build({
    entryPoints: [join(HERE, "src", "service-worker.js")],
    outdir: DIST,
    minify: true,
    define: {
      VERSION: JSON.stringify(hash.digest("hex").slice(0, 16)),
      FILES: JSON.stringify(["./", ...files.sort()]),
    },
  });
}

await main();
