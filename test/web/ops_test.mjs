// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { endAll, eventually, holdLock, redis, serve, taskStore, until, visit } from "./ground.mjs";

after(endAll);

const cell = (page, room, label) =>
  page.locator(`#rooms tr[data-key="${room}"] td[data-label="${label}"]`).textContent();
const trouble = (page, text) => page.locator(".trouble", { hasText: text });

async function confirm(page, reason) {
  await page.fill("#reason", reason);
  await page.click("#act-yes");
  await until(page, () => !document.getElementById("act").open);
}

test("figures move, and a lock can be evicted with a reason that is logged", async () => {
  const server = await serve(["--cooldown", "0.1s"]);
  const page = await visit(`${server.url}ops`);
  await trouble(page, "All is well").waitFor();
  for (const text of ["one", "two", "two", "three"]) await server.say("video_123", text);
  await eventually(async () => await cell(page, "video_123", "Duplicates") === "1"
    && (await cell(page, "video_123", "In")).startsWith("3")
    && Number(await cell(page, "video_123", "Frames")) >= 1, "the room's figures");
  await until(page, () => document.querySelector(".chart .most").textContent !== "peak 0");
  await page.locator("#health li", { hasText: "inside this process" }).first().waitFor();

  const gone = holdLock("nightly-report", server.redisPort);
  const row = page.locator('#locks tr[data-key="nightly-report"]');
  await row.waitFor();
  await row.getByRole("button").click();
  await confirm(page, "web3 is gone");
  await row.waitFor({ state: "detached" });
  assert.notEqual(await gone, 0);
  assert.match(server.said.log, /\[Ops\] Lock evicted: lock:nightly-report holders=1 by=127\.0\.0\.1 reason=.*web3 is gone/);
  assert.deepEqual(page.complaints, []);
});

test("tasks are shown, and a dead one can be requeued with a reason that is logged", async () => {
  const tasks = await taskStore();
  await tasks.run(["task", "submit", "x", "--id", "dead-one", "--retries", "0"]);
  await tasks.run(["worker", "--until-empty", "--", "sh", "-c", "echo 'why <b>it</b> failed' >&2; exit 1"]);
  const server = await serve(["--tasks", tasks.url]);
  const page = await visit(`${server.url}ops`);
  const row = page.locator('#dead tr[data-key="dead-one"]');
  await row.waitFor();
  await row.getByRole("button").click();
  await confirm(page, "the disk has room again");
  await row.waitFor({ state: "detached" });
  assert.match(server.said.log, /\[Ops\] Task requeued: dead-one by=127\.0\.0\.1 reason=.*the disk has room/);
  await page.locator('#queues tr[data-key="default"] td[data-label="Pending"]', { hasText: "1" }).waitFor();
  const again = await fetch(`${server.url}api/ops/requeue`, { method: "POST", body: '{"task":"dead-one","reason":"b"}' });
  assert.equal(again.status, 422);
  const metrics = await (await fetch(`${server.url}metrics`)).text();
  assert.match(metrics, /holdfast_queue_tasks\{queue="default",state="pending"\} 1/);
  assert.deepEqual(page.complaints, []);
});

test("the three cases are recognised, in words, and two of them can be ended there", async () => {
  const server = await serve(["--cooldown", "0.2s", "--lock-life", "1s"]);
  const page = await visit(`${server.url}ops`);
  for (let i = 0; i < 12; ++i) await server.say("same", "666");
  await trouble(page, "Almost all messages to same are skipped as duplicates").waitFor();

  await redis(server.redisPort, "SET room:cooldown:cold 1");
  await server.say("cold", "is anybody there?");
  await trouble(page, "The cooldown of cold does not end").getByRole("button").click();
  await confirm(page, "another program set it");
  await trouble(page, "The cooldown of cold").waitFor({ state: "detached" });
  assert.match(server.said.log, /\[Ops\] Cooldown cleared: cold was_running=true by=127\.0\.0\.1/);

  await redis(server.redisPort, "SET lock:broadcast:stuck somebody-else");
  await server.say("stuck", "still here?");
  await trouble(page, "The lock of stuck cannot be had").getByRole("button").click();
  await confirm(page, "it never expires");
  await trouble(page, "The lock of stuck").waitFor({ state: "detached" });
  await eventually(async () => await cell(page, "stuck", "Frames") === "1", "the message that waited");
  assert.deepEqual(page.complaints, []);
});

test("with a token nothing is shown or done without it", async () => {
  const token = "a-token-for-this-test";
  const server = await serve([], { HOLDFAST_TOKEN: token, HOLDFAST_HANDSHAKE_SECRET: "a-secret-for-viewers" });
  for (const [path, body] of [["api/ops"], ["api/rooms"], ["api/rooms/r"],
    ["api/ops/tasks"], ["api/ops/requeue", '{"task":"a","reason":"b"}'],
    ["api/ops/evict", '{"lock":"a","reason":"b"}'], ["api/ops/clear-cooldown", '{"roomId":"a","reason":"b"}']]) {
    const answer = await fetch(server.url + path, body ? { method: "POST", body } : {});
    assert.equal(answer.status, 401, path);
  }
  const page = await visit(`${server.url}ops`, { expect: ["401"] });
  await page.fill("#token", token);
  await page.getByRole("button", { name: "Use it" }).click();
  await trouble(page, "All is well").waitFor();
  await page.goto(`${server.url}room/r`);
  await page.waitForSelector("#state.good");
  await page.fill("#content", "let in");
  await page.press("#content", "Enter");
  await page.waitForSelector('#messages li:has-text("let in")');
  assert.ok(!server.said.log.includes(token));
  assert.deepEqual(page.complaints, []);
});
