// Credentials, where the server wants them. They sign requests in this page, and are sent nowhere.
import { useState } from "preact/hooks";
import { signing, useCredentials } from "../server/http";
import { connect } from "../server/state";
import { Button, Panel } from "../ui/parts";

/** A signature says when it was made, and is good for some minutes. */
const isOfClocks = (message: string) => /expired|not yet current|current:/i.test(message);

export function SignIn({ refused }: { refused: string | null }) {
  const [accessKey, setAccessKey] = useState("");
  const [secretKey, setSecretKey] = useState("");
  if (signing.value === "proxy") {
    return (
      <Panel title="This page has no access" class="sign-in">
        <p>
          <code>keyloom console</code> gives access to the page at the address that it printed when it
          started. Open that address: the part after <code>#</code> is what this page lacks.
        </p>
      </Panel>
    );
  }
  const submit = (event: Event) => {
    event.preventDefault();
    useCredentials({ accessKey: accessKey.trim(), secretKey: secretKey.trim() });
    void connect();
  };
  return (
    <Panel title="Sign in" class="sign-in">
      <form onSubmit={submit}>
        {refused !== null && (
          <div class="failure" role="alert">
            <div>
              The server refused these credentials. <span class="text">{refused}</span>
              {isOfClocks(refused) && " The clocks of this computer and of the server differ."}
            </div>
          </div>
        )}
        <p>
          This server verifies signatures. The secret stays in this tab and signs requests; it is sent
          nowhere.
        </p>
        <label>
          Access key
          <input
            type="text"
            name="access-key"
            autocomplete="username"
            spellcheck={false}
            required
            value={accessKey}
            onInput={(event) => setAccessKey(event.currentTarget.value)}
          />
        </label>
        <label>
          Secret key
          <input
            type="password"
            name="secret-key"
            autocomplete="current-password"
            required
            value={secretKey}
            onInput={(event) => setSecretKey(event.currentTarget.value)}
          />
        </label>
        <Button kind="primary" type="submit">
          Sign in
        </Button>
      </form>
    </Panel>
  );
}
