// SPDX-License-Identifier: Apache-2.0
//
// What the tests of pages stand on: servers of their own, a browser, pages whose console is read, and
// a proxy that can be cut.
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import readline from "node:readline";
import { chromium } from "playwright-core";

const PROGRAM = process.env.HOLDFAST_PROGRAM;
const BROWSER = process.env.HOLDFAST_CHROMIUM || "/usr/bin/chromium";
export const PATIENCE = 60_000;  // ms; a busy machine is no failure

const endings = [];
/** Ends all that was started here, the last first. */
export async function endAll() { while (endings.length > 0) await endings.pop()(); }

/** A child whose first lines on stdout are read; ended with the tests. */
async function start(words, lines, environment = {}) {
  const child = spawn(PROGRAM, words, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: process.env.PATH, HOME: "/nonexistent", ...environment } });
  const gone = new Promise((resolve) => child.on("exit", (code) => resolve(code)));
  const said = { out: [], log: "" };
  child.stderr.setEncoding("utf8").on("data", (text) => { said.log += text; });
  const end = async () => { child.kill("SIGKILL"); await gone; };
  endings.push(end);
  for await (const line of readline.createInterface({ input: child.stdout })) {
    said.out.push(line);
    if (said.out.length === lines) break;
  }
  if (said.out.length < lines) throw new Error(`it did not start: ${said.log}`);
  return { child, gone, said, end };
}

/** `holdfast serve` on a free port, with the embedded engine on another. */
export async function serve(words = [], environment = {}) {
  const own = words.includes("--engine");
  const made = await start(["serve", "--listen", "127.0.0.1:0", ...(own ? [] : ["--redis-port", "0"]), ...words],
    own ? 1 : 2, environment);
  const url = made.said.out[0];
  const redisPort = own ? 0 : Number(made.said.out[1].split(" ").at(-1));
  const post = async (body) => {
    const answer = await fetch(`${url}logic/send`, { method: "POST", body: JSON.stringify(body) });
    return { status: answer.status, body: await answer.json() };
  };
  return { ...made, url, redisPort, post,
    say: (roomId, content, more = {}) => post({ roomId, userId: 7, userName: "Ann", messages: [{ content, ...more }] }) };
}

/** The embedded engine by itself, for several servers. */
export async function engine() {
  const made = await start(["redis", "--port", "0"], 1);
  return `redis://127.0.0.1:${made.said.out[0].split(":").at(-1)}`;
}

/** A file with tasks, and the program on it; run() fails if the program did. */
export async function taskStore() {
  const folder = await mkdtemp(join(tmpdir(), "tasks-"));
  endings.push(() => rm(folder, { recursive: true, force: true }));
  const url = `sqlite:${folder}/tasks.db`;
  const run = (words) => new Promise((resolve, reject) => {
    spawn(PROGRAM, words, { stdio: "ignore", env: { PATH: process.env.PATH, HOME: "/nonexistent", HOLDFAST_ENGINE: url } })
      .on("exit", (code) => (code === 0 ? resolve() : reject(new Error(`${words[0]} ended with ${code}`))));
  });
  return { url, run };
}

/** A command under a lock, as an operator's script would hold one; what it ends with. */
export function holdLock(name, redisPort, more = []) {
  const child = spawn(PROGRAM, ["run", name, "--ttl", "3s", ...more, "--engine", `redis://127.0.0.1:${redisPort}`, "--", "sleep", "300"],
    { stdio: "ignore", env: { PATH: process.env.PATH, HOME: "/nonexistent" } });
  const gone = new Promise((resolve) => child.on("exit", (code) => resolve(code)));
  endings.push(async () => { child.kill("SIGTERM"); await gone; });
  return gone;
}

/** One command of Redis on the served engine. */
export function redis(port, line) {
  return new Promise((resolve, reject) => {
    const socket = net.connect(port, "127.0.0.1", () => socket.write(`${line}\r\n`));
    socket.on("error", reject);
    socket.once("data", (answer) => { socket.end(); resolve(answer.toString().trim()); });
  });
}

/** Between browser and server: cut() ends all connections and takes no more until mend(); hold() lets
 *  nothing of the server's through until letGo(). */
export async function proxy(url) {
  const state = { port: Number(new URL(url).port), cut: false, open: new Set(), far: new Set() };
  const server = net.createServer((near) => {
    near.on("error", () => near.destroy());
    if (state.cut) return near.destroy();
    const far = net.connect(state.port, "127.0.0.1");
    const end = () => { near.destroy(); far.destroy(); state.open.delete(end); state.far.delete(far); };
    state.open.add(end);
    state.far.add(far);
    for (const one of [near, far]) one.on("error", end).on("close", end);
    near.pipe(far);
    far.on("data", (bytes) => near.write(bytes));
    return undefined;
  });
  await new Promise((resolve) => { server.listen(0, "127.0.0.1", resolve); });
  const cut = () => { state.cut = true; for (const end of [...state.open]) end(); };
  endings.push(async () => { cut(); server.close(); });
  return { url: `http://127.0.0.1:${server.address().port}/`, cut,
    hold: () => { for (const far of state.far) far.pause(); },
    letGo: () => { for (const far of state.far) far.resume(); },
    mend: (to) => { state.port = Number(new URL(to).port); state.cut = false; } };
}

let browser = null;
async function launched() {
  if (browser) return browser;
  // Root, as in a container, has no sandbox; the pages are our own.
  browser = await chromium.launch({ executablePath: BROWSER, timeout: PATIENCE,
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"] });
  endings.push(() => browser.close());
  return browser;
}

/** A page of its own visitor. `complaints` has what its console said that is no expected refusal. */
export async function visit(url, { expect = [], ...options } = {}) {
  const context = await (await launched()).newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  page.complaints = [];
  const complain = (text) => {
    if (!expect.some((one) => text.includes(one))) page.complaints.push(text);
  };
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complain(message.text());
  });
  page.on("pageerror", (error) => complain(String(error)));
  page.on("dialog", (dialog) => { complain(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  await page.goto(url);
  return page;
}

/** Waits until it is so here. */
export async function eventually(what, about) {
  const patience = Date.now() + PATIENCE;
  while (!await what()) {
    if (Date.now() > patience) throw new Error(`it never came: ${about}`);
    await new Promise((resolve) => { setTimeout(resolve, 50); });
  }
}

/** Waits until the function says so in the page. (waitForFunction needs eval, which the pages forbid.) */
export const until = (page, what, argument) =>
  eventually(() => page.evaluate(what, argument), String(what));

export const inRoom = async (page) => { await page.waitForSelector("#state.good"); };
