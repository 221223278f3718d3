/** An endpoint of DynamoDB on this machine. */
export interface Endpoint {
  readonly url: string;
  /** The configuration of a client of the AWS SDK. */
  clientConfig(): {
    endpoint: string;
    region: string;
    credentials: { accessKeyId: string; secretAccessKey: string };
  };
  /** An independent copy of what is there now, on a port of its own; constant time. */
  fork(): Promise<Fork>;
  /** Ends it; a server ends with all its forks. */
  close(): Promise<void>;
}

/** A copy of a server's data. */
export interface Fork extends Endpoint {}

/** A server in memory. */
export interface Server extends Endpoint {}

/** Starts a server in memory on a free port; `options` are further options of `keyloom serve`. */
export function startServer(options?: readonly string[]): Promise<Server>;
