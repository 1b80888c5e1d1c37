// Opens every page of a report: node browser.mjs REPORT CHROMIUM [SCREENSHOTS]
import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const require = createRequire(import.meta.url);
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf-8");
const [report, executablePath, pictures] = process.argv.slice(2);
const inside = pathToFileURL(report).href + "/";
const WIDTHS = [390, 820, 1400];
const overviews = ["index.html", "functions.html", "findings.html"];
const names = [...overviews, ...readdirSync(join(report, "files")).map((file) => `files/${file}`)];
const problems = [];
let checks = 0;

function check(holds, what) {
  checks += 1;
  if (!holds) problems.push(what);
}

// Scripts of a test are run in spite of the pages' policy; what the pages do is under it.
async function opened(browser, width, colorScheme) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
  const page = await context.newPage();
  page.on("request", (request) => {
    check(request.url().startsWith(inside), `${page.url()} requests ${request.url()}`);
  });
  page.on("console", (message) => problems.push(`${page.url()}: ${message.text()}`));
  page.on("pageerror", (error) => problems.push(`${page.url()}: ${error}`));
  page.on("dialog", async (dialog) => {
    problems.push(`${page.url()} opens a dialog: ${dialog.message()}`);
    await dialog.dismiss();
  });
  return page;
}

async function look(page, name, label) {
  await page.goto(inside + name);
  const scroll = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  check(scroll[0] <= scroll[1], `${label} ${name} is ${scroll[0]} wide in ${scroll[1]}`);
  await page.evaluate(axe);
  const result = await page.evaluate(() => axe.run(document, { preload: false }));
  for (const violation of result.violations) {
    const serious = ["serious", "critical"].includes(violation.impact);
    const where = violation.nodes.slice(0, 3).map((node) => `${node.target}: ${node.failureSummary}`);
    const line = `${label} ${name}: ${violation.impact} ${violation.id} ${where.join("; ")}`;
    if (serious) problems.push(line);
    else console.log("minor:", line);
  }
  checks += 1;
  if (pictures) {
    const file = `${label}-${name.replace("files/", "").replace(".html", "")}.png`;
    await page.screenshot({ path: join(pictures, file), fullPage: true });
  }
}

async function dims(page, name) {
  await page.goto(inside + name);
  const tip = page.locator("#dims");
  check(!(await tip.isVisible()), "the dims are shown before an expression is pointed at");
  const pooled = page.locator("#L19 .x", { hasText: /^pooled$/ });
  await pooled.hover();
  check((await tip.innerText()).startsWith("N=32 C=32"), `dims on hover: ${await tip.innerText()}`);
  await page.keyboard.press("Escape");
  check(!(await tip.isVisible()), "Escape does not close the dims");
  await page.mouse.move(0, 0);

  // One stop of the tabulator; arrows lead on.
  await page.locator("#ends").focus();
  const stops = [];
  for (let count = 0; count < 3; count++) {
    await page.keyboard.press("Tab");
    stops.push(await page.evaluate(() => document.activeElement.className));
  }
  check(stops.filter((word) => word.startsWith("x")).length >= 1, `the keyboard stops at ${stops}`);
  await pooled.focus();
  check(await tip.isVisible(), "no dims on focus");
  check((await pooled.getAttribute("aria-describedby")) === "dims", "the dims describe nothing");
  await page.keyboard.press("ArrowRight");
  const text = () => page.evaluate(() => document.activeElement.textContent);
  check((await text()) === "weight", `→ leads to ${await text()}`);
  await page.keyboard.press("o");
  check((await text()) === "pooled @ weight", `o leads to ${await text()}`);
  await page.keyboard.press("ArrowDown");
  check((await text()).includes("scores"), `↓ leads to ${await text()}`);
  await page.keyboard.press("n");
  check((await page.evaluate(() => document.activeElement.id)) === "F1", "n leads to no finding");
  check((await page.locator(".fault.shown").count()) === 2, "a finding does not light its operands");
  await page.keyboard.press("n");
  check((await page.evaluate(() => document.activeElement.id)) === "F2", "n does not go on");
  await page.keyboard.press("p");
  await page.keyboard.press("d");
  check(!(await page.locator("#ends").isChecked()), "d does not hide the dims at line ends");
}

async function tables(page) {
  await page.goto(inside + "index.html");
  const first = () => page.locator("#table tbody tr:first-child th").innerText();
  const heading = page.locator("thead th", { hasText: "File" });
  await heading.locator("button").click();
  check((await heading.getAttribute("aria-sort")) === "ascending", "File is not sorted");
  const ascending = await first();
  await heading.locator("button").focus();
  await page.keyboard.press("Enter");
  check((await heading.getAttribute("aria-sort")) === "descending", "the keyboard does not sort");
  check((await first()) !== ascending, "sorting changes nothing");
  const counts = page.locator("#table tbody td:nth-child(2)");
  await page.locator("thead th", { hasText: "Findings" }).locator("button").click();
  const sorted = (await counts.allInnerTexts()).map(Number);
  const expected = [...sorted].sort((one, other) => other - one);
  check(String(sorted) === String(expected), `most findings first: ${sorted}`);
  await page.locator("#filter").fill("TOUR");
  check((await page.locator("#table tbody tr:visible").count()) === 1, "the filter shows others");
}

async function themes(page) {
  await page.goto(inside + "index.html");
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await paper();
  await page.locator("#theme").click();
  check((await paper()) === light, "the light theme is not that of a light system");
  await page.locator("#theme").click();
  const dark = await paper();
  check(dark !== light, "the theme does not change");
  await page.goto(inside + "findings.html");
  check((await paper()) === dark, "the theme is not kept");
}

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
for (const colorScheme of ["light", "dark"]) {
  for (const width of WIDTHS) {
    const page = await opened(browser, width, colorScheme);
    for (const name of names) await look(page, name, `${width}-${colorScheme}`);
    await page.context().close();
  }
}
const tour = names.find((name) => name.includes("/tour-py-"));
for (const action of [(page) => dims(page, tour), tables, themes]) {
  const page = await opened(browser, 1400, "light");
  await action(page);
  await page.context().close();
}
await browser.close();
for (const problem of problems) console.log("problem:", problem);
console.log(`${names.length} pages at ${WIDTHS.length} widths in 2 themes`);
console.log(`${checks - problems.length} passed, ${problems.length} failed`);
process.exit(problems.length ? 1 : 0);
