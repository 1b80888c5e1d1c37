// Pictures of pages at three widths, light and dark: `npm run screenshots -- FOLDER OUT PAGE…`.
//
// FOLDER has the pages (build/site/html, or dist), OUT takes the pictures, and a PAGE is an address
// below FOLDER.

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { launch } from "./browser.mjs";
import { serve } from "./server.mjs";

const WIDTHS = [1440, 820, 390];
const [folder, out, ...pages] = process.argv.slice(2);

const server = await serve(folder);
const browser = await launch();
await mkdir(out, { recursive: true });
for (const colorScheme of ["light", "dark"]) {
  for (const width of WIDTHS) {
    const context = await browser.newContext({ colorScheme, viewport: { width, height: 900 } });
    const page = await context.newPage();
    for (const name of pages) {
      await page.goto(server.address + name, { waitUntil: "load" });
      await page.waitForSelector("body:not([data-state=loading], [data-state=checked])");
      const file = name.replace(/\W+/g, "_").replace(/^_|_$/g, "") || "index";
      await page.screenshot({ path: join(out, `${file}-${colorScheme}-${width}.png`) });
    }
    await context.close();
  }
}
await browser.close();
await server.stop();
