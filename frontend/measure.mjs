// How fast the microscope is in a browser. Usage: node measure.mjs CONTEXT.json; see bench/workbench.py
import fs from "node:fs";
import { chromium } from "playwright-core";

const context = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
const origin = new URL(context.address).origin;
const browser = await chromium.launch({
  executablePath: context.browser,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
const page = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage();
page.setDefaultTimeout(600_000);
await page.goto(context.address);
await page.goto(`${origin}/r/${context.id}/microscope`);
await page.waitForSelector(".panel .law svg");
const runs = [];
for (let k = 0; k < 5; k++) {
  const start = Date.now();
  await page.goto(page.url());
  await page.waitForFunction(() => {
    const canvas = document.querySelector(".canvas canvas");
    return canvas && canvas.width > 10 && canvas.getContext("2d").getImageData(5, 5, 1, 1).data[3] > 0;
  });
  const paint_ms = Date.now() - start;
  await page.waitForSelector(".panel .law svg");
  const toggle_ms = await page.evaluate(async () => {
    const out = [];
    for (let i = 0; i < 4; i++) {
      const find = () => document.querySelector(".panel [role=switch]");
      const was = find().getAttribute("aria-checked");
      const begun = performance.now();
      find().click();
      while (find().getAttribute("aria-checked") === was) await new Promise((done) => requestAnimationFrame(done));
      out.push(performance.now() - begun);
    }
    return Math.max(...out);
  });
  const frames = await page.evaluate(
    () =>
      new Promise((done) => {
        const map = document.querySelector(".canvas");
        const box = map.getBoundingClientRect();
        const begun = performance.now();
        let drawn = 0;
        let moves = 0;
        const moving = setInterval(() => {
          map.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + ((moves * 7) % box.width), clientY: box.top + ((moves * 3) % Math.min(box.height, 800)), bubbles: true }));
          if (++moves > 120) clearInterval(moving);
        }, 8);
        const frame = () => (++drawn, performance.now() - begun < 1000 ? requestAnimationFrame(frame) : done(drawn));
        requestAnimationFrame(frame);
      }),
  );
  const scrolled = await page.evaluate(
    () =>
      new Promise((done) => {
        const most = document.documentElement.scrollHeight - window.innerHeight;
        const begun = performance.now();
        let drawn = 0;
        let last = begun;
        let longest = 0;
        const frame = (now) => {
          drawn += 1;
          longest = Math.max(longest, now - last);
          last = now;
          // Down and up again, all of the page twice in a second.
          const share = ((now - begun) / 500) % 1;
          window.scrollTo(0, most * (share < 0.5 ? 2 * share : 2 - 2 * share));
          if (now - begun < 1000) requestAnimationFrame(frame);
          else done({ frames: drawn, longest, most });
        };
        requestAnimationFrame(frame);
      }),
  );
  if (scrolled.most < 300) throw new Error(`the page is too short to scroll: ${scrolled.most}`);
  await page.evaluate(() => window.scrollTo(0, 0));
  runs.push({ paint_ms, toggle_ms, frames, scrolled: scrolled.frames, longest_ms: scrolled.longest });
}
await browser.close();
console.log(JSON.stringify(runs));
