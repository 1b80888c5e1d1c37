// The editor: findings in the gutter and under the text, dims on hover and at the ends of lines.

import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import {
  bracketMatching,
  HighlightStyle,
  indentOnInput,
  indentUnit,
  syntaxHighlighting,
} from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { EditorState, StateEffect, StateField } from "@codemirror/state";
import {
  Decoration,
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  hoverTooltip,
  keymap,
  lineNumbers,
  WidgetType,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { chips, merged } from "./dims.js";

const setLines = StateEffect.define();
const setExpressions = StateEffect.define();
const setMarks = StateEffect.define();

class LineDims extends WidgetType {
  constructor(dims) {
    super();
    this.dims = dims;
  }

  eq(other) {
    return other.dims === this.dims;
  }

  toDOM() {
    const element = chips(this.dims);
    element.classList.add("line-dims");
    element.setAttribute("aria-hidden", "true");
    return element;
  }

  ignoreEvent() {
    return true;
  }
}

// Decorations that move with the text until the next answer replaces them.
function decorations(effect, ranges) {
  return StateField.define({
    create: () => Decoration.none,
    update(value, transaction) {
      let updated = value.map(transaction.changes);
      for (const each of transaction.effects) {
        if (each.is(effect)) updated = Decoration.set(ranges(each.value, transaction.state), true);
      }
      return updated;
    },
    provide: (field) => EditorView.decorations.from(field),
  });
}

const lineDims = decorations(setLines, (lines, state) => {
  const last = new Map(lines.filter(({ line }) => line <= state.doc.lines).map((l) => [l.line, l]));
  return [...last.values()].map(({ line, dims }) =>
    Decoration.widget({ widget: new LineDims(merged(dims)), side: 1 }).range(
      state.doc.line(line).to,
    ),
  );
});

const marked = Decoration.mark({ class: "marked" });
const marks = decorations(setMarks, (ranges, state) =>
  ranges
    .map(({ from, to }) => [from, Math.min(to, state.doc.length)])
    .filter(([from, to]) => from < to)
    .map(([from, to]) => marked.range(from, to)),
);

// The expressions with their dims; none that an edit has touched.
const expressions = StateField.define({
  create: () => [],
  update(value, transaction) {
    let updated = value;
    if (transaction.docChanged) {
      updated = value.flatMap((expression) => {
        if (transaction.changes.touchesRange(expression.from, expression.to)) return [];
        const from = transaction.changes.mapPos(expression.from);
        return [{ ...expression, from, to: from + expression.to - expression.from }];
      });
    }
    for (const each of transaction.effects) if (each.is(setExpressions)) updated = each.value;
    return updated;
  },
});

// The smallest expression with dims that has a position in it.
function innermost(state, position) {
  return state
    .field(expressions)
    .filter(({ from, to }) => from <= position && position < to)
    .sort((one, other) => one.to - one.from - (other.to - other.from))[0];
}

// An expression and its dims; several alternatives are all shown.
function explained(state, { from, to, dims }) {
  const source = document.createElement("code");
  const text = state.sliceDoc(from, to).replace(/\s+/g, " ");
  source.textContent = text.length > 60 ? `${text.slice(0, 59)}…` : text;
  return [source, chips(dims)];
}

const hover = hoverTooltip(
  (view, position) => {
    const around = innermost(view.state, position);
    if (!around) return null;
    return {
      pos: around.from,
      end: around.to,
      above: true,
      create() {
        const dom = document.createElement("div");
        dom.className = "hover";
        dom.append(...explained(view.state, around));
        return { dom };
      },
    };
  },
  { hoverTime: 120 },
);

const highlighting = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: "var(--code-keyword)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--code-string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--code-number)" },
  { tag: tags.comment, color: "var(--code-comment)", fontStyle: "italic" },
  {
    tag: [tags.function(tags.definition(tags.variableName)), tags.definition(tags.className)],
    color: "var(--code-definition)",
  },
  { tag: tags.function(tags.variableName), color: "var(--code-call)" },
  { tag: tags.function(tags.propertyName), color: "var(--code-call)" },
]);

// `onCursor` gets what is to be shown about the expression at the cursor: nodes, or none.
export function createEditor(parent, onChange, onCursor) {
  const view = new EditorView({
    parent,
    state: EditorState.create({
      extensions: [
        lineNumbers(),
        lintGutter(),
        history(),
        drawSelection(),
        indentOnInput(),
        indentUnit.of("    "),
        bracketMatching(),
        highlightActiveLine(),
        highlightActiveLineGutter(),
        python(),
        syntaxHighlighting(highlighting),
        lineDims,
        marks,
        expressions,
        hover,
        EditorView.contentAttributes.of({
          "aria-label": "Program",
          spellcheck: "false",
          tabindex: "0",
        }),
        keymap.of([...defaultKeymap, ...historyKeymap, ...lintKeymap, indentWithTab]),
        EditorView.updateListener.of(({ docChanged, startState, state }) => {
          if (docChanged) onChange();
          const cursor = state.selection.main.head;
          const here = innermost(state, cursor);
          if (here === innermost(startState, startState.selection.main.head)) return;
          onCursor(here ? explained(state, here) : []);
        }),
      ],
    }),
  });
  return new Editor(view);
}

const SEVERITIES = { finding: "error", file: "error", lint: "warning", note: "info" };

class Editor {
  constructor(view) {
    this.view = view;
  }

  get program() {
    return this.view.state.doc.toString();
  }

  set program(text) {
    const { state } = this.view;
    this.view.dispatch({
      changes: { from: 0, to: state.doc.length, insert: text },
      selection: { anchor: 0 },
      effects: [setLines.of([]), setExpressions.of([]), setMarks.of([])],
      scrollIntoView: true,
    });
  }

  showFindings(findings) {
    const { length } = this.view.state.doc;
    const diagnostics = findings.map((finding) => ({
      from: Math.min(finding.from, length),
      to: Math.min(finding.to, length),
      severity: SEVERITIES[finding.kind],
      source: `${finding.code} ${finding.name}`,
      message: finding.message,
    }));
    this.view.dispatch(setDiagnostics(this.view.state, diagnostics));
  }

  showDims({ expressions: each, lines }) {
    this.view.dispatch({ effects: [setExpressions.of(each), setLines.of(lines)] });
  }

  showMarks(ranges) {
    this.view.dispatch({ effects: setMarks.of(ranges) });
  }

  select({ from, to }) {
    const { length } = this.view.state.doc;
    const selection = { anchor: Math.min(from, length), head: Math.min(to, length) };
    this.view.dispatch({
      selection,
      effects: EditorView.scrollIntoView(selection.anchor, { y: "center" }),
    });
    this.view.focus();
  }
}
