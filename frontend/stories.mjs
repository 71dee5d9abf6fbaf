// The stories of people at the workbench, told in a real browser. Usage: node stories.mjs CONTEXT.json
// The context says where the server is and what lies on the bench; what happened is printed as JSON.
import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const context = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
const axe = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const told = { stories: {}, trouble: [], axe: [], overflow: [] };
const origin = new URL(context.address).origin;

const browser = await chromium.launch({
  executablePath: context.browser,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
const session = await browser.newContext({ viewport: { width: 1280, height: 900 }, acceptDownloads: true });
await session.grantPermissions(["clipboard-read", "clipboard-write"], { origin });
const page = await session.newPage();
page.setDefaultTimeout(context.patience);
// A refusal that the page puts into words is also noted by the browser, which is no fault.
const foreseen = /status of (409|422)/;
page.on("console", (message) => !foreseen.test(message.text()) && ["error", "warning"].includes(message.type()) && told.trouble.push(`console: ${message.text()}`));
page.on("pageerror", (error) => told.trouble.push(`page: ${error.message}`));
page.on("dialog", (dialog) => {
  told.trouble.push(`dialog: ${dialog.message()}`);
  void dialog.dismiss();
});
page.on("request", (request) => {
  const url = request.url();
  if (!url.startsWith(origin) && !url.startsWith("data:") && !url.startsWith("blob:")) told.trouble.push(`off-origin: ${url}`);
});

const settle = async () => {
  await page.waitForSelector("h1");
  await page.waitForFunction(() => !document.querySelector(".busy"));
};
// Whoever works on one story need not wait for the others.
const only = new RegExp(process.env.NOISEGATE_STORIES ?? "");
async function story(name, tell) {
  if (!only.test(name)) return;
  const start = Date.now();
  try {
    const said = await tell();
    told.stories[name] = { ok: true, seconds: (Date.now() - start) / 1000, ...said };
  } catch (error) {
    told.stories[name] = { ok: false, why: String(error).slice(0, 600), at: page.url() };
  }
}
const expect = (condition, what) => {
  if (!condition) throw new Error(`expected ${what}`);
};
const open = async (where) => {
  await page.goto(origin + where);
  await settle();
};

await page.goto(context.address);
await settle();

await story("the token leaves the address", async () => expect(!page.url().includes("token"), "an address without the token"));

await story("drop three tables and read the law and the scale", async () => {
  await page.setInputFiles("input[type=file]", context.drop);
  await page.waitForURL(/\/files/);
  await settle();
  const text = await page.locator(".node.base").innerText();
  expect(/scale [\d.]+ \([\d.]+ to [\d.]+, 95.%\)/.test(text), `law and scale, got ${text}`);
  return { law: text.split("\n").find((line) => line.includes("scale")) };
});

await story("say the noise, click a hole and see its proof", async () => {
  await open(`/r/${context.towns}/files`);
  await page.fill("input[name=noise]", "laplace:1.4");
  await page.getByRole("button", { name: "Work out the hidden cells" }).click();
  await page.waitForSelector(".bar");
  await open(`/r/${context.towns_again}/files`);
  await page.fill("input[name=noise]", "laplace:1.4");
  await page.getByRole("button", { name: "Work out the hidden cells" }).click();
  await page.waitForSelector(".bar");
  await open(`/r/${context.towns}/microscope`);
  await page.waitForSelector(".panel .law svg");
  const canvas = page.locator(".canvas");
  await canvas.click({ position: { x: 30, y: 60 } });
  await page.waitForFunction(() => document.querySelectorAll(".panel [role=switch]").length === 2);
  const proof = await page.locator(".panel").innerText();
  expect(/in total/.test(proof), "the arithmetic of a total");
});

await story("switch a margin off and see the posterior move", async () => {
  const before = await page.locator(".panel .say").innerText();
  const start = Date.now();
  await page.locator(".panel [role=switch]").first().click();
  await page.waitForFunction(() => document.querySelector(".panel li.off"));
  const waited = Date.now() - start;
  const after = await page.locator(".panel .say").innerText();
  expect(page.url().includes("without="), "the switch in the address");
  await page.reload();
  await page.waitForSelector(".panel li.off");
  await page.keyboard.press("1");
  await page.waitForFunction(() => !document.querySelector(".panel li.off"));
  return { before, after, toggled_ms: waited };
});

await story("walk over the map with the keyboard", async () => {
  await page.locator(".canvas").focus();
  const first = new URL(page.url()).searchParams.get("cell");
  await page.keyboard.press("ArrowDown");
  await page.waitForFunction((was) => new URL(location.href).searchParams.get("cell") !== was, first);
});

await story("reach every page by keys, and see which there are", async () => {
  await page.keyboard.press("?");
  await page.waitForSelector("dialog[open]");
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !document.querySelector("dialog[open]"));
  for (const [key, where] of [["n", "noise"], ["w", "weeks"], ["f", "files"], ["m", "microscope"]]) {
    await page.keyboard.press("g");
    await page.keyboard.press(key);
    await page.waitForURL(new RegExp(`/${where}`));
  }
  await settle();
});

await story("judge a finding, reload, sign", async () => {
  await open(`/r/${context.full}/findings`);
  if ((await page.locator("ol > li").count()) > 0) {
    await page.getByRole("button", { name: "Accept" }).first().click();
    await page.waitForSelector("text=Saved");
    await page.reload();
    await settle();
    expect((await page.getByRole("button", { name: "Accept" }).first().getAttribute("aria-pressed")) === "true", "the verdict after a reload");
  }
  await page.fill(".sign input", "Ada <b>L</b>");
  await page.getByRole("button", { name: "Sign" }).click();
  await page.waitForSelector("text=Signed by");
});

await story("export the report and open it offline", async () => {
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Export report" }).click()]);
  const kept = path.join(context.work, "report.html");
  await file.saveAs(kept);
  const alone = await browser.newContext({ offline: true });
  const report = await alone.newPage();
  const asked = [];
  report.on("request", (request) => request.url().startsWith("http") && asked.push(request.url()));
  report.on("pageerror", (error) => told.trouble.push(`report: ${error.message}`));
  await report.goto(`file://${kept}`);
  expect((await report.locator("h1").count()) > 0, "a heading");
  report.on("console", (message) => message.type() === "error" && told.trouble.push(`report: ${message.text()}`));
  expect(asked.length === 0, "no request");
  await alone.close();
});

await story("use the report itself: a hole, its proof, a table switched off", async () => {
  await open(`/r/${context.towns}/findings`);
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Export report" }).click()]);
  const kept = path.join(context.work, "report-towns.html");
  await file.saveAs(kept);
  const alone = await browser.newContext({ offline: true, viewport: { width: 1280, height: 900 } });
  const report = await alone.newPage();
  report.setDefaultTimeout(context.patience);
  const asked = [];
  report.on("request", (request) => !/^(file|data|blob):/.test(request.url()) && asked.push(request.url()));
  report.on("pageerror", (error) => told.trouble.push(`report: ${error.message}`));
  report.on("console", (message) => message.type() === "error" && told.trouble.push(`report: ${message.text()}`));
  await report.goto(`file://${kept}`);
  const title = await report.title();
  await report.locator("#live .panel .law svg").waitFor();
  await report.locator("#live [role=switch]").first().click();
  await report.locator("#live li.off").first().waitFor();
  await report.getByRole("link", { name: "Weeks", exact: true }).click();
  await report.getByRole("button", { name: "Play the weeks" }).waitFor();
  expect((await report.title()) === title && report.url().endsWith("report-towns.html"), "the report's own title and address");
  expect(asked.length === 0, `no request, got ${asked}`);
  await alone.close();
  return { bytes: fs.statSync(kept).size };
});

await story("keep the pages as one file and use them offline", async () => {
  await open(`/r/${context.towns}/findings`);
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Keep these pages" }).click()]);
  const kept = path.join(context.work, "kept.html");
  await file.saveAs(kept);
  const alone = await browser.newContext({ offline: true, viewport: { width: 1280, height: 900 } });
  const copy = await alone.newPage();
  copy.setDefaultTimeout(context.patience);
  const asked = [];
  copy.on("request", (request) => !/^(file|data|blob):/.test(request.url()) && asked.push(request.url()));
  copy.on("pageerror", (error) => told.trouble.push(`kept: ${error.message}`));
  copy.on("console", (message) => message.type() === "error" && told.trouble.push(`kept: ${message.text()}`));
  await copy.goto(`file://${kept}`);
  await copy.waitForSelector(".node.base");
  await copy.getByRole("link", { name: "Microscope", exact: true }).click();
  await copy.waitForSelector(".panel .law svg");
  await copy.locator(".panel [role=switch]").first().click();
  await copy.waitForSelector(".panel li.off");
  expect(asked.length === 0, `no request, got ${asked}`);
  if (context.pictures) await copy.screenshot({ path: path.join(context.pictures, "kept.png"), fullPage: true });
  await alone.close();
  return { bytes: fs.statSync(kept).size };
});

await story("ask a total, then a difference with its interval", async () => {
  await open(`/r/${context.week}/ask`);
  await page.waitForSelector(".verdict");
  await page.getByRole("group", { name: "mode", exact: true }).getByRole("button", { name: "bus" }).click();
  await page.getByRole("button", { name: "how many more than" }).click();
  await page.getByRole("group", { name: "Compared with mode" }).getByRole("button", { name: "ferry" }).click();
  await page.waitForFunction(() => /\+/.test(document.querySelector(".verdict")?.textContent ?? ""));
  await settle();
  const said = await page.locator(".answer .statement").innerText();
  expect(/ to .*\(95.%\)/.test(said), `an interval, got ${said}`);
  await page.getByRole("button", { name: "Copy as Python" }).click();
  const python = await page.evaluate(() => navigator.clipboard.readText());
  expect(python.includes("compare("), "the question as Python");
  return { said };
});

await story("draw what the truth might be, and take a picture", async () => {
  await open(`/r/${context.week}/ask`);
  await page.getByRole("button", { name: "Draw 60 truths" }).click();
  await page.waitForFunction(() => document.querySelectorAll(".draws .dots i").length === 60);
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Picture" }).click()]);
  const kept = path.join(context.work, "answers.png");
  await file.saveAs(kept);
  expect(fs.readFileSync(kept).subarray(1, 4).toString() === "PNG", "a picture");
});

await story("drag a rival law beside the fitted one", async () => {
  await open(`/r/${context.full}/noise`);
  const rival = page.getByLabel("Try a rival").first();
  await rival.selectOption({ index: 1 });
  await page.waitForSelector(".rival");
  const slider = page.locator(".slide input").first();
  await slider.focus();
  await page.keyboard.press("End");
  await page.waitForFunction(() => /times less likely/.test(document.querySelector(".verdict")?.textContent ?? ""));
  return { said: await page.locator(".verdict").first().innerText() };
});

await story("find the epsilon of a tolerated error", async () => {
  await open("/price");
  await page.waitForSelector(".big");
  const before = Number((await page.locator(".big").innerText()).replace(/[^\d.]/g, ""));
  const slider = page.locator("input[type=range]").first();
  await slider.focus();
  await page.keyboard.press("Home");
  const after = Number((await page.locator(".big").innerText()).replace(/[^\d.]/g, ""));
  expect(after > before, `a sharper answer to be dearer, got ${before} and ${after}`);
  await page.waitForSelector(".cards li");
  expect((await page.locator(".cards li").count()) >= 2, "what an attacker is sure of");
  return { before, after };
});

await story("find the epsilon for 5 % on the morning peak", async () => {
  await open(`/price?spec=${context.spec}`);
  await page.waitForSelector(".big");
  const row = page.locator("li", { hasText: "morning peak" });
  await row.getByRole("textbox").fill("60");
  await page.keyboard.press("Tab");
  await row.getByRole("button", { name: "± 10 %" }).click();
  const rough = Number((await row.locator(".need b").innerText()));
  await row.getByRole("button", { name: "± 5 %" }).click();
  expect(/± 3 on average, that is ± 5 %/.test((await row.innerText()).replaceAll("\n", " ")), "the error in events and in percent");
  const sharp = Number((await row.locator(".need b").innerText()));
  expect(sharp > rough, `5 % to be dearer than 10 %, got ${sharp} and ${rough}`);
  return { rough, sharp };
});

await story("see two releases side by side, at the same place", async () => {
  await open(`/r/${context.towns}/compare?with=${context.towns_again}`);
  await page.waitForFunction(() => document.querySelectorAll(".maps .canvas").length === 2);
  await page.locator(".maps .canvas").first().click({ position: { x: 60, y: 60 } });
  const [one, other] = await page.locator(".maps .read").allInnerTexts();
  expect(one.split(":")[0] === other.split(":")[0], `the same cell, got ${one} and ${other}`);
});

await story("turn the dial: known trips count on every page", async () => {
  await open(`/r/${context.leaky}/files`);
  const dial = page.getByRole("group", { name: "What the attacker has" });
  await dial.getByRole("combobox").selectOption("4");
  await page.waitForSelector(".says .leak");
  const said = await dial.innerText();
  expect(/\d+ of 100 times right/.test(said), `how sure that makes, got ${said}`);
  await open(`/r/${context.leaky}/microscope`);
  await page.waitForSelector(".panel .known");
  expect(/other people/.test(await page.locator(".panel .known").innerText()), "who else is there");
  await page.getByRole("group", { name: "What the attacker has" }).getByRole("combobox").selectOption("0");
  await page.waitForFunction(() => !document.querySelector(".says .leak"));
  return { said: said.replaceAll("\n", " ") };
});

await story("play weeks", async () => {
  await open(`/r/${context.leaky}/weeks`);
  await page.getByRole("button", { name: "Play the weeks" }).click();
  await page.waitForFunction(() => Number(document.querySelector(".week").textContent.match(/\d+/)[0]) >= 6);
  await page.getByRole("button", { name: "Stop" }).click();
  const week = Number((await page.locator(".week").innerText()).match(/\d+/)[0]);
  const seen = await page.locator("[data-group='12'] .right").innerText();
  expect(page.url().includes(`week=${week}`), "the week in the address");
  await page.reload();
  await settle();
  expect((await page.locator("[data-group='12'] .right").innerText()) === seen, "the same week after a reload");
  return { week, seen };
});

await story("apply a fix and see both maps", async () => {
  await open(`/r/${context.leaky}/fix`);
  await page.waitForSelector("section[aria-label='Changes']");
  for (const title of ["Give empty cells noise too", "Make totals agree with their cells"]) {
    await page.locator("li", { hasText: title }).getByRole("button", { name: "Change the spec" }).click();
    await page.locator("li", { hasText: title }).getByRole("button", { name: "Take back" }).waitFor();
  }
  const diff = await page.locator(".diff").innerText();
  expect(/\+\s*zeros: perturb/.test(diff) && /-\s*zeros: keep/.test(diff) && /\+\s*unsafe: false/.test(diff), `the difference, got ${diff}`);
  const make = page.getByRole("button", { name: "Release and attack it" });
  expect(await make.isDisabled(), "no release before its name is typed");
  await page.fill(".make input", "leaky-fixed");
  await make.click();
  await page.waitForURL(/\/compare\?with=/);
  await page.waitForFunction(() => document.querySelectorAll(".maps .canvas").length === 2);
  const text = await page.locator("main").innerText();
  expect(/ attack on both sides/.test(text), "whether the attack was the same");
  expect(/gone in leaky-fixed/.test(text), "a finding that is gone");
  return { said: text.match(/.*attack on both sides.*/)[0].slice(0, 200) };
});

await story("catch a card that lies", async () => {
  await open(`/r/${context.liar}/files`);
  expect((await page.locator("h1").innerText()) === "The card of this release does not tell the truth.", "the verdict");
  const lie = await page.locator(".lies").first().innerText();
  expect(/the card says/.test(lie), `what the card says, got ${lie}`);
  return { lie };
});

await story("read the ledger of a population", async () => {
  await open("/ledger");
  await page.waitForSelector("text=leaky-fixed");
  const text = await page.locator("main").innerText();
  expect(/riders/.test(text) && /ε 2\.86/.test(text), "its releases with their losses");
});

await story("be asked for unit and bounds, and get a spec", async () => {
  await open("/interview");
  await page.getByRole("combobox").selectOption({ label: "custodian/taps.parquet" });
  await page.waitForSelector("section[aria-label='Questions']");
  for (const box of await page.locator("section[aria-label='Questions'] input.field").all()) {
    const about = await box.evaluate((one) => one.closest("label").innerText);
    await box.fill(/public/.test(about) ? "A, B" : /cells/.test(about) ? "3" : /lose/.test(about) ? "1.5" : "riders");
  }
  await page.getByText("A person, whatever she does").click();
  await page.getByRole("button", { name: "Check it" }).click();
  await page.waitForSelector("text=It can be released");
  await page.getByRole("button", { name: "Write it beside the events" }).click();
  await page.waitForSelector("text=Written:");
  expect(fs.existsSync(path.join(context.custodian, "spec-taps.yaml")), "the spec beside the events");
});

/** Nothing that a name says may happen, turn the writing round, or push the page aside. */
const unharmed = async (where, on = page) => {
  const harm = await on.evaluate(() => {
    const places = [document.querySelector("main") ?? document.body, ...[...document.querySelectorAll("*")].flatMap((one) => (one.shadowRoot ? [one.shadowRoot] : []))];
    const all = places.flatMap((one) => [...one.querySelectorAll("*")]);
    return {
      ran: "harmed" in window,
      made: all.filter((one) => ["IMG", "IFRAME", "OBJECT", "EMBED"].includes(one.tagName) && !one.currentSrc?.startsWith("data:image")).length,
      handlers: all.filter((one) => one.getAttributeNames().some((name) => name.startsWith("on"))).length,
      links: all.filter((one) => /^\s*javascript:/i.test(one.getAttribute("href") ?? "")).length,
      turned: /[\u202a-\u202e\u2066-\u2069]/.test(document.body.innerText),
      wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    };
  });
  expect(!harm.ran && harm.made === 0 && harm.handlers === 0 && harm.links === 0 && !harm.turned && harm.wide <= 0, `no harm on ${where}, got ${JSON.stringify(harm)}`);
};
const IMAGE = context.image;
const asText = async (where) => expect((await page.locator("body").innerText()).includes(IMAGE), `the name as text on ${where}`);

for (const width of [1280, 390]) {
  await story(`a hostile name is text on every screen, ${width} wide`, async () => {
    await page.setViewportSize({ width, height: 900 });
    await open("/");
    await asText("start");
    await unharmed("start");
    await open(`/r/${context.hostile}/files`);
    if (width === 1280) {
      await page.fill("input[name=noise]", "laplace:1.4");
      await page.getByRole("button", { name: "Work out the hidden cells" }).click();
      await page.waitForSelector(".bar");
    }
    for (const one of ["files", "noise", "microscope", "weeks", "findings", `compare?with=${context.hostile_release}`]) {
      await open(`/r/${context.hostile}/${one}`);
      if (one === "microscope") {
        await page.waitForSelector(".panel .law svg");
        const box = await page.locator(".canvas").boundingBox();
        for (let k = 0; k < 12; k++) {
          await page.mouse.move(box.x + 20 + k * 6, box.y + 4 + ((box.height - 8) * k) / 12);
          await page.waitForTimeout(30);
          await unharmed(`${one}, row ${k}`);
        }
        await page.mouse.click(box.x + 30, box.y + 8);
        await page.waitForTimeout(200);
        await page.locator(".panel [role=switch]").first().click();
        await page.waitForSelector(".panel li.off");
      }
      await page.waitForTimeout(150);
      await unharmed(one);
      if (["files", "noise"].includes(one)) await asText(one);
    }
    for (const one of ["files", "noise", "microscope", "weeks", "findings", "fix?do=zeros,totals", "ask?by=stop", "ask?by=constructor&form=difference", `compare?with=${context.hostile}`]) {
      await open(`/r/${context.hostile_release}/${one}`);
      await page.waitForTimeout(250);
      await page.waitForFunction(() => !document.querySelector(".busy"));
      await unharmed(one);
      if (one === "ask?by=stop" || one.startsWith("fix")) await asText(one);
    }
    await page.evaluate(() => fetch("/dial", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ timetable: true, known: 4 }) }));
    await open(`/r/${context.town}/map?place=${encodeURIComponent(IMAGE)}`);
    await page.waitForSelector(".bench circle");
    await asText("map");
    await unharmed("map");
    await page.evaluate(() => fetch("/dial", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ timetable: false, known: 0 }) }));
    for (const one of ["/ledger", `/price?spec=${context.hostile_spec}`, `/interview?events=${context.hostile_events}`]) {
      await open(one);
      await page.waitForTimeout(250);
      await page.waitForFunction(() => !document.querySelector(".busy"));
      await unharmed(one);
    }
    await asText("interview");
  });
}
await page.setViewportSize({ width: 1280, height: 900 });

