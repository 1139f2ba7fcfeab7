// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { endAll, engine, eventually, inRoom, proxy, serve, until, visit } from "./ground.mjs";

after(endAll);

const offsets = (page) => page.$$eval("#messages .offset", (all) => all.map((one) => Number(one.textContent.slice(1))));
const listed = (page, text) => page.waitForSelector(`#messages li:has-text("${text}")`);

test("a message that is sent flies at every viewer and is in the list", async () => {
  const server = await serve();
  const sender = await visit(`${server.url}room/video_123`);
  const viewer = await visit(`${server.url}room/video_123`);
  await inRoom(sender);
  await inRoom(viewer);
  await sender.fill("#name", "Ann");
  await sender.fill("#content", "hello, sea");
  await sender.press("#content", "Enter");
  for (const page of [sender, viewer]) {
    const flies = page.locator("#flying span", { hasText: "hello, sea" });
    await flies.waitFor();
    const before = (await flies.boundingBox()).x;
    await until(page, ([text, x]) => {
      const one = [...document.querySelectorAll("#flying span")].find((each) => each.textContent.includes(text));
      return !one || one.getBoundingClientRect().x < x - 20;
    }, ["hello, sea", before]);
    await listed(page, "hello, sea");
  }
  assert.equal(await sender.inputValue("#content"), "");
  await until(sender, () => /\d+ of 50 messages left/.test(document.getElementById("limit").textContent));
  await until(viewer, () => document.getElementById("viewers").textContent === "2 viewers");
  await sender.fill("#content", "doors close at nine");
  await sender.check("#important");
  await sender.click("#go");
  await viewer.waitForSelector('#pinned li:has-text("doors close at nine")');
  assert.deepEqual([sender.complaints, viewer.complaints], [[], []]);
});

test("after a lost connection it resumes on another server without a gap", async () => {
  const shared = await engine();
  const words = ["--engine", shared, "--cooldown", "0.1s"];
  const [first, second] = [await serve(words), await serve(words)];
  const between = await proxy(first.url);
  const page = await visit(`${between.url}room/r`, { expect: ["Failed to load resource", "WebSocket connection"] });
  await inRoom(page);
  await first.say("r", "before");
  await listed(page, "before");
  between.cut();
  await until(page, () => document.getElementById("state").textContent.includes("connection lost"));
  await first.end();
  for (let i = 0; i < 20; ++i) await second.say("r", `missed ${i}`);
  between.mend(second.url);
  await inRoom(page);
  await listed(page, "missed 19");
  await second.say("r", "after");
  await listed(page, "after");
  assert.deepEqual(await offsets(page), Array.from({ length: 22 }, (_, i) => i + 1));
  await listed(page, "Resumed behind #1: nothing is missing");
  assert.deepEqual(page.complaints, []);
});

test("a viewer whose connection is too slow is told how much was left out, and misses nothing important", async () => {
  const server = await serve(["--cooldown", "0.1s", "--user-rate", "off", "--room-rate", "off", "--address-rate", "off",
    "--viewer-queue", "400000"]);
  const between = await proxy(server.url);
  const page = await visit(`${between.url}room/r`);
  await inRoom(page);
  between.hold();
  await server.say("r", "the doors are closed", { important: true });
  // Until the sockets between are full and the server has left something out.
  let sent = 0;
  await eventually(async () => {
    const messages = Array.from({ length: 20 }, () => ({ content: "x".repeat(3000), messageId: `m${++sent}` }));
    await server.post({ roomId: "r", userId: 7, messages });
    return /^\S*push_shed_total\S* [1-9]/m.test(await (await fetch(`${server.url}metrics`)).text());
  }, "something that was left out");
  await server.say("r", "the doors are open", { important: true });
  await page.evaluate(() => {
    const chip = document.getElementById("more");
    new MutationObserver(() => { window.leftOut = window.leftOut || chip.textContent; }).observe(chip,
      { attributes: true, characterData: true, childList: true, subtree: true });
  });
  between.letGo();
  await page.waitForSelector('#pinned li:has-text("the doors are open")');
  await listed(page, "left out: the room was too fast for this viewer");
  await until(page, () => /^[\d,.\s]+ more$/.test(window.leftOut || ""));
  assert.equal(await page.locator('#messages li:has-text("are missing")').count(), 0);
  await inRoom(page);
  assert.deepEqual(page.complaints, []);
});

