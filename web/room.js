// A room: frames in, messages out. Offsets show that nothing is missing; after a break it resumes
// behind the last one.
"use strict";

const field = (id) => document.getElementById(id);
const shown = 500;
let socket = null;
let at = null;  // {room, epoch, offset}
let retry = 0;

function line(text, className, offset) {
  const item = document.createElement("li");
  if (className) item.className = className;
  if (offset !== undefined) {
    const number = document.createElement("span");
    number.className = "offset";
    number.textContent = `${offset} `;
    item.append(number);
  }
  item.append(text);
  const list = field("messages");
  list.append(item);
  while (list.childElementCount > shown) list.firstElementChild.remove();
  list.scrollTop = list.scrollHeight;
}

const state = (text) => { field("state").textContent = text; };

function hear(text) {
  const heard = JSON.parse(text);
  if (heard.type === "joined") {
    if (heard.recovered === false) line("what was missed is not kept any more", "note");
    at = { room: heard.room, epoch: heard.epoch, offset: heard.offset };
    state(`in ${heard.room}`);
    retry = 0;
  } else if (heard.type === "frame") {
    if (at && heard.epoch === at.epoch && heard.first !== at.offset + 1) {
      line(`offsets ${at.offset + 1} to ${heard.first - 1} are missing`, "note");
    }
    for (const one of heard.messages) line(`${one.userName || one.userId}: ${one.content}`, "", one.offset);
    if (heard.shed > 0) line(`${heard.shed} left out`, "note");
    at = { room: heard.room, epoch: heard.epoch, offset: heard.last };
  } else if (heard.type === "error") {
    line(`${heard.reason}: ${heard.detail}`, "note");
  }
}

async function viewerToken() {
  const bearer = field("token").value;
  if (!bearer) return "";
  const answer = await fetch("/logic/token", {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${bearer}` },
    body: JSON.stringify({ userId: field("user").value, roomId: field("room").value }),
  });
  return answer.ok ? (await answer.json()).token : "";
}

async function open() {
  if (socket) { socket.onclose = null; socket.close(); }
  const room = field("room").value;
  const query = new URLSearchParams({ room, user: field("user").value });
  if (at && at.room === room) { query.set("epoch", at.epoch); query.set("offset", at.offset); }
  const token = await viewerToken();
  if (token) query.set("token", token);
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  socket = new WebSocket(`${scheme}://${location.host}/comet/ws?${query}`);
  socket.onmessage = (event) => hear(event.data);
  socket.onclose = (event) => {
    const wait = Math.min(10000, 250 * 2 ** retry++) * (0.5 + Math.random() / 2);
    state(`closed (${event.code}${event.reason ? `: ${event.reason}` : ""}); again soon`);
    setTimeout(open, wait);
  };
  state("connecting");
}

async function send() {
  const user = field("user").value;
  const headers = { "Content-Type": "application/json" };
  if (field("token").value) headers.Authorization = `Bearer ${field("token").value}`;
  const answer = await fetch("/logic/send", {
    method: "POST",
    headers,
    body: JSON.stringify({
      roomId: field("room").value,
      userId: /^\d{1,15}$/.test(user) ? Number(user) : user,
      userName: field("name").value,
      messages: [{
        content: field("content").value,
        messageId: crypto.getRandomValues(new Uint32Array(4)).join("-"),
        important: field("important").checked,
      }],
    }),
  });
  if (answer.ok) { field("content").value = ""; return; }
  const why = await answer.json().catch(() => ({ detail: answer.statusText }));
  line(`not sent: ${why.detail}`, "note");
}

field("enter").addEventListener("submit", (event) => { event.preventDefault(); at = null; retry = 0; open(); });
field("send").addEventListener("submit", (event) => { event.preventDefault(); send(); });
open();
