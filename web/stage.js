// Comments that fly from right to left, in lanes, without touching each other. The browser's
// compositor moves them: the script runs only when one enters or leaves.
//
// All of it is bounded: `most` on the stage, `backlog` that wait for a lane. What finds no place is
// counted and said, as "n more"; the list beside the stage has it.
import { make } from "/web/api.js";

const CROSSING = 8500;   // ms from edge to edge, for any width
const GAP = 28;          // px between two of a lane
const TICK = 60;         // ms between two looks at what waits
const STILL = 7;         // comments that a stage without motion shows
const LONGEST = 80;      // characters that fly; the list has them all

export class Stage {
  constructor(where, { most = 200, backlog = 300, onMore = () => {} } = {}) {
    this.where = where;
    this.most = most;
    this.backlog = backlog;
    this.onMore = onMore;
    this.waiting = [];
    this.flying = new Map();  // element: its animation
    this.lanes = [];
    this.spare = [];
    this.left = 0;
    this.paused = false;
    this.since = 0;
    this.quietMotion = matchMedia("(prefers-reduced-motion: reduce)");
    this.quietMotion.addEventListener("change", () => this.clear());
    this.size = { width: where.clientWidth, height: where.clientHeight };
    new ResizeObserver(([entry]) => {
      this.size = { width: entry.contentRect.width, height: entry.contentRect.height };
      this.makeLanes();
    }).observe(where);
    this.makeLanes();
    setInterval(() => this.tick(), TICK);
  }

  makeLanes() {
    this.laneHeight = parseFloat(getComputedStyle(this.where).fontSize) * 1.75;
    const wanted = Math.max(1, Math.floor(this.size.height / this.laneHeight));
    while (this.lanes.length < wanted) this.lanes.push({ entered: 0, gone: 0 });
    this.lanes.length = wanted;
  }

  /** {name, text, color, mine, pin} */
  add(comment) {
    if (this.waiting.length >= this.backlog) this.miss(this.waiting.splice(0, 1).length);
    this.waiting.push(comment);
  }

  miss(count) {
    this.left += count;
    this.onMore(this.left);
    clearTimeout(this.forget);
    this.forget = setTimeout(() => { this.left = 0; this.onMore(0); }, 4000);
  }

  pause(on) {
    this.paused = on;
    for (const motion of this.flying.values()) if (motion) on ? motion.pause() : motion.play();
    const now = performance.now();
    if (!on) for (const lane of this.lanes) { lane.entered += now - this.since; lane.gone += now - this.since; }
    this.since = now;
  }

  clear() {
    for (const [element, motion] of [...this.flying]) { motion?.cancel(); this.remove(element); }
  }

  // What waits enters over about a second, so that a frame of many looks like talk, not like a wall.
  tick() {
    if (this.waiting.length === 0 || this.paused || document.hidden) {
      if (document.hidden && this.waiting.length > 0) this.waiting.length = 0;
      return;
    }
    const share = Math.ceil(this.waiting.length / 12);
    if (this.quietMotion.matches) return this.show(this.waiting.splice(0, share));
    const now = performance.now();
    const entering = [];
    while (entering.length < share && this.flying.size + entering.length < this.most) {
      const comment = this.waiting[0];
      const free = this.lanes.flatMap((one, i) => (one.entered <= now && !one.taken ? [i] : []));
      if (free.length === 0) break;
      const lane = free[Math.floor(Math.random() * free.length)];
      this.lanes[lane].taken = true;
      entering.push({ lane, element: this.dress(comment) });
      this.waiting.shift();
    }
    for (const { lane } of entering) this.lanes[lane].taken = false;
    if (entering.length > 0) this.launch(entering, now);
    // Late comments are no conversation: those that waited for two seconds are left out.
    const late = now - 2000;
    let missed = 0;
    while (this.waiting.length > 0 && (this.waiting[0].since ??= now) < late) {
      this.waiting.shift();
      ++missed;
    }
    for (const one of this.waiting) one.since ??= now;
    if (missed > 0) this.miss(missed);
  }

  dress({ name, text, color, mine, pin }) {
    const element = this.spare.pop() || make("span", {}, make("b"), "");
    const short = text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
    element.className = `${mine ? "mine " : ""}${pin ? "pin" : ""}`;
    element.firstChild.className = `c${color}`;
    element.firstChild.textContent = name;
    element.lastChild.data = short.replaceAll("\n", " ");
    return element;
  }

  // First all are put there, then all are measured, then all fly: one layout for the lot.
  launch(entering, now) {
    this.where.append(...entering.map((one) => one.element));
    const widths = entering.map((one) => one.element.offsetWidth);
    entering.forEach(({ lane, element }, i) => {
      const { width } = this.size;
      const way = width + widths[i];
      // One that is longer would be faster: it starts so late that it never meets the one before.
      const catchUp = this.lanes[lane].gone - (now + (CROSSING * width) / way);
      const delay = Math.max(0, catchUp);
      const y = lane * this.laneHeight;
      const motion = element.animate(
        [{ transform: `translate(${width}px, ${y}px)` },
          { transform: `translate(${-widths[i]}px, ${y}px)` }],
        { duration: CROSSING, delay, fill: "both" });
      element.classList.add("on");
      this.flying.set(element, motion);
      motion.onfinish = () => { motion.cancel(); this.remove(element); };
      this.lanes[lane].entered = now + delay + (CROSSING * (widths[i] + GAP)) / way;
      this.lanes[lane].gone = now + delay + CROSSING;
    });
  }

  remove(element) {
    this.flying.delete(element);
    element.remove();
    if (this.spare.length < 64) this.spare.push(element);
  }

  // Without motion: the newest few, each in its line.
  show(comments) {
    for (const comment of comments) {
      const element = this.dress(comment);
      element.classList.add("on", "still");
      this.flying.set(element, null);
      this.where.append(element);
    }
    const all = [...this.where.children];
    const fit = Math.max(1, Math.min(STILL, this.lanes.length));
    for (const old of all.slice(0, -fit)) this.remove(old);
    all.slice(-fit).forEach((element, i) => {
      element.style.transform = `translate(0.5rem, ${i * this.laneHeight}px)`;
    });
  }
}
