// A room: frames in, comments out. Offsets show that nothing is missing; after a lost connection it
// resumes behind the last one.
import { Refused, ask, askForToken, byId, make, many, number, repeat, say, token } from "/web/api.js";
import { Stage } from "/web/stage.js";

const room = decodeURIComponent(location.pathname.slice("/room/".length));
const path = `/logic/rooms/${encodeURIComponent(room)}`;
const SHOWN = 400;  // messages in the list
const PAGE = 50;    // messages of history at a time
const PINS = 3;

const scroll = byId("scroll");
const list = byId("messages");
const stage = new Stage(byId("flying"), {
  onMore: (count) => { byId("more").hidden = count === 0; say("more", `${number(count)} more`); },
});

// ------------------------------------------------------------------ who we are

const draw = () => crypto.getRandomValues(new Uint32Array(2));
const me = sessionStorage.getItem("holdfast.user") || `guest-${draw()[0].toString(36)}`;
sessionStorage.setItem("holdfast.user", me);
byId("name").value = localStorage.getItem("holdfast.name") || `Guest ${me.slice(-3)}`;

function colorOf(user) {
  let sum = 0;
  for (const character of String(user)) sum = (sum * 31 + character.codePointAt(0)) >>> 0;
  return sum % 8;
}

// ------------------------------------------------------------------ the list

let unseen = 0;
const atEnd = () => scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 40;

function lineOf(one) {
  return make("li", { class: one.important ? "pin" : "" },
    make("span", { class: "offset" }, `#${one.offset}`),
    make("strong", {}, `${one.userName || one.userId} `), one.content);
}

function append(items, countsAsNew) {
  const follow = atEnd();
  list.append(...items);
  while (list.childElementCount > SHOWN && follow) list.firstElementChild.remove();
  while (list.childElementCount > 3 * SHOWN) list.firstElementChild.remove();
  if (follow) scroll.scrollTop = scroll.scrollHeight;
  else if (countsAsNew) showUnseen(unseen + items.length);
  byId("older").hidden = !hasOlder();
}

function showUnseen(count) {
  unseen = count;
  byId("newest").hidden = count === 0;
  say("newest", `${many(count, "new message")} ↓`);
}

const note = (text, kind = "") => append([make("li", { class: `note ${kind}` }, text)], false);

function pin(one) {
  const pinned = byId("pinned");
  const item = make("li", {}, make("span", {},
    make("strong", {}, `${one.userName || one.userId}: `), one.content));
  const away = make("button", { type: "button", "aria-label": `Unpin the message of ${one.userName || one.userId}` }, "Unpin");
  away.addEventListener("click", () => { item.remove(); byId("pins").hidden = !pinned.childElementCount; });
  item.append(away);
  pinned.prepend(item);
  while (pinned.childElementCount > PINS) pinned.lastElementChild.remove();
  byId("pins").hidden = false;
}

// ------------------------------------------------------------------ history

let oldest = 0;      // the offset of the first message shown
let firstKept = 1;
let loading = false;
const hasOlder = () => oldest > firstKept;

async function loadOlder(upTo, first = false) {
  if (loading || upTo < 1) return;
  loading = true;
  try {
    const after = Math.max(0, upTo - PAGE);
    const { body } = await ask(`${path}/history?after=${after}&limit=${PAGE}`);
    firstKept = Math.max(1, body.firstKept);
    const messages = body.messages.filter((one) => one.offset <= upTo);
    oldest = messages.length > 0 ? messages[0].offset : after + 1;
    const before = scroll.scrollHeight - scroll.scrollTop;
    list.prepend(...messages.map(lineOf));
    if (first) {
      messages.filter((one) => one.important).slice(-PINS).forEach(pin);
      scroll.scrollTop = scroll.scrollHeight;
    } else {
      scroll.scrollTop = scroll.scrollHeight - before;
    }
  } catch (why) {
    note(`Earlier messages cannot be read: ${why.message}`, "trouble");
  } finally {
    loading = false;
    byId("older").hidden = !hasOlder();
  }
}

// ------------------------------------------------------------------ the connection

let socket = null;
let at = null;       // {epoch, offset} of the last message seen
let resuming = null; // the same, of before the connection was lost
let tries = 0;
let countdown = 0;

