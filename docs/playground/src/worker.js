// Python and the checker, in a worker: the page stays responsive while a program is checked.
//
// What comes from a snapshot of the memory of an interpreter that has checked a program already
// need not be started: the build makes it. Where a browser cannot use it, Python starts as usual.

import { install } from "./library.js";
import { loadPyodide } from "./pyodide/pyodide.mjs";

let bridge;
let waiting;
let busy = false;

self.onmessage = ({ data }) => {
  waiting = data;
  if (bridge) work();
};

async function work() {
  if (busy) return;
  busy = true;
  while (waiting) {
    const request = waiting;
    waiting = undefined;
    try {
      await answer(request);
    } catch (error) {
      self.postMessage({ kind: "failed", message: String(error.message ?? error) });
    }
  }
  busy = false;
}

// The findings first, then the dims; no dims of a program that has changed since.
async function answer({ number, program, evidence, semantics }) {
  for (const kind of ["findings", "dims"]) {
    const start = performance.now();
    const found = JSON.parse(bridge[kind](program, evidence, semantics));
    const milliseconds = performance.now() - start;
    self.postMessage({ kind, number, [kind]: found, milliseconds });
    await turn();
    if (waiting) return;
  }
}

// Lets messages in that came while Python ran.
function turn() {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

async function start() {
  const texts = fetch(new URL("library.json", import.meta.url)).then((got) => got.json());
  let python;
  try {
    python = await loadPyodide({ ...OPTIONS, _loadSnapshot: snapshot() });
  } catch (error) {
    console.warn("Python starts without its snapshot:", error);
    python = await loadPyodide(OPTIONS);
  }
  install(python, await texts);
  bridge = python.pyimport("bridge");
  self.postMessage({ kind: "ready" });
  work();
}

const OPTIONS = { indexURL: new URL("pyodide/", import.meta.url).href };

async function snapshot() {
  const response = await fetch(new URL("snapshot.bin.gz", import.meta.url));
  const stream = response.body.pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

start().catch((error) => {
  self.postMessage({ kind: "failed", message: String(error.message ?? error) });
});
