// Dims as chips. A name has the same hue wherever it is shown.

export function hueOf(name) {
  let hash = 2166136261;
  for (const letter of name) hash = Math.imul(hash ^ letter.codePointAt(0), 16777619);
  return ((hash >>> 0) % 24) * 15;
}

// `N=8 C=3`, or several such, separated by ` | `.
export function chips(dims) {
  const list = document.createElement("span");
  list.className = "dims";
  for (const [index, alternative] of dims.split(" | ").entries()) {
    if (index) list.append(text("or", "or"));
    const words = alternative.split(" ").filter(Boolean);
    if (!words.length) list.append(text("scalar", "no dims"));
    for (const word of words) list.append(chip(word));
  }
  return list;
}

// The same dims with fewer alternatives: those of the same names are one, without other sizes.
export function merged(dims) {
  const byNames = new Map();
  for (const alternative of dims.split(" | ")) {
    const words = alternative.split(" ").filter(Boolean);
    const names = words.map((word) => nameOf(word)).join(" ");
    const same = byNames.get(names) ?? words;
    byNames.set(
      names,
      words.map((word, index) => (word === same[index] ? word : nameOf(word))),
    );
  }
  return [...byNames.values()].map((words) => words.join(" ")).join(" | ");
}

function nameOf(word) {
  return word.split("=")[0];
}

function chip(word) {
  const [name, ...size] = word.split("=");
  const named = /^\p{XID_Start}\p{XID_Continue}*$/u.test(name) && name !== "_";
  const element = text(named ? "dim" : "dim unnamed", name);
  if (named) element.style.setProperty("--hue", hueOf(name));
  if (size.length) element.append(text("size", size.join("=")));
  return element;
}

function text(className, content) {
  const element = document.createElement("span");
  element.className = className;
  element.textContent = content;
  return element;
}
