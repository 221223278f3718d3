// A code editor as a part of a view.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Handle, Language, Mark } from "./codemirror";
import { Loading } from "./parts";

interface Props {
  label: string;
  value: string;
  language: Language;
  change?: (text: string) => void;
  submit?: () => void;
  marks?: Mark[];
  /** A line to show; a new object shows it again. */
  show?: { line: number } | null;
  height?: string;
}

export function Editor(props: Props) {
  const host = useRef<HTMLDivElement>(null);
  const handle = useRef<Handle | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const [ready, setReady] = useState(false);

  useEffect(() => {
    let gone = false;
    void import("./codemirror").then(({ open }) => {
      if (gone || !host.current) return;
      const now = latest.current;
      handle.current = open(host.current, {
        text: now.value,
        language: now.language,
        readOnly: !now.change,
        label: now.label,
        changed: (text) => latest.current.change?.(text),
        submit: now.submit ? () => latest.current.submit?.() : undefined,
      });
      setReady(true);
    });
    return () => {
      gone = true;
      handle.current?.destroy();
      handle.current = null;
    };
  }, [props.language]);
  useEffect(() => handle.current?.set(props.value), [props.value, ready]);
  useEffect(() => handle.current?.mark(props.marks ?? []), [props.marks, props.value, ready]);
  useEffect(() => handle.current?.writable(!!props.change), [!props.change, ready]);
  useEffect(() => {
    if (props.show) handle.current?.reveal(props.show.line);
  }, [props.show, ready]);
  return (
    <div class="editor" style={props.height ? { height: props.height, flex: "none" } : { height: "100%" }}>
      {!ready && <Loading what="Opening the editor" />}
      <div class="host" ref={host} />
    </div>
  );
}
