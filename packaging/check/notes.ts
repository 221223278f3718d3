// Compiles only if the types say what the code does.

import { findKeyloom } from "keyloom";
import { type Fork, type Server, startServer } from "keyloom/testing";

export async function use(): Promise<string> {
  const server: Server = await startServer(["--throttle", "enforce"]);
  const fork: Fork = await server.fork();
  const { endpoint, region, credentials } = fork.clientConfig();
  await fork.close();
  await server.close();
  return [findKeyloom(), endpoint, region, credentials.accessKeyId].join(" ");
}
