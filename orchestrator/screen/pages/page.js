"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const FIRST_ROWS = 25, LEAST_ROWS = 12, MOST_CHOICES = 15, HOVER_MS = 150, LEAVE_MS = 300;

  /** An element with text or other elements in it; nothing is ever parsed as HTML. */
  const make = (name, properties = {}, ...content) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(properties)) {
      if (key in made) made[key] = value; else made.setAttribute(key, value);
    }
    made.append(...content);
    return made;
  };

  /** A text in which what stands between backticks is code. */
  const withCode = (text) => text.split("`").map((part, index, parts) =>
    index % 2 && parts.length % 2 ? make("code", {}, part) : part);

  /* Tables: sorting, search, choices, and rows beyond the first. */

  const valueOf = (cell) => {
    if (cell.dataset.sort === undefined) return cell.textContent;
    const number = Number(cell.dataset.sort);
    return cell.dataset.sort === "" || Number.isNaN(number) ? cell.dataset.sort : number;
  };
  const collator = new Intl.Collator("en", {numeric: true});
  const compare = (one, other) => {
    if (one === "–" || other === "–") return (one === "–") - (other === "–") || 0;
    return typeof one === "number" && typeof other === "number"
      ? one - other : collator.compare(String(one), String(other));
  };

  class Table {
    constructor(table) {
      this.table = table;
      this.body = table.tBodies[0];
      this.rows = [...this.body.rows];
      this.heads = [...table.tHead.rows[0].cells];
      this.shown = FIRST_ROWS;
      this.choices = new Map();
      this.texts = this.rows.map((row) => row.textContent.toLowerCase());
      this.heads.forEach((head, index) => this.makeSortable(head, index));
      if (this.rows.length >= LEAST_ROWS) this.addTools();
      this.update();
    }

    makeSortable(head, index) {
      const button = make("button", {type: "button"}, head.textContent);
      button.addEventListener("click", () => this.sort(head, index));
      head.replaceChildren(button);
    }

    sort(head, index) {
      const descending = head.getAttribute("aria-sort") === "ascending";
      this.heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      const keyed = this.rows.map((row, place) => [valueOf(row.cells[index]), place, row]);
      keyed.sort(([one, first], [other, second]) => {
        const missing = one === "–" || other === "–";
        const order = compare(one, other);
        return (descending && !missing ? -order : order) || first - second;
      });
      const texts = new Map(this.rows.map((row, place) => [row, this.texts[place]]));
      this.rows = keyed.map(([, , row]) => row);
      this.texts = this.rows.map((row) => texts.get(row));
      this.body.append(...this.rows);
      this.update();
    }

    addTools() {
      const name = this.table.caption.textContent;
      this.search = make("input", {type: "search", autocomplete: "off", spellcheck: false});
      this.search.setAttribute("aria-label", `Search ${name}`);
      this.search.addEventListener("input", () => this.update());
      this.count = make("output");
      const tools = make("div", {className: "tools"}, make("label", {}, "Search", this.search));
      this.heads.forEach((head, index) => {
        const select = this.choiceOf(head, index);
        if (select) tools.append(make("label", {}, head.textContent, select));
      });
      tools.append(this.count);
      this.more = make("button", {type: "button", className: "more"});
      this.more.addEventListener("click", () => { this.shown = Infinity; this.update(); });
      const region = this.table.parentElement;
      region.before(tools);
      region.after(this.more);
    }

    choiceOf(head, index) {
      if (head.classList.contains("n") || this.rows[0].cells[index].matches(".long")) return null;
      const values = [...new Set(this.rows.map((row) => row.cells[index].textContent))];
      if (values.length < 2 || values.length > MOST_CHOICES || values.length === this.rows.length) return null;
      if (values.some((value) => value.length > 40)) return null;
      const select = make("select", {}, make("option", {value: ""}, "all"));
      values.sort(compare).forEach((value) => select.append(make("option", {value: `=${value}`}, value)));
      select.addEventListener("change", () => { this.choices.set(index, select.value.slice(1)); this.update(); });
      return select;
    }

    fits(row, text, words) {
      for (const [index, value] of this.choices) {
        if (value && row.cells[index].textContent !== value) return false;
      }
      return words.every((word) => text.includes(word));
    }

    update() {
      const words = (this.search?.value ?? "").toLowerCase().split(/\s+/).filter(Boolean);
      let fitting = 0;
      this.rows.forEach((row, place) => {
        const fits = this.fits(row, this.texts[place], words);
        fitting += fits;
        row.hidden = !fits || fitting > this.shown;
      });
      rove(this.table);
      if (!this.search) return;
      const total = this.rows.length.toLocaleString("en");
      this.count.value = fitting === this.rows.length
        ? `${total} rows` : `${fitting.toLocaleString("en")} of ${total} rows`;
      this.more.hidden = fitting <= this.shown;
      this.more.textContent = `Show all ${fitting.toLocaleString("en")} rows`;
    }
  }

  /* Numbers: one of a table takes the focus, arrow keys lead to the others. */

  const numbersOf = (row) => [...row.querySelectorAll("button[data-detail]")];
  const rove = (table, chosen) => {
    const buttons = [...table.tBodies[0].querySelectorAll("button[data-detail]")];
    const first = chosen ?? buttons.find((button) => !button.closest("tr").hidden);
    buttons.forEach((button) => { button.tabIndex = button === first ? 0 : -1; });
  };
  const neighbour = (button, key) => {
    const row = button.closest("tr"), column = button.closest("td").cellIndex;
    if (key === "ArrowLeft" || key === "ArrowRight") {
      const buttons = numbersOf(row);
      return buttons[buttons.indexOf(button) + (key === "ArrowRight" ? 1 : -1)];
    }
    const next = key === "ArrowDown" ? "nextElementSibling" : "previousElementSibling";
    for (let other = row[next]; other; other = other[next]) {
      const target = other.hidden ? null : other.cells[column].querySelector("button[data-detail]");
      if (target) return target;
    }
    return undefined;
  };

  /* Detail: what is known of one number. */

  const SVG = "http://www.w3.org/2000/svg";
  const box = make("div", {id: "detail", tabIndex: -1});
  box.setAttribute("popover", "manual");
  box.setAttribute("role", "dialog");
  box.setAttribute("aria-labelledby", "detail-title");
  document.body.append(box);
  let opener = null, pinned = false, timer = 0;

  const shape = (name, attributes) => {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const digits = (value) => Number(value.toPrecision(3)).toLocaleString("en", {maximumSignificantDigits: 4});

  const drawing = (warm, timed) => {
    const all = [...warm, ...timed], most = Math.max(...all), width = 400, height = 100;
    const picture = shape("svg", {viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img"});
    picture.setAttribute("aria-label", `Durations in their order, up to ${digits(most)} ms`);
    const place = (value) => height - 6 - (height - 12) * value / most;
    const step = width / (all.length + 1);
    all.forEach((value, index) => {
      const point = shape("circle", {cx: step * (index + 1), cy: place(value), r: 2.2});
      if (index < warm.length) point.setAttribute("class", "warm");
      picture.append(point);
    });
    const sorted = [...timed].sort((one, other) => one - other), middle = place(sorted[sorted.length >> 1]);
    picture.append(shape("line", {x1: step * warm.length, x2: width, y1: middle, y2: middle}));
    return picture;
  };

  const durations = (detail) => {
    const warm = detail.warm ?? [], timed = detail.timed ?? [];
    if (!timed.length) return [];
    const words = [
      warm.length ? `${detail.warm_count.toLocaleString("en")} of warm-up, then ` : "",
      `${detail.timed_count.toLocaleString("en")} timed durations from 0 to ${digits(Math.max(...warm, ...timed))} ms`,
      timed.length < detail.timed_count ? "; drawn are the least and the greatest of each stretch" : "",
    ].join("");
    const numbers = make("details", {}, make("summary", {}, "Durations, ms"), timed.map(digits).join(" "));
    return [make("p", {className: "muted"}, words), drawing(warm, timed), numbers];
  };

  const fill = (button) => {
    const [key, column] = button.dataset.detail.split(":"), detail = data.details[key];
    const close = make("button", {type: "button", className: "close"}, "Close");
    close.addEventListener("click", () => hide(true));
    const heading = data.columns[column], interval = detail.intervals[column];
    const title = make("h3", {id: "detail-title"}, `${heading}: ${button.textContent}`);
    const list = make("dl");
    const add = (name, value) => {
      if (value === null || value === undefined || value.length === 0) return;
      const content = Array.isArray(value)
        ? [make("ul", {}, ...value.map((one) => make("li", {}, ...withCode(one))))] : withCode(value);
      list.append(make("dt", {}, name), make("dd", {}, ...content));
    };
    add("95 % interval", interval ?? "none: the record holds none for this number");
    detail.facts.forEach(([name, value]) => add(name, value));
    box.replaceChildren(close, title, make("p", {className: "id"}, detail.cell), ...durations(detail), list);
    if (detail.command) box.append(make("p", {}, "measure it again: ", make("code", {}, detail.command)));
  };

  const show = (button, pin) => {
    if (opener !== button) fill(button);
    opener = button;
    pinned = pin;
    if (!box.matches(":popover-open")) box.showPopover();
    const anchor = button.getBoundingClientRect(), size = box.getBoundingClientRect(), gap = 8;
    const left = Math.min(Math.max(gap, anchor.right - size.width), innerWidth - size.width - gap);
    const below = anchor.bottom + gap, above = anchor.top - size.height - gap;
    const top = below + size.height <= innerHeight ? below : Math.max(gap, above);
    box.style.left = `${left}px`;
    box.style.top = `${top}px`;
    box.scrollTop = 0;
    if (pin) box.focus();
  };
  const hide = (back) => {
    clearTimeout(timer);
    const button = opener;
    opener = null;
    pinned = false;
    if (box.matches(":popover-open")) box.hidePopover();
    if (back) button?.focus();
  };

  const numberAt = (event) => event.target.closest?.("button[data-detail]");
  document.addEventListener("click", (event) => {
    const button = numberAt(event);
    clearTimeout(timer);
    if (button) { rove(button.closest("table"), button); show(button, true); }
    else if (!box.contains(event.target)) hide(false);
  });
  document.addEventListener("pointerover", (event) => {
    if (event.pointerType !== "mouse" || pinned) return;
    const button = numberAt(event);
    clearTimeout(timer);
    if (button) timer = setTimeout(() => show(button, false), HOVER_MS);
    else if (opener && !box.contains(event.target)) timer = setTimeout(() => hide(false), LEAVE_MS);
  });
  document.addEventListener("keydown", (event) => {
    const button = numberAt(event);
    if (event.key === "Escape" && opener) { hide(true); return; }
    if (!button || !event.key.startsWith("Arrow")) return;
    const target = neighbour(button, event.key);
    event.preventDefault();
    if (target) { rove(button.closest("table"), target); target.focus(); }
  });
  addEventListener("scroll", (event) => {
    if (opener && !pinned && !box.contains(event.target)) hide(false);
  }, {capture: true, passive: true});

  /* Charts: each is drawn when it comes near the window, all of them before printing. */

  const draw = (figure) => {
    if (figure.dataset.drawn) return;
    figure.dataset.drawn = "true";
    // the element around the drawing says what it shows; its marks one by one say nothing
    Promise.resolve(window.drawChart(figure, data.charts[figure.dataset.chart])).then(() => {
      figure.querySelector("svg")?.setAttribute("aria-hidden", "true");
    });
  };
  const figures = [...document.querySelectorAll("[data-chart]")];
  const watcher = new IntersectionObserver((entries) => {
    entries.filter((entry) => entry.isIntersecting).forEach((entry) => draw(entry.target));
  }, {rootMargin: "400px"});
  figures.forEach((figure) => watcher.observe(figure));

  const tables = [...document.querySelectorAll("table[data-sortable]")].map((table) => new Table(table));
  addEventListener("beforeprint", () => {
    document.querySelectorAll("main details").forEach((details) => { details.open = true; });
    figures.forEach(draw);
    tables.forEach((table) => { table.shown = Infinity; table.update(); });
  });
})();
