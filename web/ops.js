// The operator's page: asks /api/ops each second, and shows what changed.
import { ask, askForToken, byId, make, many, number, repeat, say, time } from "/web/api.js";
import { Chart } from "/web/charts.js";

const KEPT = 300;  // seconds in a chart

// ------------------------------------------------------------------ charts

const series = {};
const milliseconds = (value) => number(value);
const charts = [
  [new Chart("Messages in", "a second"), () => series.messages],
  [new Chart("Frames out", "a second"), () => series.frames],
  [new Chart("Viewers here", "connections"), () => series.viewers],
  [new Chart("Queue", "posts wait"), () => series.queue],
  [new Chart("Lag", "ms a frame", { show: milliseconds }),
    () => series.frames.map((frames, i) => (frames > 0 ? series.waitMicros[i] / frames / 1000 : 0))],
  [new Chart("Locks acquired", "a second"), () => series.acquired],
  [new Chart("Duplicates", "a second", { warm: true }), () => series.duplicates],
  [new Chart("Met a cooldown", "posts a second", { warm: true }), () => series.deferred],
];
byId("charts").append(...charts.map(([chart]) => chart.element));

function takeSeries(part) {
  for (const [name, values] of Object.entries(part)) {
    if (!Array.isArray(values)) continue;
    series[name] = (series[name] || []).concat(values).slice(-KEPT);
  }
  for (const [chart, values] of charts) chart.draw(values());
}

// ------------------------------------------------------------------ what an operator may do

let submit = null;

function act({ title, text, verb, path, body, done }) {
  say("act-title", title);
  say("act-text", text);
  say("act-yes", verb);
  byId("reason").value = "";
  byId("act-failed").hidden = true;
  submit = async () => {
    try {
      const answer = await ask(path, { ...body, reason: byId("reason").value });
      byId("act").close();
      state(done(answer.body), "good", 4000);
      refresh();
    } catch (why) {
      byId("act-failed").hidden = false;
      say("act-failed", `It was not done: ${why.message}`);
    }
  };
  byId("act").showModal();
  byId("reason").focus();
}

byId("act-form").addEventListener("submit", (event) => { event.preventDefault(); submit(); });
byId("act-no").addEventListener("click", () => byId("act").close());

const evict = (name) => act({
  title: `Evict the holder of ${name}`,
  text: "The holder is told, not asked: until it hears of it, it works on, and only its fence stops it. The next waiter gets the lock.",
  verb: "Evict", path: "/api/ops/evict", body: { lock: name },
  done: (answer) => (answer.evicted > 0 ? `evicted ${many(answer.evicted, "holder")} of ${name}` : `${name} was free`),
});

const clearCooldown = (roomId) => act({
  title: `Clear the cooldown of ${roomId}`,
  text: "The room's next message is broadcast at once, and takes with it what waits.",
  verb: "Clear", path: "/api/ops/clear-cooldown", body: { roomId },
  done: (answer) => (answer.cleared ? `cleared the cooldown of ${roomId}` : `${roomId} had no cooldown`),
});

const requeue = (task) => act({
  title: `Requeue ${task}`,
  text: "It is pending again, with all its retries. What made it fail should be mended first.",
  verb: "Requeue", path: "/api/ops/requeue", body: { task },
  done: () => `requeued ${task}`,
});

function button(text, label, action) {
  const made = make("button", { type: "button", class: "small", "aria-label": label }, text);
  made.addEventListener("click", action);
  return made;
}

// ------------------------------------------------------------------ tables

// Rows are kept by key and changed in place, so that focus and selection survive a refresh.
function table(body, rows, keyOf, cells) {
  const before = new Map([...body.children].map((row) => [row.dataset.key, row]));
  const after = rows.map((one) => {
    const key = keyOf(one);
    const row = before.get(key) || make("tr", { "data-key": key });
    const made = cells(one);
    if (row.childElementCount !== made.length) {
      row.replaceChildren(...made.map(([label, , kind]) => make("td", { class: kind || "", "data-label": label })));
    }
    made.forEach(([, content], i) => {
      const cell = row.children[i];
      const sign = typeof content === "object" ? content.sign : String(content);
      if (cell.dataset.sign === sign) return;
      cell.dataset.sign = sign;
      cell.replaceChildren(...(typeof content === "object" ? content.nodes() : [String(content)]));
    });
    return row;
  });
  const same = after.length === body.childElementCount && after.every((row, i) => body.children[i] === row);
  if (!same) body.replaceChildren(...after);
}

const nodes = (sign, makeNodes) => ({ sign, nodes: makeNodes });

