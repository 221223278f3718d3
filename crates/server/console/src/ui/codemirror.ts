// The editor itself, loaded when a view first shows one. It lives in a shadow root, because CodeMirror's styles are then
// adopted style sheets, which the content security policy allows, while style elements are forbidden.
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import {
  bracketMatching,
  HighlightStyle,
  indentOnInput,
  StreamLanguage,
  syntaxHighlighting,
} from "@codemirror/language";
import { standardSQL } from "@codemirror/legacy-modes/mode/sql";
import { toml } from "@codemirror/legacy-modes/mode/toml";
import { lintGutter, setDiagnostics, type Diagnostic } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, type Extension } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";

export type Language = "json" | "toml" | "sql" | "text";

export interface Mark {
  line: number;
  column: number;
  endLine: number;
  endColumn: number;
  level: "error" | "warning" | "info";
  message: string;
}

const LANGUAGES: Record<Language, () => Extension> = {
  json,
  toml: () => StreamLanguage.define(toml),
  sql: () => StreamLanguage.define(standardSQL),
  text: () => [],
};

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--code-name)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--code-text)" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: "var(--code-number)" },
  { tag: [tags.keyword, tags.operator, tags.heading], color: "var(--code-keyword)" },
  { tag: tags.comment, color: "var(--muted)", fontStyle: "italic" },
]);

const theme = EditorView.theme({
  "&": { height: "100%", color: "var(--text)", backgroundColor: "var(--field)", fontSize: "12.5px" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-1px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--field)", color: "var(--muted)", border: "none" },
  ".cm-activeLine": { backgroundColor: "var(--hover)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--selected) !important",
  },
  ".cm-panels": { backgroundColor: "var(--panel)", color: "var(--text)" },
  ".cm-tooltip": { backgroundColor: "var(--panel)", color: "var(--text)", border: "1px solid var(--line)" },
  ".cm-matchingBracket": { backgroundColor: "var(--selected)", outline: "1px solid var(--line)" },
});

export interface Handle {
  set: (text: string) => void;
  mark: (marks: Mark[]) => void;
  reveal: (line: number) => void;
  writable: (yes: boolean) => void;
  focus: () => void;
  destroy: () => void;
}

export interface Options {
  text: string;
  language: Language;
  readOnly: boolean;
  label: string;
  changed: (text: string) => void;
  submit?: () => void;
}

export function open(host: HTMLElement, options: Options): Handle {
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  root.replaceChildren();
  const parent = document.createElement("div");
  parent.style.height = "100%";
  root.append(parent);
  const access = new Compartment();
  const locked = (yes: boolean) => [EditorState.readOnly.of(yes)];
  let quiet = false;
  const submit = () => {
    options.submit?.();
    return !!options.submit;
  };
  const view = new EditorView({
    root,
    parent,
    state: EditorState.create({
      doc: options.text,
      extensions: [
        keymap.of([{ key: "Mod-Enter", run: submit, preventDefault: true }]),
        lineNumbers(),
        history(),
        drawSelection(),
        highlightSpecialChars(),
        highlightActiveLine(),
        highlightSelectionMatches(),
        indentOnInput(),
        bracketMatching(),
        lintGutter(),
        syntaxHighlighting(colours),
        // Tab goes on to what comes next: whoever has no mouse must get out of the editor. Ctrl-] indents.
        keymap.of([...defaultKeymap, ...historyKeymap, ...searchKeymap]),
        LANGUAGES[options.language](),
        theme,
        access.of(locked(options.readOnly)),
        EditorView.contentAttributes.of({ "aria-label": options.label, tabindex: "0" }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged && !quiet) options.changed(update.state.doc.toString());
        }),
      ],
    }),
  });
  const offset = (line: number, column: number) => {
    const found = view.state.doc.line(Math.max(1, Math.min(line, view.state.doc.lines)));
    return Math.min(found.to, found.from + Math.max(0, column - 1));
  };
  return {
    set(text) {
      if (text === view.state.doc.toString()) return;
      quiet = true;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
      quiet = false;
    },
    mark(marks) {
      const diagnostics = marks.map((mark): Diagnostic => {
        const from = offset(mark.line, mark.column);
        return {
          from,
          to: Math.max(from, offset(mark.endLine, mark.endColumn)),
          severity: mark.level,
          message: mark.message,
        };
      });
      view.dispatch(setDiagnostics(view.state, diagnostics));
    },
    reveal(line) {
      const at = offset(line, 1);
      view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: "center" }) });
      view.focus();
    },
    writable: (yes) => view.dispatch({ effects: access.reconfigure(locked(!yes)) }),
    focus: () => view.focus(),
    destroy: () => view.destroy(),
  };
}
