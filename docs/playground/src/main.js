// The page: the editor, the switches, and the findings.

import { Checker } from "./checker.js";
import { createEditor } from "./editor.js";
import { showFindings, summaryOf } from "./findings.js";
import { fragmentOf, readFragment } from "./share.js";
import EXAMPLES from "examples";

const PAUSE = 120;

const element = (id) => document.getElementById(id);
const choice = (name) => document.querySelector(`input[name=${name}]:checked`).value;

let timer;
const editor = createEditor(
  element("editor"),
  () => {
    const example = element("example");
    if (example.value !== "" && editor.program !== exampleOf(example.value)) example.value = "";
    clearTimeout(timer);
    timer = setTimeout(check, PAUSE);
  },
  (explained) => element("here").replaceChildren(...explained),
);

const checker = new Checker({
  ready() {
    setStatus("Python is ready.");
  },
  findings({ findings, milliseconds }) {
    editor.showFindings(findings);
    showFindings(element("findings"), findings, {
      select: (range) => editor.select(range),
      mark: (ranges) => editor.showMarks(ranges),
    });
    element("summary").textContent = summaryOf(findings);
    setStatus(`Checked in ${Math.round(milliseconds)} ms.`);
    setState("checked");
    performance.mark("findings");
  },
  dims({ dims }) {
    editor.showDims(dims);
    setState("shown");
    performance.mark("dims");
    keepForOffline();
  },
  failed(message) {
    element("summary").textContent = "The program was not checked";
    setStatus(message);
    setState("failed");
  },
});

function check() {
  clearTimeout(timer);
  if (document.body.dataset.state !== "loading") setState("checking");
  performance.mark("asked");
  checker.check(editor.program, choice("evidence"), choice("semantics"));
}

function setState(state) {
  document.body.dataset.state = state;
}

function setStatus(text) {
  element("status").textContent = text;
}

function exampleOf(name) {
  return EXAMPLES.find((example) => example.name === name)?.program;
}

function setSwitches({ evidence = "declared", semantics = "namecheck" }) {
  for (const [name, value] of Object.entries({ evidence, semantics })) {
    document.querySelector(`input[name=${name}][value="${value}"]`).checked = true;
  }
}

function showExample(name, { evidence, semantics } = {}) {
  const example = EXAMPLES.find((each) => each.name === name) ?? EXAMPLES[0];
  setSwitches({ evidence: evidence ?? example.evidence, semantics });
  editor.program = example.program;
  element("example").value = example.name;
  check();
}

async function showFragment() {
  const fragment = await readFragment(location.hash);
  if (fragment.program === undefined) {
    showExample(fragment.example, fragment);
    return;
  }
  setSwitches(fragment);
  editor.program = fragment.program;
  element("example").value = "";
  check();
}

async function share() {
  const fragment = await fragmentOf({
    program: editor.program,
    example: element("example").value,
    evidence: choice("evidence"),
    semantics: choice("semantics"),
  });
  history.replaceState(null, "", fragment);
  let copied = true;
  await navigator.clipboard.writeText(location.href).catch(() => {
    copied = false;
  });
  const button = element("share");
  button.textContent = copied ? "Link copied" : "Link in the address";
  setTimeout(() => {
    button.textContent = "Share";
  }, 2000);
}

let kept = false;
function keepForOffline() {
  if (kept || !("serviceWorker" in navigator)) return;
  kept = true;
  navigator.serviceWorker.register("service-worker.js").catch((error) => console.warn(error));
}

const custom = new Option("your program", "");
custom.hidden = true;
element("example").append(...EXAMPLES.map(({ title, name }) => new Option(title, name)), custom);
element("example").addEventListener("change", (event) => {
  history.replaceState(null, "", location.pathname);
  showExample(event.target.value);
});
for (const name of ["evidence", "semantics"]) element(name).addEventListener("change", check);
element("share").addEventListener("click", share);
element("theme").addEventListener("click", () => {
  const root = document.documentElement;
  root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
  localStorage.setItem("namecheck-theme", root.dataset.theme);
});
addEventListener("hashchange", showFragment);
showFragment();