function lockText(room) {
  if (!room.locked) return room.fence > 0 ? `free, last fence ${room.fence}` : "free";
  const left = room.lockMs === undefined ? "never expires" : `${time(room.lockMs)} left`;
  return room.holder ? `${room.holder}, fence ${room.fence}, ${left}` : `another program, ${left}`;
}

function showRooms(rooms, more) {
  byId("rooms-none").hidden = rooms.length > 0;
  say("rooms-note", more ? `the newest ${rooms.length}` : many(rooms.length, "room"));
  table(byId("rooms"), rooms, (one) => one.roomId, (one) => [
    ["Room", nodes(one.roomId + one.mode, () => [make("a", { href: `/room/${encodeURIComponent(one.roomId)}` }, one.roomId),
      make("span", { class: "soft small" }, ` ${one.mode}`)])],
    ["Viewers", number(one.viewers)],
    ["In", `${number(one.messages)}${one.rate > 0 ? ` (${number(one.rate)}/s)` : ""}`],
    ["Frames", number(one.frames)],
    ["Coalesced", number(one.coalesced)],
    ["Duplicates", number(one.duplicates)],
    ["Shed", number(one.shed + one.skipped)],
    ["Lag", one.lagMs === undefined ? "–" : time(one.lagMs)],
    ["Waiting", number(one.waiting)],
    ["Cooldown", one.cooldownMs < 0 ? "never ends" : one.cooldownMs > 0 ? time(one.cooldownMs) : "–"],
    ["Lock", lockText(one), "long"],
    ["", nodes(one.mode, () => (one.mode === "none" ? []
      : [button("Clear cooldown…", `Clear the cooldown of ${one.roomId}`, () => clearCooldown(one.roomId))])), "acts"],
  ]);
}

function holderText(lock) {
  const first = lock.holders[0];
  if (!first) return "nobody; it has waiters";
  const where = first.program ? `${first.program} ${first.pid} on ${first.host}` : first.client || "another program";
  const more = lock.holderCount > 1 ? ` and ${lock.holderCount - 1} more` : "";
  return `${where}${first.mine ? " (this process)" : ""}${first.note ? `: ${first.note}` : ""}${more}`;
}

function showLocks(locks, more) {
  byId("locks-none").hidden = locks.length > 0;
  say("locks-note", more ? `the first ${locks.length}` : many(locks.length, "lock"));
  table(byId("locks"), locks, (one) => one.name, (one) => [
    ["Name", one.name],
    ["Mode", one.mode],
    ["Holder", holderText(one), "long"],
    ["Fence", one.fence, "long"],
    ["Time left", one.remainingMs === undefined ? "never expires" : time(one.remainingMs)],
    ["Waiters", number(one.waiters)],
    ["", nodes(one.name, () => [button("Evict…", `Evict the holder of ${one.name}`, () => evict(one.name))]), "acts"],
  ]);
}

function showTasks(seen) {
  byId("tasks-card").hidden = false;
  const workers = seen.workers.map((one) => `${one.name} (${one.tasks})`).join(", ");
  say("tasks-note", seen.trouble ? `no answer: ${seen.trouble}` : workers ? `${many(seen.workers.length, "busy worker")}: ${workers}` : "no worker runs anything");
  table(byId("queues"), seen.queues, (one) => one.name, (one) => [
    ["Queue", one.name],
    ["State", `${one.paused ? "paused" : "open"}${one.limit > 0 ? `, at most ${one.limit} at a time` : ""}`],
    ["Pending", number(one.pending)],
    ["Running", number(one.running + one.publishing)],
    ["Finished", number(one.finished)],
    ["Dead", number(one.dead)],
    ["Cancelled", number(one.cancelled)],
  ]);
  byId("running-none").hidden = seen.running.length > 0;
  table(byId("running"), seen.running, (one) => one.id, (one) => [
    ["Task", one.id],
    ["Queue", one.queue],
    ["Progress", `${Math.round(one.progress * 100)} %${one.note ? `: ${one.note}` : ""}`, "long"],
    ["Worker", one.worker, "long"],
    ["Attempt", one.attempt],
    ["Lease", one.state === "publishing" ? "publishing" : time(one.leaseMs)],
  ]);
  byId("dead-none").hidden = seen.dead.length > 0;
  table(byId("dead"), seen.dead, (one) => one.id, (one) => [
    ["Task", one.id],
    ["Queue", one.queue],
    ["Why", one.error, "long"],
    ["Failures", one.failures],
    ["Crashes", one.crashes],
    ["", nodes(one.id, () => [button("Requeue…", `Requeue ${one.id}`, () => requeue(one.id))]), "acts"],
  ]);
}

// ------------------------------------------------------------------ the rest

