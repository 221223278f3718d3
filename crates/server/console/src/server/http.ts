// Every request of the console: to the server that served the page, and to nothing else.
import { signal } from "@preact/signals";
import { sign, type Credentials } from "./sign";

/** An answer that is no success, or no answer. */
export class Refusal extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

/** How requests are authorised: `required` signs in the page, `proxy` shows the token of this run. */
export const signing = signal<"none" | "required" | "proxy">("none");
export const region = signal("us-east-1");
/** Whether the last request got an answer; `null` before the first. */
export const reachable = signal<boolean | null>(null);
/** Why a request was refused for its signature or token; `null` if none was. */
export const unauthorised = signal<string | null>(null);

/** How often something was not there that the page took for granted. */
export const missing = signal(0);

const KEPT = "keyloom-credentials";
const TOKEN = "keyloom-token";

/** In the session's storage at most: gone with the tab. */
export const credentials = signal<Credentials | null>(kept());

function kept(): Credentials | null {
  try {
    return JSON.parse(sessionStorage.getItem(KEPT) ?? "null") as Credentials | null;
  } catch {
    return null;
  }
}

export function useCredentials(value: Credentials | null): void {
  if (value) sessionStorage.setItem(KEPT, JSON.stringify(value));
  else sessionStorage.removeItem(KEPT);
  credentials.value = value;
  unauthorised.value = null;
}

/** Takes the token of `keyloom console` out of the address, where it would be shared by mistake. */
export function takeToken(): void {
  const found = /^#token=([A-Za-z0-9_-]+)&?(.*)$/.exec(location.hash);
  if (!found?.[1]) return;
  sessionStorage.setItem(TOKEN, found[1]);
  history.replaceState(null, "", `#${found[2] || "/"}`);
}

export interface Asked {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array;
  signal?: AbortSignal;
}

/** Sends a request and returns the response, whatever its status. */
async function send(path: string, asked: Asked): Promise<Response> {
  const url = new URL(path, location.origin);
  const method = asked.method ?? "GET";
  const body = asked.body ?? "";
  let headers: Record<string, string> = { ...asked.headers };
  const token = sessionStorage.getItem(TOKEN);
  // Tells the server that the console asks, which may be read-only where programs may write.
  headers["x-keyloom-console"] = (signing.value === "proxy" && token) || "page";
  if (signing.value === "required" && credentials.value) {
    headers = { ...headers, ...sign({ method, url, headers, body }, credentials.value, region.value) };
  }
  try {
    const response = await fetch(url, {
      method,
      headers,
      body: method === "GET" ? undefined : (body as BodyInit),
      signal: asked.signal,
      cache: "no-store",
      credentials: "omit",
    });
    reachable.value = true;
    return response;
  } catch (error) {
    if (asked.signal?.aborted) throw error;
    reachable.value = false;
    throw new Refusal("Unreachable", "The server does not answer. Is it still running?", 0);
  }
}

interface ErrorBody {
  __type?: string;
  error?: string;
  message?: string;
  Message?: string;
}

function refusal(status: number, text: string): Refusal {
  let body: ErrorBody = {};
  try {
    body = JSON.parse(text) as ErrorBody;
  } catch {
    // Not JSON: the text itself is the message.
  }
  const code = body.__type?.split("#").pop() ?? body.error ?? `HTTP ${status}`;
  const message =
    body.message ?? body.Message ?? (text.slice(0, 500).trim() || `The server answered ${status}.`);
  return new Refusal(code, message, status);
}

const NOT_SIGNED =
  /^(MissingAuthenticationToken|IncompleteSignature|InvalidSignature|SignatureDoesNotMatch|UnrecognizedClient)/;

/** Whether the page is at fault, and not whoever signs for it: `keyloom console` passes on what AWS says of its own. */
function isUnauthorised({ status, code, message }: Refusal): boolean {
  if (signing.value === "proxy") return message.startsWith("This console answers only");
  return status === 401 || NOT_SIGNED.test(code);
}

/** What to do about a refusal, where its message does not say. */
export function wayOut({ code, message }: Refusal): string | null {
  if (code === "ResourceNotFoundException")
    return "It was deleted meanwhile, or it is of another region or account.";
  if (signing.value !== "proxy") return null;
  return /ExpiredToken|UnrecognizedClient|security token included/.test(`${code} ${message}`)
    ? "These are the credentials of `keyloom console`: renew them, for example with `aws sso login`, and start it again."
    : null;
}

/** Sends a request; anything but a success is thrown as a `Refusal`. */
export async function ask(path: string, asked: Asked = {}): Promise<Response> {
  const response = await send(path, asked);
  if (response.ok) return response;
  const refused = refusal(response.status, await response.text());
  if (isUnauthorised(refused)) unauthorised.value = refused.message;
  if (refused.code === "ResourceNotFoundException") missing.value++;
  throw refused;
}

/** The JSON that an API answers. */
export async function askJson<T>(path: string, asked: Asked & { json?: unknown } = {}): Promise<T> {
  const { json, ...rest } = asked;
  const sent: Asked =
    json === undefined
      ? rest
      : {
          method: "POST",
          ...rest,
          body: JSON.stringify(json),
          headers: { "content-type": "application/json", ...rest.headers },
        };
  return (await (await ask(path, sent)).json()) as T;
}
