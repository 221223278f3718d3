// Access patterns: what each is proven to be, on which index, at what cost, and why others do not serve it.
import { Fragment } from "preact";
import { useState } from "preact/hooks";
import { amend, href, route } from "../../router";
import type { Design, Pattern } from "../../server/api";
import { Badge, brief, Button } from "../../ui/parts";
import { Prose } from "../../ui/prose";
import { Proofs } from "../data/pattern";

function Details({ pattern }: { pattern: Pattern }) {
  return (
    <div class="details">
      <dl class="facts">
        <dt>find</dt>
        <dd class="mono">{pattern.find.join(", ")}</dd>
        {pattern.where && <dt>where</dt>}
        {pattern.where && <dd class="mono">{pattern.where}</dd>}
        {pattern.order && <dt>order</dt>}
        {pattern.order && <dd class="mono">{pattern.order}</dd>}
        {pattern.limit != null && <dt>limit</dt>}
        {pattern.limit != null && <dd class="mono">{pattern.limit}</dd>}
      </dl>
      {pattern.proofs
        .filter((proof) => proof.reason)
        .map((proof) => (
          <p key={proof.claim}>
            <strong>{proof.claim}</strong> {proof.status}: <Prose text={proof.reason ?? ""} />
          </p>
        ))}
      {pattern.requests.map((request, n) => (
        <pre key={n} tabIndex={0}>
          {request.operation} {JSON.stringify(request.body, null, 2)}
        </pre>
      ))}
      {(pattern.rejected ?? []).length > 0 && (
        <>
          <h3>Why not another index</h3>
          <ul>
            {(pattern.rejected ?? []).map((other, n) => (
              <li key={n}>
                <strong>{other.index}</strong>: <Prose text={other.reason} />
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}

export function Patterns({ design }: { design: Design }) {
  const [typed, setTyped] = useState("");
  const open = route.value.query.get("pattern");
  const shown = design.patterns.filter((pattern) => pattern.name.toLowerCase().includes(typed.toLowerCase()));
  return (
    <div class="scrolled stacked" tabIndex={0}>
      <div class="bar">
        <input
          type="search"
          data-search
          placeholder="Filter patterns ( / )"
          aria-label="Filter patterns"
          value={typed}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
      </div>
      <div class="panel">
        <table class="patterns">
          <thead>
            <tr>
              <th>Access pattern</th>
              <th>Verdict</th>
              <th>On</th>
              <th class="right">RU a call</th>
              <th class="right">$ a month</th>
              <th>Proven</th>
              <th>
                <span class="hidden">Run</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {shown.map((pattern) => (
              <Fragment key={pattern.name}>
                <tr class={pattern.name === open ? "current" : ""}>
                  <td>
                    <button
                      type="button"
                      class="link"
                      aria-expanded={pattern.name === open}
                      onClick={() => amend({ pattern: pattern.name === open ? null : pattern.name }, true)}
                    >
                      {pattern.name}
                    </button>
                  </td>
                  <td>
                    <Badge kind={pattern.verdict}>{pattern.verdict}</Badge>
                  </td>
                  <td class="mono">{pattern.places.join(", ")}</td>
                  <td class="right">{pattern.cost?.ru != null ? brief(pattern.cost.ru) : "–"}</td>
                  <td class="right">{pattern.monthly_cost ? brief(pattern.monthly_cost.on_demand) : "–"}</td>
                  <td>
                    <Proofs pattern={pattern} />
                  </td>
                  <td>
                    <a
                      href={href(["data", pattern.table ?? design.tables[0]?.name ?? ""], {
                        mode: "pattern",
                        pattern: pattern.name,
                      })}
                    >
                      Run
                    </a>
                  </td>
                </tr>
                {pattern.name === open && (
                  <tr>
                    <td colSpan={7}>
                      <Details pattern={pattern} />
                      <Button kind="quiet" onClick={() => amend({ pattern: null }, true)}>
                        Close
                      </Button>
                    </td>
                  </tr>
                )}
              </Fragment>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}
