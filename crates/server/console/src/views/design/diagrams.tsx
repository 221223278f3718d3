// The ER diagram and the key map. They are shown as images, in which nothing can run.
import { useEffect, useState } from "preact/hooks";
import type { Design } from "../../server/api";
import { Button, Empty, Panel, save } from "../../ui/parts";

export function Picture({ title, svg, name }: { title: string; svg: string; name: string }) {
  const [url, setUrl] = useState("");
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [svg]);
  const exportIt = () => save(`${name}.svg`, new Blob([svg], { type: "image/svg+xml" }));
  return (
    <Panel
      title={title}
      aside={
        <Button kind="quiet" icon="download" onClick={exportIt}>
          SVG
        </Button>
      }
    >
      <div class="picture scrolled" tabIndex={0}>
        {url && <img src={url} alt={title} />}
      </div>
    </Panel>
  );
}

export function Diagrams({ design }: { design: Design }) {
  const { er, keyMap } = design.diagrams ?? {};
  if (!er && !keyMap) return <Empty>This server draws no diagrams.</Empty>;
  return (
    <div class="scrolled stacked" tabIndex={0}>
      {er && <Picture title={`Entities of ${design.title}`} svg={er} name={`${design.name} entities`} />}
      {keyMap && <Picture title={`Keys of ${design.title}`} svg={keyMap} name={`${design.name} keys`} />}
    </div>
  );
}
