// Pictures of the workbench for the documents. Usage: node pictures.mjs CONTEXT.json; see docs/_make/workbench_shots.py
import fs from "node:fs";
import path from "node:path";
import { chromium } from "playwright-core";

const context = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
const origin = new URL(context.address).origin;
const browser = await chromium.launch({
  executablePath: context.browser,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
for (const one of context.pages) {
  const session = await browser.newContext({ viewport: { width: one.width, height: one.height }, colorScheme: one.theme ?? "light", reducedMotion: "reduce" });
  const page = await session.newPage();
  page.setDefaultTimeout(context.patience);
  await page.goto(context.address);
  if (one.dial) await page.evaluate((dial) => fetch("/dial", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(dial) }), one.dial);
  await page.goto(origin + one.path);
  await page.waitForSelector(one.until);
  await page.waitForFunction(() => !document.querySelector(".busy"));
  await page.waitForTimeout(400);
  await page.screenshot({ path: path.join(context.out, `${one.name}.png`) });
  await session.close();
}
await browser.close();