await story("a hostile name is text in what is taken along", async () => {
  await open(`/r/${context.hostile_release}/ask?by=stop&where=${encodeURIComponent(JSON.stringify({ stop: context.names, constructor: ["bus"] }))}`);
  await page.waitForSelector(".answer tbody");
  await page.getByRole("button", { name: "Copy as CSV" }).click();
  await page.waitForSelector("text=Copied");
  const csv = await page.evaluate(() => navigator.clipboard.readText());
  await page.getByRole("button", { name: "Copy as Python" }).click();
  await page.waitForFunction(() => document.querySelector(".copy button").textContent === "Copied");
  const python = await page.evaluate(() => navigator.clipboard.readText());
  for (const which of ["hostile", "hostile_release"]) {
    await open(`/r/${context[which]}/findings`);
    const boxes = page.locator("ol textarea");
    if (await boxes.count()) {
      await boxes.first().fill(`${IMAGE}</script>`);
      await boxes.first().blur();
      await page.waitForSelector("text=Saved");
    }
    await page.fill(".sign input", IMAGE);
    await page.getByRole("button", { name: "Sign" }).click();
    await page.waitForSelector("text=Signed by");
    for (const button of ["Export report", "Keep these pages"]) {
      const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: button }).click()]);
      const kept = path.join(context.work, `hostile-${which}-${button.split(" ")[0]}.html`);
      await file.saveAs(kept);
      const alone = await browser.newContext({ offline: true, viewport: { width: 1280, height: 900 } });
      const copy = await alone.newPage();
      copy.setDefaultTimeout(context.patience);
      copy.on("pageerror", (error) => told.trouble.push(`${button}: ${error.message}`));
      copy.on("dialog", (dialog) => told.trouble.push(`${button}: ${dialog.message()}`));
      await copy.goto(`file://${kept}`);
      await copy.waitForSelector("h1");
      await copy.waitForTimeout(600);
      await unharmed(`${button} of ${which}`, copy);
      if (button === "Export report") expect((await copy.locator("body").innerText()).includes(`Signed by ${IMAGE}`), "the signature in the report");
      await alone.close();
    }
  }
  return { csv, python };
});