// `more` changes each second: it is seen, and not read aloud each time.
function state(text, kind, more = "") {
  const tag = byId("state");
  if (tag.dataset.sign !== text + kind) {
    tag.dataset.sign = text + kind;
    tag.className = `tag ${kind}`;
    tag.replaceChildren(make("span", { class: "dot" }), text, make("span", { "aria-hidden": "true" }));
  }
  say(tag.lastChild, more);
}

async function showViewers() {
  if (socket?.readyState !== WebSocket.OPEN) return;
  const { body } = await ask(`/api/rooms/${encodeURIComponent(room)}`).catch(() => ({ body: null }));
  if (body) say("viewers", many(body.viewers, "viewer"));
}

function showPosition() {
  say("position", at ? `up to #${number(at.offset)}` : "");
}

function receive(frame) {
  if (at && frame.epoch === at.epoch && frame.first > at.offset + 1) {
    note(`Messages #${at.offset + 1} to #${frame.first - 1} are missing`, "trouble");
  }
  byId("quiet").hidden = byId("quiet").hidden || frame.messages.length > 0;
  append(frame.messages.map(lineOf), true);
  for (const one of frame.messages) {
    stage.add({ name: one.userName || String(one.userId), text: one.content,
      color: colorOf(one.userId), mine: one.userId === me, pin: one.important === true });
    if (one.important) pin(one);
  }
  if (frame.shed > 0) {
    stage.miss(frame.shed);
    note(`${many(frame.shed, "message")} left out: the room was too fast for this viewer`);
  }
  if (oldest === 0 && frame.messages.length > 0) oldest = frame.messages[0].offset;
  at = { epoch: frame.epoch, offset: frame.last };
  showPosition();
}

function joined(heard) {
  tries = 0;
  state("live", "good");
  const before = resuming;
  resuming = null;
  if (before && heard.recovered === false) {
    note("Back again, but what was missed is not kept any more", "trouble");
  } else if (before) {
    note(`Resumed behind #${before.offset}: nothing is missing`);
  }
  at = { epoch: heard.epoch, offset: heard.offset };
  showPosition();
  if (!before) loadOlder(heard.offset, true);
  setTimeout(showViewers, 300);
}

function hear(heard) {
  if (heard.type === "frame") receive(heard);
  else if (heard.type === "joined") joined(heard);
  else if (heard.type === "reset") at = { epoch: heard.epoch, offset: heard.offset };
  else if (heard.type === "error") note(`${heard.reason}: ${heard.detail}`, "trouble");
}

function again() {
  clearInterval(countdown);
  resuming = resuming || at;
  const wait = Math.min(10000, 300 * 2 ** Math.min(tries++, 6)) * (0.5 + Math.random() / 2);
  const until = Date.now() + wait;
  const tell = () => {
    const left = Math.ceil((until - Date.now()) / 1000);
    state("connection lost, reconnecting", "warn", left > 1 ? `in ${left} s` : "");
  };
  if (tries === 1 && at) note(`Connection lost behind #${at.offset}`, "trouble");
  tell();
  countdown = setInterval(tell, 1000);
  setTimeout(() => { clearInterval(countdown); connect(); }, wait);
}

async function viewerToken() {
  const { body } = await ask(`/api/rooms/${encodeURIComponent(room)}`);
  if (!body.handshake) {
    if (token()) throw new Error("This server has a token but no handshake_secret, so browsers cannot view: set HOLDFAST_HANDSHAKE_SECRET");
    return "";
  }
  return (await ask("/logic/token", { userId: me, roomId: room })).body.token;
}

async function connect() {
  const query = new URLSearchParams({ room, user: me });
  try {
    const signed = await viewerToken();
    if (signed) query.set("token", signed);
  } catch (why) {
    if (why.status === 401 && await askForToken()) return connect();
    if (why instanceof Refused && why.status < 500) return state(why.message, "bad");
    if (!(why instanceof TypeError) && !(why instanceof Refused)) return state(why.message, "bad");
    return again();
  }
  const from = resuming || at;
  if (from && from.epoch) { query.set("epoch", from.epoch); query.set("offset", from.offset); }
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  socket = new WebSocket(`${scheme}://${location.host}/comet/ws?${query}`);
  socket.onmessage = (event) => hear(JSON.parse(event.data));
  socket.onclose = again;
}

