// What all pages share: asking the server with the token, small parts of pages, numbers for people.

const TOKEN = "holdfast.token";

export const byId = (id) => document.getElementById(id);
export const token = () => sessionStorage.getItem(TOKEN) || "";

/** An element with its text or children. Text is never parsed, whatever is in it. */
export function make(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") made.className = value;
    else if (name in made && typeof value !== "string") made[name] = value;
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((one) => one !== undefined && one !== null));
  return made;
}

/** Sets the text if it changed, so that a page that is refreshed each second stays selected. */
export function say(where, text) {
  const element = typeof where === "string" ? byId(where) : where;
  if (element.textContent !== String(text)) element.textContent = text;
}

export const many = (count, one, more = `${one}s`) => `${number(count)} ${count === 1 ? one : more}`;
export const number = (value) => Number(value || 0).toLocaleString("en-US", { maximumFractionDigits: 1 });

export function time(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 3600000) return `${Math.floor(ms / 60000)} min ${Math.round((ms % 60000) / 1000)} s`;
  return `${Math.floor(ms / 3600000)} h ${Math.round((ms % 3600000) / 60000)} min`;
}

export class Refused extends Error {
  constructor(status, body, headers) {
    super(body.detail || `the server answered ${status}`);
    this.status = status;
    this.reason = body.reason || "";
    this.headers = headers;
  }
}

/** The answer and its headers. Throws Refused, or TypeError if nobody answers. */
export async function ask(path, body) {
  const headers = {};
  if (token()) headers.Authorization = `Bearer ${token()}`;
  if (body) headers["Content-Type"] = "application/json";
  const answer = await fetch(path, body
    ? { method: "POST", headers, body: JSON.stringify(body) } : { headers });
  const read = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(answer.status, read, answer.headers);
  return { body: read, headers: answer.headers };
}

/** Asks for the bearer token; true if one was given. It stays in this tab only. */
export function askForToken() {
  return new Promise((resolve) => {
    const input = make("input", { type: "password", id: "token", autocomplete: "off", required: true });
    const dialog = make("dialog", { "aria-labelledby": "token-title" },
      make("form", { method: "dialog" },
        make("h2", { id: "token-title" }, "This server asks for a token"),
        make("label", { for: "token" }, "HOLDFAST_TOKEN of the server; it is kept in this tab only", input),
        make("div", { class: "row" },
          make("button", { value: "no", formNoValidate: true }, "Cancel"),
          make("button", { value: "yes", class: "main" }, "Use it"))));
    dialog.addEventListener("close", () => {
      const given = dialog.returnValue === "yes" && input.value !== "";
      if (given) sessionStorage.setItem(TOKEN, input.value);
      dialog.remove();
      resolve(given);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** Calls `step` now and every `ms` while the page can be seen; one call at a time. */
export function repeat(ms, step) {
  let running = false;
  const run = async () => {
    if (running || document.hidden) return;
    running = true;
    try { await step(); } finally { running = false; }
  };
  document.addEventListener("visibilitychange", run);
  setInterval(run, ms);
  run();
}

export async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    say(button, "Copied");
  } catch {
    say(button, "Select it by hand");
  }
  setTimeout(() => say(button, "Copy"), 2000);
}
