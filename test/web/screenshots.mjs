// SPDX-License-Identifier: Apache-2.0
//
// Pictures of the pages with something going on, and the frames of a short recording:
//
//   HOLDFAST_PROGRAM=build/release/holdfast node test/web/screenshots.mjs DIRECTORY
//
// tools/screenshots calls it and makes what the documents show.
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { endAll, eventually, holdLock, inRoom, serve, visit } from "./ground.mjs";

const out = process.argv[2];
const FRAMES = 44;
const FRAME_MS = 125;
const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

const NAMES = ["Ann", "Bo", "小雨", "Carla", "Deniz", "海浪", "Eko", "Farah", "Goran", "Hana", "阿文", "Iris"];
const WORDS = ["hello!", "哈哈哈哈", "first time here", "what a view", "the waves 🌊", "好听", "who holds the lock?",
  "the fence went up again", "greetings from Hamburg", "来了来了", "👏👏👏", "no duplicates, I checked",
  "that was quick", "前方高能", "resumed without a gap", "nice", "coalesced, not lost", "晚安"];

let sent = 0;
function talk(server, room) {
  const who = sent % NAMES.length;
  const content = WORDS[(sent * 7) % WORDS.length];
  return server.post({ roomId: room, userId: 9000 + who, userName: NAMES[who],
    messages: [{ content, messageId: `m${++sent}` }] });
}

// A few rooms, one of them busy; a lock with a waiter; a sender whose ids are not unique.
async function liveliness(server) {
  const ends = [];
  const each = (ms, step) => { const timer = setInterval(() => step().catch(() => {}), ms); ends.push(() => clearInterval(timer)); };
  let tick = 0;
  each(150, async () => { ++tick; if (Math.sin(tick / 25) > -0.6) await talk(server, "video_123"); });
  each(900, () => talk(server, "concert_hall"));
  each(2500, () => talk(server, "快乐星球"));
  each(1200, () => server.say("concert_hall_bot", "Welcome!"));
  holdLock("nightly-report", server.redisPort).catch(() => {});
  await pause(500);
  holdLock("nightly-report", server.redisPort, ["--wait", "10m"]).catch(() => {});
  return () => ends.forEach((end) => end());
}

async function pictures(server, name, viewport, colorScheme) {
  const room = await visit(`${server.url}room/video_123`, { viewport, colorScheme });
  await inRoom(room);
  await server.say("video_123", "The concert begins at nine, doors close five minutes before",
    { important: true, messageId: name });
  await room.waitForSelector("#pinned li");
  await pause(5000);
  await room.screenshot({ path: path.join(out, `room_${name}.png`) });
  const ops = await visit(`${server.url}ops`, { viewport, colorScheme });
  await ops.waitForSelector("#locks tr");
  await pause(1500);
  await ops.screenshot({ path: path.join(out, `ops_${name}.png`), fullPage: true });
  const home = await visit(server.url, { viewport, colorScheme });
  await home.waitForSelector("#rooms li");
  await home.screenshot({ path: path.join(out, `home_${name}.png`), fullPage: true });
  for (const page of [room, ops, home]) await page.context().close();
}

async function recording(server) {
  const page = await visit(`${server.url}room/video_123`, { viewport: { width: 960, height: 600 }, colorScheme: "dark" });
  await inRoom(page);
  await pause(4000);
  const begun = Date.now();
  for (let i = 0; i < FRAMES; ++i) {
    const late = begun + i * FRAME_MS - Date.now();
    if (late > 0) await pause(late);
    if (i === 6) await page.locator("#content").pressSequentially("hello from README", { delay: 25 });
    if (i === 14) await page.press("#content", "Enter");
    await page.screenshot({ path: path.join(out, "frames", `${String(i).padStart(3, "0")}.png`) });
  }
  await page.context().close();
}

try {
  await mkdir(path.join(out, "frames"), { recursive: true });
  const server = await serve(["--user-rate", "off", "--cooldown", "0.5s"]);
  const quiet = await liveliness(server);
  await eventually(() => sent > 150, "some traffic");
  await recording(server);
  const wide = { width: 1280, height: 800 };
  const phone = { width: 390, height: 844 };
  await pictures(server, "wide_dark", wide, "dark");
  await pictures(server, "wide_light", wide, "light");
  await pictures(server, "phone_light", phone, "light");
  await pictures(server, "phone_dark", phone, "dark");
  quiet();
} finally {
  await endAll();
}
