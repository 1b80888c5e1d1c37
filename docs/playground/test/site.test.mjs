// The built site in a browser: `python -m tests.docs_site`, then `npm run test-site`.

import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import axe from "axe-core";
import { launch } from "./browser.mjs";
import { serve } from "./server.mjs";

const SITE = new URL("../../../build/site/html/", import.meta.url);

let server, browser, version;
before(async () => {
  const versions = JSON.parse(await readFile(new URL("versions.json", SITE), "utf8"));
  version = versions.find(({ aliases }) => aliases.includes("latest")).version;
  server = await serve(SITE.pathname);
  browser = await launch();
});
after(async () => {
  await browser.close();
  await server.stop();
});

const PAGES = ["", "cli/", "codes/", "codes/nc101/", "api/", "evidence/", "contributing/"];

for (const colorScheme of ["light", "dark"]) {
  test(`${colorScheme} pages ask no other host, and axe finds nothing serious`, async () => {
    const context = await browser.newContext({ colorScheme });
    const requests = [];
    context.on("request", (request) => requests.push(request.url()));
    for (const name of PAGES) {
      const page = await context.newPage();
      const errors = [];
      page.on("pageerror", (error) => errors.push(error.message));
      await page.goto(`${server.address}${version}/${name}`, { waitUntil: "networkidle" });
      await page.evaluate(axe.source);
      // The theme labels the button that shows the version "Select version".
      const rules = { "label-content-name-mismatch": { enabled: false } };
      const { violations } = await page.evaluate((rules) => window.axe.run({ rules }), rules);
      const serious = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
      assert.deepEqual(
        serious.map(({ id, nodes }) => [name, id, nodes.map(({ html }) => html.slice(0, 160))]),
        [],
      );
      assert.deepEqual(errors, []);
      await page.close();
    }
    assert.deepEqual(
      requests.filter((url) => !url.startsWith(server.address)),
      [],
    );
    await context.close();
  });
}

test("the root leads to the latest version, whose links to the playground open programs", async () => {
  const page = await browser.newPage();
  await page.goto(server.address);
  await page.waitForURL(`**/${version}/`);
  await page.goto(`${server.address}${version}/codes/nc601/`);
  const program = await page.locator("pre > code").first().innerText();
  await page.locator(".try a").first().click();
  await page.waitForSelector("body[data-state=shown]");
  const shown = await page
    .locator(".cm-content")
    .evaluate((content) => content.cmTile.view.state.doc.toString());
  assert.equal(shown.trim(), program.trim());
  const [code] = await page.locator(".card .code").all();
  assert.equal(await code.textContent(), "NC601");
  const [opened] = await Promise.all([page.waitForEvent("popup"), code.click()]);
  await opened.waitForURL("**/codes/nc601/");
  await page.close();
});

test("the search finds a code by its number", async () => {
  const page = await browser.newPage();
  await page.goto(`${server.address}${version}/`, { waitUntil: "networkidle" });
  await page.click(".md-search__button");
  await page.keyboard.type("NC602");
  await page.locator("a[href*='codes/nc602']:visible").first().waitFor();
  await page.close();
});

test("every page of the site exists once for each address that a page has", async () => {
  const addresses = new Set();
  const found = new Set();
  for (const path of await readdir(new URL(`${version}/`, SITE), { recursive: true })) {
    if (!path.endsWith(".html") || path.startsWith("playground/") || path === "404.html") continue;
    const base = new URL(path, "http://site/");
    found.add(base.href);
    const text = await readFile(new URL(`${version}/${path}`, SITE), "utf8");
    for (const [, href] of text.matchAll(/<a[^>]* href="([^"]*)"/g)) {
      const url = new URL(href.replaceAll("&amp;", "&"), base);
      if (url.host !== "site" || !url.pathname.endsWith("/")) continue;
      url.hash = "";
      addresses.add(new URL("index.html", url).href);
    }
  }
  addresses.delete("http://site/playground/index.html");
  assert.deepEqual(
    [...addresses].filter((address) => !found.has(address)),
    [],
  );
  assert.ok(found.size > 90);
});
