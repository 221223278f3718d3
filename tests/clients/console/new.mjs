// A newcomer makes a design in the console: wrong lines are named, the example is proven, the file is saved.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execFileSync } from "node:child_process";
import { assert, equal, inaccessible, openPage } from "./harness.mjs";

export async function newDesign(suite, world) {
  await suite.test("new: from what is said to a proven design", async () => {
    const { page, context, problems } = await openPage(world.browser, `${world.url}#/new`);
    const find = page.getByRole("button", { name: "Find the keys" });
    const box = (name) => page.getByRole("textbox", { name, exact: true });
    await find.click();
    await page.getByText("Say what is stored").waitFor();
    // Hostile and wrong lines are text.
    await box("What is stored?").fill("Order: order_id ulid\n<img src=x onerror=alert(1)>");
    await box("What is asked?").fill("all: Refund");
    await find.click();
    await page.getByText("there is no entity").waitFor();
    assert(await page.getByText("line 2").isVisible(), "the wrong line is numbered");
    equal(await page.getByRole("button", { name: "Save the file" }).count(), 0, "files of wrong answers");
    await page.getByRole("button", { name: "An example" }).click();
    await page.getByRole("textbox", { name: "Name of the file" }).fill("shop-1");
    await find.click();
    await page.getByText("every pattern is proven").waitFor();
    await page.getByText("query on GSI1").first().waitFor();
    await page.locator(".picture img").first().waitFor();
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      await page.waitForTimeout(100);
      await page.screenshot({ path: suite.picture(`new-made-${colorScheme}`), fullPage: true });
      equal(await inaccessible(page, colorScheme === "dark" ? ["color-contrast"] : null), [], `accessibility (${colorScheme})`);
    }
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Save the file" }).click(),
    ]);
    equal(file.suggestedFilename(), "shop-1.toml", "the file's name");
    const path = join(world.scratch, "shop-1.toml");
    writeFileSync(path, readFileSync(await file.path()));
    execFileSync(world.binary, ["check", path]);
    // What was said is there after the page was loaded again.
    await page.reload();
    equal((await box("What is asked?").inputValue()).split("\n").length, 3, "patterns after a reload");
    equal(problems, [], "problems of the page");
    await context.close();
  });
}