test("hostile names and texts are only text, on every page", async () => {
  const server = await serve(["--cooldown", "0.1s"]);
  const room = "房间\u202e@evil";
  const texts = ["<img src=x onerror=window.hit=1>", "<script>window.hit=1</script>", "</li><svg onload=window.hit=1>",
    "javascript:window.hit=1", "${window.hit=1}", "\u0000\u202e\u2028'\"`;window.hit=1//", "<b>".repeat(300), "x".repeat(4000)];
  const page = await visit(`${server.url}room/${encodeURIComponent(room)}`);
  await inRoom(page);
  for (const text of texts) {
    const { status } = await server.post({ roomId: room, userId: text.slice(0, 40), userName: text.slice(0, 80),
      messages: [{ content: text, messageId: `id${texts.indexOf(text)}`, important: true }] });
    assert.ok([200, 422].includes(status), `${status}`);
  }
  await listed(page, "window.hit=1</script>");
  await page.waitForSelector("#pinned li");
  const ops = await visit(`${server.url}ops`);
  const home = await visit(server.url);
  await until(ops, (name) => document.getElementById("rooms").textContent.includes(name), room);
  await until(home, (name) => document.getElementById("rooms").textContent.includes(name), room);
  for (const one of [page, ops, home]) {
    assert.equal(await one.evaluate(() => window.hit), undefined);
    assert.equal(await one.locator("main img[src=x], main script, main svg[onload]").count(), 0);
    assert.deepEqual(one.complaints, []);
  }
  const wide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
  assert.equal(wide, false, "a long word makes the page scroll sideways");
});

test("a sender that is too fast sees when it may send again", async () => {
  const server = await serve(["--user-rate", "1/2s"]);
  const page = await visit(`${server.url}room/r`, { expect: ["429"] });
  await inRoom(page);
  const send = async (text) => { await page.fill("#content", text); await page.press("#content", "Enter"); };
  // Two within the window: on a machine that stands still in between, the next two.
  await eventually(async () => {
    await send("one");
    await send("two");
    return page.locator("#limit", { hasText: "Too fast" }).waitFor({ timeout: 1500 }).then(() => true, () => false);
  }, "a refusal");
  await until(page, () => !document.getElementById("go").disabled);
  assert.deepEqual(page.complaints, []);
});

test("earlier messages come when one scrolls up", async () => {
  const server = await serve(["--cooldown", "0.1s", "--user-rate", "off"]);
  for (let i = 0; i < 3; ++i) {
    const messages = Array.from({ length: 50 }, (_, n) => ({ content: `m${50 * i + n + 1}` }));
    assert.equal((await server.post({ roomId: "r", userId: 7, messages })).status, 200);
  }
  await eventually(async () => (await (await fetch(`${server.url}logic/rooms/r`)).json()).cursor === 150, "broadcasts");
  const page = await visit(`${server.url}room/r`);
  await inRoom(page);
  await listed(page, "m150");
  assert.ok((await offsets(page)).length <= 60);
  await until(page, () => {
    document.getElementById("scroll").scrollTop = 0;
    return document.querySelectorAll("#messages .offset").length === 150;
  });
  assert.deepEqual(await offsets(page), Array.from({ length: 150 }, (_, i) => i + 1));
  assert.deepEqual(page.complaints, []);
});

test("without motion comments stand in lines, and with it they can be paused", async () => {
  const server = await serve(["--cooldown", "0.1s"]);
  const still = await visit(`${server.url}room/r`, { reducedMotion: "reduce" });
  const moving = await visit(`${server.url}room/r`);
  await inRoom(still);
  await inRoom(moving);
  await moving.click("#pause");
  await server.say("r", "look");
  await still.locator("#flying .still", { hasText: "look" }).waitFor();
  assert.equal(await still.evaluate(() => document.getAnimations().length), 0);
  await listed(moving, "look");
  assert.equal(await moving.locator("#flying span").count(), 0);
  await moving.click("#pause");
  await moving.locator("#flying span", { hasText: "look" }).waitFor();
});
