// Short messages at the edge of the page, some with a way back.
import { signal } from "@preact/signals";
import { Button } from "./parts";
import { Icon } from "./icons";

interface Toast {
  id: number;
  text: string;
  kind: "done" | "error";
  action?: { title: string; run: () => void };
}

const toasts = signal<Toast[]>([]);
let last = 0;

function dismiss(id: number): void {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
}

export function tell(text: string, action?: Toast["action"], kind: Toast["kind"] = "done"): void {
  const id = ++last;
  toasts.value = [...toasts.value.slice(-3), { id, text, kind, action }];
  // Time enough to find the way back; an error stays until it is closed.
  if (kind === "done") setTimeout(() => dismiss(id), action ? 20_000 : 5_000);
}

export const complain = (error: unknown) =>
  tell((error as Error).message ?? String(error), undefined, "error");

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map((toast) => (
        <div key={toast.id} class={`toast ${toast.kind}`}>
          <Icon name={toast.kind === "done" ? "check" : "warn"} />
          <span class="text">{toast.text}</span>
          {toast.action && (
            <Button
              kind="quiet"
              onClick={() => {
                dismiss(toast.id);
                toast.action?.run();
              }}
            >
              {toast.action.title}
            </Button>
          )}
          <Button kind="quiet" icon="close" aria-label="Dismiss" onClick={() => dismiss(toast.id)} />
        </div>
      ))}
    </div>
  );
}
