// SPDX-License-Identifier: Apache-2.0
//
// ioredis on `holdfast redis`: what users of Node.js rely on.
//
//   HOLDFAST_PROGRAM=build/dev/holdfast node --test test/resp/ioredis_test.mjs
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { after, before, beforeEach, test } from "node:test";

import Redis from "ioredis";

const patience = { timeout: 60_000 };
let server;
let port;
let redis;
const opened = [];

function connect(options = {}) {
  const client = new Redis({ port, host: "127.0.0.1", maxRetriesPerRequest: 1, ...options });
  opened.push(client);
  return client;
}

before(async () => {
  server = spawn(process.env.HOLDFAST_PROGRAM, ["redis", "--port", "0"],
    { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = await once(createInterface({ input: server.stdout }), "line");
  port = Number(/:(\d+)/.exec(line)[1]);
  redis = connect();
});

beforeEach(() => redis.flushall());

after(async () => {
  for (const client of opened) client.disconnect();
  const ended = once(server, "exit");
  server.kill("SIGTERM");
  assert.deepEqual(await ended, [0, null]);
});

test("strings, hashes, lists, sets and sorted sets", patience, async () => {
  assert.equal(await redis.set("a", "1", "PX", 60000, "NX"), "OK");
  assert.equal(await redis.set("a", "2", "NX"), null);
  assert.ok(await redis.pttl("a") > 0);
  await redis.hset("h", { name: "ann", age: 7 });
  assert.deepEqual(await redis.hgetall("h"), { name: "ann", age: "7" });
  assert.equal(await redis.rpush("l", "x", "y"), 2);
  assert.deepEqual(await redis.lrange("l", 0, -1), ["x", "y"]);
  assert.equal(await redis.sadd("s", "one", "two", "one"), 2);
  await redis.zadd("z", 2, "b", 1, "a");
  assert.deepEqual(await redis.zrange("z", 0, -1, "WITHSCORES"), ["a", "1", "b", "2"]);
});

test("bytes come back as they were", patience, async () => {
  const bytes = Buffer.from([0, 13, 10, 255, 36]);
  await redis.set("bytes", bytes);
  assert.deepEqual(await redis.getBuffer("bytes"), bytes);
});

test("a pipeline, and a transaction that a watched key aborts", patience, async () => {
  assert.deepEqual(await redis.pipeline().incr("n").lpush("n", "x").get("n").exec()
    .then((answers) => answers.map(([error, value]) => error?.message.slice(0, 9) ?? value)),
  [1, "WRONGTYPE", "1"]);
  const watching = connect();
  await watching.watch("n");
  await redis.set("n", "other");
  assert.equal(await watching.multi().set("n", "mine").exec(), null);
  assert.deepEqual(await watching.multi().set("n", "mine").get("n").exec(),
    [[null, "OK"], [null, "mine"]]);
});

test("a script that the client defines is loaded once and then called by its digest", patience,
  async () => {
    redis.defineCommand("release", {
      numberOfKeys: 1,
      lua: "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end\n"
        + "return 0",
    });
    await redis.set("lock", "me");
    assert.equal(await redis.release("lock", "another"), 0);
    assert.equal(await redis.release("lock", "me"), 1);
  });

test("channels, patterns, and commands after the last one is left", patience, async () => {
  const subscriber = connect();
  const heard = new Promise((resolve) => {
    const got = [];
    const add = (what) => (got.push(what), got.length === 2 && resolve(got.sort()));
    subscriber.on("message", (channel, text) => add(`message ${channel} ${text}`));
    subscriber.on("pmessage", (pattern, channel, text) => add(`${pattern} ${channel} ${text}`));
  });
  await subscriber.subscribe("news");
  await subscriber.psubscribe("n*");
  assert.equal(await redis.publish("news", "hello"), 2);
  assert.deepEqual(await heard, ["message news hello", "n* news hello"]);
  await subscriber.unsubscribe("news");
  await subscriber.punsubscribe("n*");
  assert.equal(await subscriber.ping(), "PONG");
});

test("a blocked client is served by another, in the order of waiting", patience, async () => {
  const first = connect();
  const second = connect();
  const blocked = async (count) => {
    while ((await redis.client("LIST")).split("flags=b").length - 1 < count);
  };
  const one = first.blpop("q", 30);
  await blocked(1);
  const two = second.blpop("q", 30);
  await blocked(2);
  await redis.rpush("q", "x", "y");
  assert.deepEqual([await one, await two], [["q", "x"], ["q", "y"]]);
});

test("a group of consumers reads a stream, and another claims what was not acknowledged", patience,
  async () => {
    await redis.xgroup("CREATE", "s", "g", "0", "MKSTREAM");
    const id = await redis.xadd("s", "*", "field", "value");
    const entry = [["s", [[id, ["field", "value"]]]]];
    assert.deepEqual(
      await redis.xreadgroup("GROUP", "g", "ann", "STREAMS", "s", ">"), entry);
    assert.deepEqual(await redis.xautoclaim("s", "g", "bob", 0, "0"),
      ["0-0", [[id, ["field", "value"]]], []]);
    assert.equal(await redis.xack("s", "g", id), 1);
    assert.equal((await redis.xpending("s", "g"))[0], 0);
  });

test("a scan sees every key", patience, async () => {
  const names = Array.from({ length: 300 }, (_, i) => `user:${i}`);
  await redis.mset(...names.flatMap((name) => [name, "1"]));
  const seen = new Set();
  for await (const some of redis.scanStream({ match: "user:*", count: 50 })) {
    for (const key of some) seen.add(key);
  }
  assert.equal(seen.size, 300);
});

test("a connection that the server ends is made again", patience, async () => {
  const client = connect({ maxRetriesPerRequest: 5 });
  const number = await client.client("ID");
  const again = once(client, "reconnecting");
  assert.equal(await redis.client("KILL", "ID", number), 1);
  await again;
  assert.equal(await client.ping(), "PONG");
});

test("an error names what is wrong, and the connection goes on", patience, async () => {
  await redis.set("text", "x");
  await assert.rejects(redis.incr("text"), /ERR value is not an integer or out of range/);
  await assert.rejects(redis.call("NONSENSE", "a"), /ERR unknown command/);
  assert.equal(await redis.get("text"), "x");
});
