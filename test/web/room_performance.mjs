// SPDX-License-Identifier: Apache-2.0
//
// Measured by hand, on a machine that does nothing else: the room page at 50 messages a second.
//
//   HOLDFAST_PROGRAM=build/release/holdfast node test/web/room_performance.mjs [SECONDS]
//
// Prints how many comments flew at once, the tasks that took longer than 50 ms, frames a second and
// the memory of scripts, after warming up for ten seconds. Beside the time that a task took stands the
// processor time of the longest: on a busy machine only that says something about the page.
import { endAll, inRoom, serve, visit } from "./ground.mjs";

const seconds = Number(process.argv[2] || 30);
const SHORT = ["666", "haha", "nice", "wow", "first!", "again", "好听", "来了"];
const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

// The processor time of the page's tasks, from the browser's own trace.
async function tracing(page) {
  const session = await page.context().browser().newBrowserCDPSession();
  const tasks = [];
  const threads = new Map();
  session.on("Tracing.dataCollected", ({ value }) => {
    for (const one of value) {
      if (one.name === "thread_name") threads.set(`${one.pid}/${one.tid}`, one.args.name);
      if (one.ph === "X" && one.tdur > 0 && one.name.includes("RunTask")) tasks.push(one);
    }
  });
  await session.send("Tracing.start", { transferMode: "ReportEvents",
    traceConfig: { includedCategories: ["toplevel"], excludedCategories: ["*"] } });
  return async () => {
    const complete = new Promise((resolve) => { session.once("Tracing.tracingComplete", resolve); });
    await session.send("Tracing.end");
    await complete;
    const main = tasks.filter((one) => threads.get(`${one.pid}/${one.tid}`) === "CrRendererMain")
      .map((one) => one.tdur / 1000).sort((a, b) => b - a);
    const sum = main.reduce((a, b) => a + b, 0);
    return `longest ${main.slice(0, 5).map((ms) => ms.toFixed(1)).join(", ")} ms of ${main.length}, `
      + `together ${(sum / 10 / seconds).toFixed(1)} % of a core`;
  };
}

try {
  const server = await serve(["--user-rate", "off", "--cooldown", "0.2s", "--quiet", "on"]);
  const page = await visit(`${server.url}room/fast`, { viewport: { width: 1920, height: 1400 } });
  await inRoom(page);
  let sent = 0;
  const timer = setInterval(() => server.post({ roomId: "fast", userId: sent % 40, userName: `u${sent % 40}`,
    messages: Array.from({ length: 5 }, () => ({ content: SHORT[++sent % SHORT.length], messageId: `m${sent}` })) })
    .catch(() => {}), 100);
  await pause(10_000);
  const processor = await tracing(page);
  const before = await page.evaluate(() => {
    window.seen = { long: [], most: 0, frames: 0, begun: performance.now() };
    new PerformanceObserver((list) => { for (const one of list.getEntries()) window.seen.long.push(Math.round(one.duration)); })
      .observe({ entryTypes: ["longtask"] });
    const frame = () => {
      ++window.seen.frames;
      window.seen.most = Math.max(window.seen.most, document.querySelectorAll("#flying span").length);
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
    return performance.memory.usedJSHeapSize;
  });
  await pause(seconds * 1000);
  const seen = await page.evaluate(() => ({ ...window.seen, elapsed: performance.now() - window.seen.begun,
    memory: performance.memory.usedJSHeapSize, nodes: document.querySelectorAll("*").length }));
  const longest = await processor();
  clearInterval(timer);
  console.log(`messages sent            ${sent}`);
  console.log(`comments flying at once  ${seen.most}`);
  console.log(`tasks over 50 ms         ${seen.long.length} ${JSON.stringify(seen.long.slice(0, 20))}`);
  console.log(`processor time of tasks  ${longest}`);
  console.log(`frames a second          ${(1000 * seen.frames / seen.elapsed).toFixed(1)}`);
  console.log(`script memory            ${(before / 1e6).toFixed(1)} MB, then ${(seen.memory / 1e6).toFixed(1)} MB`);
  console.log(`elements                 ${seen.nodes}`);
  console.log(`console                  ${JSON.stringify(page.complaints)}`);
} finally {
  await endAll();
}
