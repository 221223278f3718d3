// The difference of two texts, line by line.
import { structuredPatch } from "diff";
import { Empty } from "./parts";

/** A unified difference that somebody made, with its lines coloured. */
export function UnifiedDiff({ text }: { text: string }) {
  const kind = (line: string) =>
    line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : line.startsWith("@@") ? "place" : "";
  return (
    <pre class="diff" tabIndex={0} aria-label="Difference">
      {text
        .trimEnd()
        .split("\n")
        .map((line, at) => (
          <div key={at} class={kind(line)}>
            {line || " "}
          </div>
        ))}
    </pre>
  );
}

export function Diff({ before, after }: { before: string; after: string }) {
  const patch = structuredPatch("before", "after", before, after, "", "", { context: 3 });
  if (!patch.hunks.length) return <Empty>No difference.</Empty>;
  const lines = patch.hunks.flatMap((hunk) => [
    `@@ line ${hunk.newStart} @@`,
    ...hunk.lines.filter((line) => !line.startsWith("\\")),
  ]);
  return <UnifiedDiff text={lines.join("\n")} />;
}
