// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { after, test } from "node:test";
import { endAll, inRoom, redis, serve, until, visit } from "./ground.mjs";

after(endAll);

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

async function faults(page) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  return found.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html).join(" ")}`);
}

// A room with messages and an important one, a lock that is held, and a trouble.
async function busyServer() {
  const server = await serve(["--cooldown", "0.1s"]);
  await server.say("video_123", "hello");
  await server.say("video_123", "the concert begins", { important: true });
  await redis(server.redisPort, "SET lock:broadcast:stuck somebody-else");
  await server.say("stuck", "still here?");
  return server;
}

test("every page passes axe, light and dark, and fits a phone", async () => {
  const server = await busyServer();
  for (const colorScheme of ["light", "dark"]) {
    const room = await visit(`${server.url}room/video_123`, { colorScheme });
    await inRoom(room);
    await room.waitForSelector("#pinned li");
    const ops = await visit(`${server.url}ops`, { colorScheme });
    await ops.waitForSelector(".trouble.broken");
    await ops.waitForSelector("#locks tr");
    const home = await visit(server.url, { colorScheme });
    await home.waitForSelector("#rooms li");
    for (const page of [room, ops, home]) {
      assert.deepEqual(await faults(page), [], `${page.url()} ${colorScheme}`);
      await page.setViewportSize({ width: 360, height: 740 });
      await until(page, () => document.documentElement.scrollWidth <= innerWidth);
      if (colorScheme === "dark") assert.deepEqual(await faults(page), [], `${page.url()} on a phone`);
      assert.deepEqual(page.complaints, []);
      await page.context().close();
    }
  }
});

test("a room and the operator's page can be used with the keyboard alone", async () => {
  const server = await busyServer();
  const room = await visit(`${server.url}room/video_123`);
  await inRoom(room);
  const tabTo = async (page, id) => {
    for (let i = 0; i < 60; ++i) {
      if (await page.evaluate((wanted) => document.activeElement.id === wanted
        || document.activeElement.getAttribute("aria-label") === wanted, id)) return;
      await page.keyboard.press("Tab");
    }
    assert.fail(`Tab never comes to ${id}`);
  };
  await tabTo(room, "content");
  await room.keyboard.type("by keyboard");
  await room.keyboard.press("Enter");
  await room.waitForSelector('#messages li:has-text("by keyboard")');
  const ops = await visit(`${server.url}ops`);
  await ops.waitForSelector("#locks tr");
  await tabTo(ops, "Evict the holder of broadcast:stuck");
  await ops.keyboard.press("Enter");
  await ops.keyboard.type("not ours");
  await ops.keyboard.press("Enter");
  await ops.locator('#locks tr[data-key="broadcast:stuck"]').waitFor({ state: "detached" });
});
