// Charts of the last minutes: one line each, drawn as SVG.
import { make, number, say } from "/web/api.js";

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 300;
const HEIGHT = 60;

function shape(tag, attributes) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

export class Chart {
  /** `show` makes the text of a value. */
  constructor(title, unit, { warm = false, show = number } = {}) {
    this.show = show;
    this.line = shape("path", { class: "line" });
    this.area = shape("path", { class: "area" });
    this.picture = shape("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img" });
    this.picture.append(shape("path", { class: "base", d: `M0 ${HEIGHT}H${WIDTH}` }), this.area, this.line);
    this.now = make("span", {});
    this.most = make("span", { class: "most" });
    this.title = title;
    this.unit = unit;
    this.element = make("div", { class: `card chart${warm ? " warm" : ""}` },
      make("h2", {}, title), make("div", { class: "now" }, this.now, make("small", {}, ` ${unit}`)),
      this.most, this.picture);
  }

  /** At least a minute wide, so that a page that was just opened shows something. */
  draw(values) {
    const length = Math.max(60, values.length);
    const most = Math.max(1, ...values);
    const step = WIDTH / Math.max(1, length - 1);
    const start = WIDTH - (values.length - 1) * step;
    const points = values.map((value, i) =>
      `${(start + i * step).toFixed(1)} ${(HEIGHT - (value / most) * (HEIGHT - 2)).toFixed(1)}`);
    const path = points.length > 1 ? `M${points.join("L")}` : "";
    this.line.setAttribute("d", path);
    this.area.setAttribute("d", path && `${path}V${HEIGHT}H${start.toFixed(1)}Z`);
    const last = values.length > 0 ? values[values.length - 1] : 0;
    const peak = values.length > 0 ? Math.max(...values) : 0;
    say(this.now, this.show(last));
    say(this.most, `peak ${this.show(peak)}`);
    this.picture.setAttribute("aria-label",
      `${this.title}: ${this.show(last)} ${this.unit} now, at most ${this.show(peak)} in the last minutes`);
  }
}
