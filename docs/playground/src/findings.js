// The findings as cards beside the editor.

export function showFindings(list, findings, { select, mark }) {
  list.replaceChildren(...findings.map((finding) => card(finding, { select, mark })));
}

export function summaryOf(findings) {
  const errors = findings.filter(({ kind }) => kind !== "note").length;
  if (!errors) return "No findings";
  return errors === 1 ? "1 finding" : `${errors} findings`;
}

function card(finding, { select, mark }) {
  const element = made("article", `card ${finding.kind}`);
  const head = made("header");
  const code = made("a", "code", finding.code);
  code.href = `../codes/${finding.code.toLowerCase()}/`;
  code.title = finding.summary;
  code.target = "_blank";
  head.append(code, made("span", "name", finding.name), place(finding, select));
  element.append(head, message(finding.message));
  const places = [...finding.marks, ...finding.related];
  if (places.length) {
    const details = made("ul", "places");
    for (const each of places) {
      const item = made("li");
      item.append(place(each, select), message(each.message, "span"));
      item.addEventListener("mouseenter", () => mark([each]));
      item.addEventListener("mouseleave", () => mark([finding, ...places]));
      details.append(item);
    }
    element.append(details);
  }
  if (finding.help) {
    const help = message(finding.help);
    help.classList.add("help");
    element.append(help);
  }
  element.addEventListener("mouseenter", () => mark([finding, ...places]));
  element.addEventListener("mouseleave", () => mark([]));
  return element;
}

function place(range, select) {
  const button = made("button", "place", `line ${range.line}`);
  button.type = "button";
  button.addEventListener("click", () => select(range));
  return button;
}

// A message; what stands between backquotes is code.
function message(text, tag = "p") {
  const element = made(tag, "message");
  for (const [index, part] of text.split("`").entries()) {
    element.append(index % 2 ? made("code", "", part) : part);
  }
  return element;
}

function made(tag, className = "", text = "") {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.textContent = text;
  return element;
}