function pairs(where, rows) {
  if (where.childElementCount !== 2 * rows.length) {
    where.replaceChildren(...rows.flatMap(([label]) => [make("dt", {}, label), make("dd")]));
  }
  rows.forEach(([label, value], i) => { say(where.children[2 * i], label); say(where.children[2 * i + 1], value); });
}

function showLeases(seen) {
  pairs(byId("leases"), [
    ["Acquired", number(seen.acquired)],
    ["Held now", number(seen.held)],
    ["Waiting now", number(seen.waiting)],
    ["Handoffs", number(seen.handedOff)],
    ["Busy or timed out", number(seen.refused)],
    ["Renewed (failed)", `${number(seen.renewed)} (${number(seen.renewalFailures)})`],
    ["Lost (evicted)", `${number(seen.lost)} (${number(seen.lostEvicted)})`],
    ["Wait, 50 % and 99 % below", seen.waited > 0 ? `${time(seen.waitP50Micros / 1000)}, ${time(seen.waitP99Micros / 1000)}` : "nobody waited"],
  ]);
}

function showLimits(limits) {
  pairs(byId("limits"), limits.flatMap((one) => [
    [`Each ${one.name}`, one.rate],
    ["allowed, refused", `${number(one.allowed)}, ${number(one.refused)}`]]));
}

const LEVELS = { good: "good", note: "", unsafe: "bad" };
function showHealth(findings) {
  const list = byId("health");
  const sign = JSON.stringify(findings);
  if (list.dataset.sign === sign) return;
  list.dataset.sign = sign;
  if (findings.length === 0) return list.replaceChildren(make("li", { class: "soft" }, "being examined"));
  list.replaceChildren(...findings.map((one) => make("li", {},
    make("span", { class: `tag ${LEVELS[one.level]}` }, one.level),
    make("span", {}, make("strong", {}, one.about), `: ${one.text}`,
      one.fix ? make("span", { class: "soft" }, ` → ${one.fix}`) : null))));
}

function troubleOf(one, rooms) {
  const actions = make("div", { class: "actions" });
  const room = rooms.find((each) => each.roomId === one.roomId);
  if (one.kind === "lock" && room) actions.append(button("Evict the holder…", `Evict the holder of ${room.lock}`, () => evict(room.lock)));
  if (one.kind === "cooldown" && one.level === "broken") {
    actions.append(button("Clear the cooldown…", `Clear the cooldown of ${one.roomId}`, () => clearCooldown(one.roomId)));
  }
  return make("article", { class: `trouble ${one.level}` },
    make("h2", {}, one.title), make("p", { "aria-live": "off" }, one.text), make("p", {}, make("strong", {}, "What to do: "), one.fix), actions);
}

function showTroubles(troubles, rooms) {
  const where = byId("troubles");
  const sign = JSON.stringify(troubles.map((one) => [one.title, one.kind]));
  if (where.dataset.sign === sign) {
    troubles.forEach((one, i) => say(where.children[i].children[1], one.text));
    return;
  }
  where.dataset.sign = sign;
  if (troubles.length > 0) return where.replaceChildren(...troubles.map((one) => troubleOf(one, rooms)));
  where.replaceChildren(make("article", { class: "trouble fine" }, make("h2", {}, "All is well"),
    make("p", {}, "The engine answers, the queue moves, no lock is stuck.")));
}

let held = 0;
function state(text, kind, keep = 0) {
  if (keep === 0 && Date.now() < held) return;
  held = Date.now() + keep;
  const tag = byId("state");
  if (tag.dataset.sign === text + kind) return;
  tag.dataset.sign = text + kind;
  tag.className = `tag ${kind}`;
  tag.replaceChildren(make("span", { class: "dot" }), text);
}

let since = 0;
let declined = false;
async function refresh() {
  try {
    const { body } = await ask(`/api/ops?since=${since}`);
    if (body.series.next < since) for (const name of Object.keys(series)) series[name] = [];
    since = body.series.next;
    takeSeries(body.series);
    showTroubles(body.troubles, body.rooms);
    showRooms(body.rooms, body.moreRooms);
    showLocks(body.locks, body.moreLocks);
    showLeases(body.leases);
    showLimits(body.limits);
    showHealth(body.health);
    if (body.tasks) showTasks((await ask("/api/ops/tasks")).body);
    say("about", `${body.engine}, version ${body.version}, up ${time(body.uptimeMs)}, mode ${body.settings.mode}, cooldown ${time(body.settings.cooldownMs)}, ${many(body.settings.consumers, "consumer")}`);
    state(body.draining ? "draining" : "live", body.draining ? "warn" : "good");
  } catch (why) {
    if (why.status === 401 && !declined) declined = !await askForToken();
    state(why.status === 401 ? "a token is needed" : `no answer: ${why.message}`, "bad");
  }
}

repeat(1000, refresh);
