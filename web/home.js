// The first page: live rooms, a way into one, and the command that sends to it.
import { ask, askForToken, byId, copy, make, many, number, repeat, say } from "/web/api.js";

const room = byId("room");

const shellWord = (text) => `'${text.replaceAll("'", "'\\''")}'`;

function curl() {
  const body = JSON.stringify({
    roomId: room.value, userId: 123, userName: "Ann", messages: [{ content: "hello" }] });
  return `curl ${location.origin}/logic/send \\\n  -H 'Content-Type: application/json' \\\n  -d ${shellWord(body)}`;
}

function show(rooms, more) {
  say("count", more ? `more than ${rooms.length}` : many(rooms.length, "room"));
  byId("none").hidden = rooms.length > 0;
  byId("rooms").replaceChildren(...rooms.slice(0, 12).map((one) => make("li", {},
    make("a", { href: `/room/${encodeURIComponent(one.roomId)}` },
      make("strong", {}, one.roomId),
      make("span", { class: `tag ${one.viewers > 0 ? "good" : ""}` }, many(one.viewers, "viewer")),
      make("span", { class: "soft small number" },
        `${many(one.messages, "message")}${one.rate > 0 ? `, ${number(one.rate)} a second now` : ""}`)))));
}

let last = "";
let declined = false;
async function refresh() {
  try {
    const { body } = await ask("/api/rooms");
    const text = JSON.stringify(body);
    if (text !== last) show(body.rooms, body.more);
    last = text;
  } catch (why) {
    if (why.status === 401 && !declined) declined = !await askForToken();
    say("count", why.status === 401 ? "a token is needed" : "the server does not answer");
  }
}

byId("enter").addEventListener("submit", (event) => {
  event.preventDefault();
  location.href = `/room/${encodeURIComponent(room.value)}`;
});
room.addEventListener("input", () => say("curl", curl()));
byId("copy").addEventListener("click", (event) => copy(curl(), event.currentTarget));
say("curl", curl());
repeat(2000, refresh);
