// Pictures of a page in Chromium at the widths of two desks and of a telephone, and what goes wrong while it is shown.
//
//     node benchmarks/screenshots.mjs report.html docs/images/report              # report-1920.png, report-1280.png and report-390.png
//     node benchmarks/screenshots.mjs report.html case '#kind=broken' whole  # at an address in it, of all its height
//     node benchmarks/screenshots.mjs http://127.0.0.1:8000/ docs/images/review   # of jurist review
//
// Chromium is driven through a pipe, so that nothing needs to be installed beside it and Node.
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [page, target, address = "", whole = ""] = process.argv.slice(2);
const flags = ["--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"];
const chromium = spawn(process.env.CHROMIUM || "chromium", flags, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
const [, , , commands, answers] = chromium.stdio;
const waiting = new Map(), heard = new Map(), faults = [];
let number = 0, rest = "";

answers.on("data", (chunk) => {
  const parts = (rest + chunk).split("\0");
  rest = parts.pop();
  for (const message of parts.map((part) => JSON.parse(part))) {
    if (message.id) {
      const [done, failed] = waiting.get(message.id);
      if (message.error) failed(new Error(message.error.message));
      else done(message.result);
    }
    if (message.method === "Runtime.exceptionThrown") faults.push(message.params.exceptionDetails.exception?.description);
    if (message.method === "Log.entryAdded") faults.push(message.params.entry.text);
    heard.get(message.method)?.();
  }
});

const call = (method, params = {}, sessionId = undefined) => new Promise((done, failed) => {
  waiting.set(++number, [done, failed]);
  commands.write(`${JSON.stringify({ id: number, method, params, sessionId })}\0`);
});

for (const width of [1920, 1280, 390]) {
  const { targetId } = await call("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await call("Target.attachToTarget", { targetId, flatten: true });
  const tell = (method, params) => call(method, params, sessionId);
  for (const domain of ["Page", "Runtime", "Log"]) await tell(`${domain}.enable`);
  await tell("Emulation.setDeviceMetricsOverride", { width, height: width > 500 ? 860 : 844, deviceScaleFactor: 1, mobile: width < 500 });
  const loaded = new Promise((done) => heard.set("Page.loadEventFired", done));
  await tell("Page.navigate", { url: (page.startsWith("http") ? page : pathToFileURL(resolve(page)).href) + address });
  await loaded;
  await new Promise((done) => setTimeout(done, 600)); // cases are unpacked by the page's script
  const { result } = await tell("Runtime.evaluate", { expression: "document.documentElement.scrollWidth" });
  if (result.value > width) faults.push(`${width}: the page is ${result.value} wide`);
  const { data } = await tell("Page.captureScreenshot", { format: "png", captureBeyondViewport: Boolean(whole) });
  writeFileSync(`${target}-${width}.png`, Buffer.from(data, "base64"));
  await call("Target.closeTarget", { targetId });
}
await call("Browser.close").catch(() => {});
for (const fault of faults) console.error(fault);
process.exit(faults.length ? 1 : 0);