await story("addresses that make no sense are no trouble", async () => {
  for (const one of [`/r/${context.towns}/microscope?without=%7B&cell=x&only=7`, `/r/${context.towns}/microscope?cell=999999&rows=nothing`, `/r/${context.week}/ask?where=%5B&to=7&form=x&level=y&by=nothing`, `/r/${context.leaky}/weeks?week=-3`, `/price?spec=nothing&within=%7B`, "/interview?events=nothing", `/r/${context.leaky}/fix?do=nothing&max_cells=x`, `/r/${context.towns}/compare?with=nothing`, `/r/${context.leaky}/map?place=nothing`]) {
    await open(one);
    await page.waitForTimeout(200);
    expect((await page.locator("main").innerText()).length > 40, `something to read at ${one}`);
  }
});

await story("a page that is not there says the way out", async () => {
  await open("/r/nothing/files");
  expect((await page.locator("main").innerText()).includes("Go to the start"), "the way out");
});

for (const where of ["/", ...["files", "noise", "microscope", "findings", "compare"].map((one) => `/r/${context.towns}/${one}${one === "compare" ? `?with=${context.towns_again}` : ""}`), `/r/${context.week}/ask?by=mode`, `/r/${context.leaky}/weeks?week=26`, `/r/${context.leaky}/fix?do=zeros,totals,person`, `/r/${context.liar}/files`, "/price", "/ledger", `/interview?events=${context.events}`]) {
  for (const [width, theme] of process.env.NOISEGATE_STORIES ? [] : context.looks) {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme: theme });
    await open(where);
    await page.waitForTimeout(250);
    await page.waitForFunction(() => !document.querySelector(".busy"));
    await page.evaluate(axe);
    const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
    for (const one of found.violations) told.axe.push(`${where} ${width} ${theme}: ${one.impact} ${one.id} ${one.nodes.slice(0, 2).map((node) => node.target.join(" ")).join(" | ")}`);
    const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    if (over > 0) told.overflow.push(`${where} ${width}: ${over}`);
    if (context.pictures) await page.screenshot({ path: path.join(context.pictures, `${where.replace(/[^a-z]+/g, "-")}-${width}-${theme}.png`), fullPage: true });
  }
}
await browser.close();
console.log(JSON.stringify(told));
