// Errors are shown well: the server gone, a refused write, a table deleted meanwhile, credentials, a read-only console.
import { call } from "./demo-data.mjs";
import { assert, equal, eventually, keyloom, openPage } from "./harness.mjs";
import { setEditor } from "./flows.mjs";
import { start } from "./mock.mjs";

const rows = (page) => page.getByRole("grid", { name: "Items" }).locator(".body .row:not(.group)");
const panel = (page) => page.locator(".item-panel");
const schema = (name) => ({ TableName: name, BillingMode: "PAY_PER_REQUEST", AttributeDefinitions: [{ AttributeName: "id", AttributeType: "S" }], KeySchema: [{ AttributeName: "id", KeyType: "HASH" }] });
const anything = { allowed: [/Failed to load resource/, /ERR_/] };

export async function errors(suite, world) {
  const { browser, binary } = world;
  /** A server of its own, with the page of the tree where that is asked for. */
  const serve = async (words = []) => {
    const server = await keyloom(binary, ["serve", "--memory", "--port", "0", ...words]);
    const mock = process.env.CONSOLE_DIST ? await start({ upstream: `${server.address}/` }) : null;
    return { ...server, url: mock?.url ?? `${server.address}/keyloom/`, api: `${server.address}/`, close: () => (mock?.close(), server.stop()) };
  };

  await suite.test("a table that is deleted meanwhile, and one that never was", async () => {
    await call(world.api, "CreateTable", schema("Doomed"));
    await call(world.api, "PutItem", { TableName: "Doomed", Item: { id: { S: "1" } } });
    const opened = await openPage(browser, `${world.url}#/data/Doomed`, anything);
    const { page } = opened;
    await rows(page).first().waitFor();
    await call(world.api, "DeleteTable", { TableName: "Doomed" });
    await page.getByRole("button", { name: "Read again" }).click();
    await page.getByRole("alert").getByText("ResourceNotFoundException").waitFor();
    await page.getByRole("alert").getByText("It was deleted meanwhile").waitFor();
    await page.getByRole("grid", { name: "Tables" }).getByText("Doomed").waitFor({ state: "detached" });
    await page.screenshot({ path: suite.picture("table-deleted") });
    await page.goto(`${world.url}#/data/Never`);
    await page.getByRole("alert").getByText("ResourceNotFoundException").waitFor();
    equal(opened.problems, [], "problems of the page");
    await opened.context.close();
  });

  await suite.test("a refused write says why and loses nothing", async () => {
    const mock = await start({
      upstream: world.api,
      answers: { "POST UpdateItem": { status: 400, body: { __type: "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException", message: "The level of configured provisioned throughput for the table was exceeded" } } },
    });
    const opened = await openPage(browser, `${mock.url}#/data/tasks?item=${encodeURIComponent(JSON.stringify(world.someTask))}`, anything);
    const { page } = opened;
    await panel(page).getByRole("tab", { name: "JSON" }).click();
    await setEditor(page, "The item as text", JSON.stringify({ PK: world.someTask.PK.S, SK: world.someTask.SK.S, title: "refused" }));
    await panel(page).getByRole("button", { name: "Save" }).click();
    await panel(page).getByRole("alert").getByText("ProvisionedThroughputExceededException").waitFor();
    assert((await page.getByLabel("The item as text", { exact: true }).textContent())?.includes("refused"), "the text is still there");
    equal(opened.problems, [], "problems of the page");
    await opened.context.close();
    mock.close();
  });

  await suite.test("the server goes and comes back", async () => {
    const server = await serve();
    const port = new URL(server.address).port;
    await call(server.api, "CreateTable", schema("Here"));
    await call(server.api, "PutItem", { TableName: "Here", Item: { id: { S: "1" } } });
    const opened = await openPage(browser, `${server.url}#/data/Here`, anything);
    const { page } = opened;
    await rows(page).first().waitFor();
    await server.stop();
    if (process.env.CONSOLE_DIST) await server.close();
    await page.getByRole("button", { name: "Read again" }).click();
    await page.locator(".gone").waitFor();
    await page.screenshot({ path: suite.picture("server-gone") });
    if (!process.env.CONSOLE_DIST) {
      const again = await keyloom(binary, ["serve", "--memory", "--port", port]);
      await page.locator(".gone").waitFor({ state: "detached" });
      await again.stop();
    }
    equal(opened.problems, [], "problems of the page");
    await opened.context.close();
  });

  await suite.test("credentials: asked for, refused if wrong, never sent", async () => {
    const server = await serve(["--access-key", "AKIDCONSOLE", "--secret-key", "console-secret"]);
    const opened = await openPage(browser, `${server.url}#/data`, anything);
    const { page } = opened;
    const sent = [];
    page.on("request", (request) => sent.push(JSON.stringify(request.headers()) + (request.postData() ?? "")));
    const signIn = async (secret) => {
      await page.getByLabel("Access key").fill("AKIDCONSOLE");
      await page.getByLabel("Secret key").fill(secret);
      await page.getByRole("button", { name: "Sign in" }).click();
    };
    await signIn("wrong-secret");
    await page.getByRole("alert").getByText("The server refused these credentials.").waitFor();
    await page.getByRole("alert").getByText("does not match").waitFor();
    await page.screenshot({ path: suite.picture("sign-in") });
    await signIn("console-secret");
    await page.getByText("There are no tables yet.").waitFor();
    assert(sent.some((text) => text.includes("AWS4-HMAC-SHA256")), "requests are signed");
    assert(!sent.some((text) => /console-secret|wrong-secret/.test(text)), "the secret is in no request");
    await page.goto(`${server.url}#/overview`);
    await page.locator(".chart canvas").waitFor();
    equal(opened.problems, [], "problems of the page");
    await opened.context.close();
    await server.close();
  });

  await suite.test("keyloom console: a token, read-only, secrets stay in the process", async () => {
    const proxy = await keyloom(binary, ["console", "--endpoint", world.api, "--read-only", "--no-open", "--port", "0", "--design", world.designFile], /(http:\/\/\S+#token=[\w-]+)/);
    const at = new URL(proxy.address);
    const mock = process.env.CONSOLE_DIST ? await start({ upstream: at.origin }) : null;
    const base = mock?.url ?? `${at.origin}/keyloom/`;
    const without = await openPage(browser, base, anything);
    await without.page.getByText("This page has no access").waitFor();
    await without.context.close();
    const opened = await openPage(browser, `${base}${at.hash}&/data/tasks`, anything);
    const { page } = opened;
    await rows(page).first().waitFor();
    assert(!page.url().includes("token"), "the token is not left in the address");
    await page.locator(".status").getByText("read-only").waitFor();
    equal(await page.getByRole("button", { name: "New item" }).count(), 0, "buttons that write");
    // A write by hand is refused by the process, not by the page only.
    await page.goto(`${base}#/data/tasks?mode=request&operation=DeleteTable&body=${encodeURIComponent('{"TableName":"tasks"}')}`);
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByRole("alert").getByText("AccessDeniedException").waitFor();
    equal((await call(world.api, "DescribeTable", { TableName: "tasks" })).Table.TableStatus, "ACTIVE", "the table");
    equal(opened.problems, [], "problems of the page");
    await opened.context.close();
    mock?.close();
    await proxy.stop();
  });

  await suite.test("credentials that expire: of the process, and by a clock that differs", async () => {
    const proxy = await keyloom(binary, ["console", "--endpoint", world.api, "--no-open", "--port", "0"], /(http:\/\/\S+#token=[\w-]+)/);
    const at = new URL(proxy.address);
    const expired = { status: 400, body: { __type: "com.amazon.coral.service#ExpiredTokenException", message: "The security token included in the request is expired" } };
    let mock = await start({ upstream: at.origin, answers: { "POST Scan": expired } });
    let opened = await openPage(browser, `${mock.url}${at.hash}&/data/tasks`, anything);
    await opened.page.getByRole("alert").getByText("aws sso login").waitFor();
    await opened.page.getByRole("alert").getByText("ExpiredTokenException").waitFor();
    await opened.context.close();
    mock.close();
    await proxy.stop();
    const server = await keyloom(binary, ["serve", "--memory", "--port", "0", "--access-key", "AKIDCONSOLE", "--secret-key", "console-secret"]);
    const late = { status: 400, body: { __type: "com.amazon.coral.service#InvalidSignatureException", message: "Signature expired: 20260101T000000Z is now earlier than 20260101T001000Z" } };
    mock = await start({ upstream: server.address, answers: { "POST ListTables": late } });
    opened = await openPage(browser, `${mock.url}#/data`, anything);
    await opened.page.getByLabel("Access key").fill("AKIDCONSOLE");
    await opened.page.getByLabel("Secret key").fill("console-secret");
    await opened.page.getByRole("button", { name: "Sign in" }).click();
    await opened.page.getByRole("alert").getByText("clocks of this computer and of the server differ").waitFor();
    await opened.page.screenshot({ path: suite.picture("clocks") });
    await opened.context.close();
    mock.close();
    await server.stop();
  });

  await suite.test("a view that gets nonsense says so, and the others work", async () => {
    const mock = await start({ upstream: world.api, answers: { "GET /keyloom/api/doctor": { status: 500, body: { error: "Internal", message: "the doctor is ill" } }, "GET /keyloom/api/heat": { body: "nonsense" } } });
    const opened = await openPage(browser, `${mock.url}#/doctor`, anything);
    const { page } = opened;
    await page.getByRole("alert").getByText("the doctor is ill").waitFor();
    await page.goto(`${mock.url}#/heat/tasks`);
    await page.getByRole("alert").first().waitFor();
    await page.goto(`${mock.url}#/data/tasks`);
    await rows(page).first().waitFor();
    await eventually("entities", async () => (await page.locator(".grid .entity").count()) > 0);
    await opened.context.close();
    mock.close();
  });
}
