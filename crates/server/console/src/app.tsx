// The frame around the views: navigation, the state of the connection, and the keys that work everywhere.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useErrorBoundary, useState } from "preact/hooks";
import { href, route } from "./router";
import { reachable, signing, unauthorised, useCredentials } from "./server/http";
import { connect, designsRead, info, infoError, readOnly, signedIn } from "./server/state";
import { Icon, type IconName } from "./ui/icons";
import { Palette, paletteOpen } from "./ui/palette";
import { Badge, Button, Failure, Loading } from "./ui/parts";
import { cycleTheme, dark } from "./ui/theme";
import { Toasts } from "./ui/toasts";
import { DataView } from "./views/data/view";
import { DesignView } from "./views/design/view";
import { DoctorView } from "./views/doctor";
import { HeatView } from "./views/heat/view";
import { MigrationView } from "./views/migration";
import { NewView } from "./views/new";
import { Overview } from "./views/overview";
import { SignIn } from "./views/sign-in";
import { SimulatorView } from "./views/simulator";

interface View {
  path: string;
  title: string;
  icon: IconName;
  show: () => JSX.Element;
}

const VIEWS: View[] = [
  { path: "overview", title: "Overview", icon: "overview", show: () => <Overview /> },
  { path: "heat", title: "Heat map", icon: "heat", show: () => <HeatView /> },
  { path: "data", title: "Data", icon: "data", show: () => <DataView /> },
  { path: "design", title: "Design", icon: "design", show: () => <DesignView /> },
  { path: "new", title: "New design", icon: "plus", show: () => <NewView /> },
  { path: "doctor", title: "Doctor", icon: "doctor", show: () => <DoctorView /> },
  { path: "simulate", title: "Simulator", icon: "simulate", show: () => <SimulatorView /> },
  { path: "migrate", title: "Migration", icon: "migrate", show: () => <MigrationView /> },
];

function useKeys() {
  useEffect(() => {
    const keys = (event: KeyboardEvent) => {
      const typing = event.composedPath()[0];
      const inField =
        typing instanceof HTMLElement &&
        (typing.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(typing.tagName));
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        paletteOpen.value = true;
        event.preventDefault();
      } else if (event.key === "Escape" && paletteOpen.value) {
        // The palette may not be drawn yet, and nobody else would hear it.
        paletteOpen.value = false;
      } else if (event.key === "/" && !inField && !event.ctrlKey && !event.metaKey) {
        const search = document.querySelector<HTMLElement>("[data-search]");
        if (search) search.focus();
        else paletteOpen.value = true;
        event.preventDefault();
      }
    };
    addEventListener("keydown", keys);
    return () => removeEventListener("keydown", keys);
  }, []);
}

function Navigation({ now }: { now: string }) {
  const [open, setOpen] = useState(false);
  return (
    <nav class={open ? "open" : ""} aria-label="Views">
      <a class="brand" href={href(["overview"])} aria-label="Keyloom">
        <svg width="22" height="22" viewBox="0 0 32 32" aria-hidden="true">
          <rect width="32" height="32" rx="7" fill="#0f766e" />
          <g fill="none" stroke="#fff" stroke-width="2.6" stroke-linecap="round">
            <path d="M9 6v20M16 6v20M23 6v20" opacity=".55" />
            <path d="M6 11h6M14 11h12M6 16h13M21 16h5M6 21h6M14 21h12" />
          </g>
        </svg>
        <span>Keyloom</span>
      </a>
      <Button
        kind="quiet"
        class="menu"
        icon="menu"
        aria-label="Menu"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      />
      <ul>
        {VIEWS.map((view) => (
          <li key={view.path}>
            <a
              href={href([view.path])}
              aria-current={view.path === now ? "page" : undefined}
              title={view.title}
              onClick={() => setOpen(false)}
            >
              <Icon name={view.icon} />
              <span>{view.title}</span>
            </a>
          </li>
        ))}
      </ul>
      <div class="foot">
        <Button kind="quiet" icon="search" onClick={() => (paletteOpen.value = true)} title="Go to… (Ctrl-K)">
          <span>Go to</span>
          <kbd>Ctrl K</kbd>
        </Button>
        <Button
          kind="quiet"
          icon={dark.value ? "sun" : "moon"}
          onClick={cycleTheme}
          title={dark.value ? "Light" : "Dark"}
          aria-label={dark.value ? "Light theme" : "Dark theme"}
        >
          <span>{dark.value ? "Light" : "Dark"}</span>
        </Button>
        {signing.value === "required" && signedIn.value && (
          <Button
            kind="quiet"
            icon="lock"
            onClick={() => useCredentials(null)}
            title="Sign out"
            aria-label="Sign out"
          >
            <span>Sign out</span>
          </Button>
        )}
      </div>
    </nav>
  );
}

function Gone() {
  useEffect(() => {
    const timer = setInterval(() => void connect(), 3000);
    return () => clearInterval(timer);
  }, []);
  return (
    <div class="gone" role="alert">
      <Icon name="warn" /> The server does not answer. What is shown may be old; trying again every few
      seconds.
      <Button kind="quiet" icon="refresh" onClick={() => void connect()}>
        Try now
      </Button>
    </div>
  );
}

function StatusBar() {
  const server = info.value;
  if (!server) return null;
  return (
    <footer class="status">
      <span class={`dot ${reachable.value === false ? "bad" : "good"}`} aria-hidden="true" />
      <bdi>{server.endpoint ?? location.host}</bdi>
      <span>{server.region}</span>
      {readOnly.value && <Badge kind="warning">read-only</Badge>}
      {server.throttle && <span>throttling: {server.throttle}</span>}
      <span class="spacer" />
      <span>Keyloom {server.version}</span>
    </footer>
  );
}

/** A mistake in one view does not take the others along. */
function Guarded({ children }: { children: ComponentChildren }) {
  const [error, reset] = useErrorBoundary();
  return error ? <Failure error={error} retry={reset} /> : <>{children}</>;
}

export function App() {
  useKeys();
  const now = route.value.path[0] ?? "overview";
  const view = VIEWS.find((candidate) => candidate.path === now) ?? VIEWS[0];
  const title = view?.title ?? "";
  useEffect(() => {
    document.title = `${title} · Keyloom`;
  }, [title]);
  useEffect(() => {
    if (now === "sign-out") {
      useCredentials(null);
      location.hash = "#/";
    }
  }, [now]);
  let content: JSX.Element;
  if (!info.value && infoError.value && reachable.value !== false) {
    content = <Failure error={infoError.value} retry={() => void connect()} />;
  } else if (!info.value) content = <Loading what="Asking the server" />;
  else if (!signedIn.value) content = <SignIn refused={unauthorised.value} />;
  else if (!designsRead.value && infoError.value) {
    content = <Failure error={infoError.value} retry={() => void connect()} />;
  } else if (!designsRead.value) content = <Loading what="Reading the designs" />;
  else content = <Guarded key={now}>{view?.show()}</Guarded>;
  return (
    <div class="frame">
      <a
        class="skip"
        href="#main"
        onClick={(event) => (event.preventDefault(), document.getElementById("main")?.focus())}
      >
        Skip to the content
      </a>
      <Navigation now={view?.path ?? ""} />
      <div class="page">
        {reachable.value === false && <Gone />}
        <main id="main" tabIndex={-1} aria-label={title}>
          {content}
        </main>
        <StatusBar />
      </div>
      <Palette />
      <Toasts />
    </div>
  );
}
