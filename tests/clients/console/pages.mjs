// Every page with the demo's data: nothing goes wrong, it is accessible, and there is a picture of it.
import { equal, inaccessible, openPage, unreachable } from "./harness.mjs";

const [SCREEN, TABLET] = [
  { width: 1280, height: 800 },
  { width: 820, height: 1180 },
];
const SHAPES = {
  light: [SCREEN, "light"],
  dark: [SCREEN, "dark"],
  tablet: [TABLET, "light"],
  "tablet-dark": [TABLET, "dark"],
};

/** The address of each page and what shows that it is drawn. */
export function addresses(world) {
  const design = encodeURIComponent(world.design);
  const busy = encodeURIComponent(world.busy.S);
  const key = encodeURIComponent(JSON.stringify(world.someTask));
  return {
    overview: ["#/overview", ".chart canvas"],
    heat: ["#/heat/tasks?span=15m", ".hot-keys li"],
    data: ["#/data/tasks", ".grid .row.inner"],
    item: [`#/data/tasks?pk=${busy}&item=${key}`, ".item-panel dd"],
    edit: [`#/data/tasks?pk=${busy}&item=new`, ".cm-content"],
    pattern: [`#/data/tasks?mode=pattern&pattern=tasks%20in%20a%20project&in.project_id=${busy.replace("PROJECT%23", "")}&run=1`, ".grid .row .entity"],
    partiql: ["#/data/tasks?mode=partiql", ".cm-content"],
    request: ["#/data/tasks?mode=request", ".cm-content"],
    entities: [`#/design/${design}`, ".chart-table td"],
    samples: [`#/design/${design}/tables?index=GSI1`, ".grid .row.inner"],
    patterns: [`#/design/${design}/patterns?pattern=task%20by%20id`, ".details pre"],
    diagrams: [`#/design/${design}/diagrams`, ".picture img"],
    file: [`#/design/${design}/file`, ".cm-content"],
    doctor: ["#/doctor", ".finding"],
    simulate: ["#/simulate", "form.ask"],
    new: ["#/new", "form.questions"],
    migrate: ["#/migrate", ".empty, .facts"],
  };
}

export async function pages(suite, world) {
  for (const [name, [fragment, shown]] of Object.entries(addresses(world))) {
    await suite.test(`page ${name}`, async () => {
      const { page, context, problems } = await openPage(world.browser, world.url + fragment);
      await page.locator(shown).first().waitFor({ state: "visible" });
      for (const [shape, [size, colorScheme]] of Object.entries(SHAPES)) {
        await page.setViewportSize(size);
        await page.emulateMedia({ colorScheme });
        await page.locator(shown).first().waitFor({ state: "visible" });
        await page.waitForTimeout(100);
        await page.screenshot({ path: suite.picture(`${name}-${shape}`) });
        const beyond = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        equal(beyond, 0, `pixels beyond the edge (${shape})`);
        equal(await inaccessible(page), [], `accessibility (${shape})`);
        if (colorScheme === "light") equal(await unreachable(page), [], `by keyboard only (${shape})`);
      }
      equal(problems, [], "problems of the page");
      await context.close();
    });
  }
}
