// AWS Signature Version 4 in the page, for servers with credentials. `@noble/hashes` instead of WebCrypto, because pages
// of plain http on another host than this one have no WebCrypto.
import { hmac } from "@noble/hashes/hmac.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";

export interface Credentials {
  accessKey: string;
  secretKey: string;
}

export interface Unsigned {
  method: string;
  url: URL;
  headers: Record<string, string>;
  body: string | Uint8Array;
}

const bytes = (value: string | Uint8Array) => (typeof value === "string" ? utf8ToBytes(value) : value);
const encode = (value: string) =>
  encodeURIComponent(value).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);

/** The headers with which a request counts as signed, besides those it has. */
export function sign(
  request: Unsigned,
  who: Credentials,
  region: string,
  now = new Date(),
): Record<string, string> {
  const stamp = now.toISOString().replace(/[-:]|\.\d{3}/g, "");
  const day = stamp.slice(0, 8);
  const payload = bytesToHex(sha256(bytes(request.body)));
  const added = { "x-amz-date": stamp, "x-amz-content-sha256": payload };
  const signed = new Map<string, string>([["host", request.url.host]]);
  for (const [name, value] of Object.entries({ ...request.headers, ...added })) {
    signed.set(name.toLowerCase(), value.trim().replace(/ +/g, " "));
  }
  const names = [...signed.keys()].sort();
  const query = [...request.url.searchParams]
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .sort()
    .join("&");
  const canonical = [
    request.method,
    request.url.pathname
      .split("/")
      .map((part) => encode(decodeURIComponent(part)))
      .map(encode)
      .join("/"),
    query,
    ...names.map((name) => `${name}:${signed.get(name)}`),
    "",
    names.join(";"),
    payload,
  ].join("\n");
  const scope = `${day}/${region}/dynamodb/aws4_request`;
  const text = ["AWS4-HMAC-SHA256", stamp, scope, bytesToHex(sha256(utf8ToBytes(canonical)))].join("\n");
  let key = utf8ToBytes(`AWS4${who.secretKey}`);
  for (const part of [day, region, "dynamodb", "aws4_request"]) key = hmac(sha256, key, utf8ToBytes(part));
  const signature = bytesToHex(hmac(sha256, key, utf8ToBytes(text)));
  const authorization = `AWS4-HMAC-SHA256 Credential=${who.accessKey}/${scope}, SignedHeaders=${names.join(";")}, Signature=${signature}`;
  return { ...added, authorization };
}