// ------------------------------------------------------------------ sending

const messageId = () => [...draw(), ...draw()].map((part) => part.toString(36)).join("-");

function post(userId, userName, content, important = false) {
  return ask("/logic/send", { roomId: room, userId, userName,
    messages: [{ content, messageId: messageId(), important }] });
}

// RateLimit: "user";r=49;t=1 and RateLimit-Policy: "user";q=50;w=1
function showLimit(headers) {
  const left = /;r=(\d+)/.exec(headers.get("RateLimit") || "");
  const quota = /;q=(\d+)/.exec(headers.get("RateLimit-Policy") || "");
  if (!left || !quota) return say("limit", "Sent");
  byId("level").style.transform = `scaleX(${Math.min(1, left[1] / quota[1])})`;
  say("limit", `Sent; ${left[1]} of ${quota[1]} messages left`);
}

function blockFor(seconds, why) {
  const line = byId("limit").parentElement;
  const until = Date.now() + seconds * 1000;
  line.classList.add("bad");
  byId("go").disabled = true;
  const tell = () => {
    const left = until - Date.now();
    if (left > 0) return say("limit", `Too fast (${why}): again in ${Math.ceil(left / 1000)} s`);
    clearInterval(timer);
    line.classList.remove("bad");
    byId("go").disabled = false;
    say("limit", "Ready to send");
  };
  const timer = setInterval(tell, 200);
  tell();
}

async function send() {
  const content = byId("content");
  if (byId("go").disabled || content.value === "") return;
  const text = content.value;
  localStorage.setItem("holdfast.name", byId("name").value);
  try {
    const { headers } = await post(me, byId("name").value, text, byId("important").checked);
    if (content.value === text) content.value = "";
    byId("important").checked = false;
    showLimit(headers);
  } catch (why) {
    if (why.status === 429) return blockFor(Number(why.headers.get("Retry-After")) || 1, why.message);
    if (why.status === 401 && await askForToken()) return send();
    say("limit", `Not sent: ${why.message}`);
  }
}

// ------------------------------------------------------------------ guests, for a look

const NAMES = ["Ann", "Bo", "小雨", "Carla", "Deniz", "海浪", "Eko", "Farah", "Goran", "Hana", "阿文", "Iris"];
const WORDS = ["hello!", "哈哈哈哈", "first time here", "what a view", "666", "the waves 🌊", "好听",
  "who holds the lock?", "the fence went up again", "greetings from Hamburg", "来了来了", "👏👏👏",
  "no duplicates, I checked", "that was quick", "前方高能", "resumed without a gap", "nice", "🎉",
  "can you play it again?", "coalesced, not lost", "why is it always the third consumer", "晚安"];
const any = (from) => from[Math.floor(Math.random() * from.length)];
let guests = 0;

function guestsTalk(on) {
  clearInterval(guests);
  byId("guests").setAttribute("aria-pressed", String(on));
  if (!on) return;
  guests = setInterval(() => {
    const who = Math.floor(Math.random() * NAMES.length);
    if (!document.hidden) post(9000 + who, NAMES[who], any(WORDS)).catch(() => guestsTalk(false));
  }, 220);
}

// ------------------------------------------------------------------ the page

document.title = `${room}: Holdfast`;
say("title", room);
byId("send").addEventListener("submit", (event) => { event.preventDefault(); send(); });
byId("older").addEventListener("click", () => loadOlder(oldest - 1));
byId("newest").addEventListener("click", () => { scroll.scrollTop = scroll.scrollHeight; });
byId("guests").addEventListener("click", () => guestsTalk(byId("guests").getAttribute("aria-pressed") !== "true"));
byId("pause").addEventListener("click", (event) => {
  const on = !stage.paused;
  stage.pause(on);
  event.currentTarget.setAttribute("aria-pressed", String(on));
});
scroll.addEventListener("scroll", () => {
  if (atEnd()) showUnseen(0);
  if (scroll.scrollTop < 20 && hasOlder()) loadOlder(oldest - 1);
}, { passive: true });
repeat(3000, showViewers);
connect();
