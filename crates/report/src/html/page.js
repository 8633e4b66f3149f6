"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);

  // An element with attributes and children; text is never read as HTML.
  const make = (tag, attributes = {}, ...children) => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
    }
    node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
    return node;
  };
  const count = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;
  const where = (place) => (place.file && place.line ? `${place.file}:${place.line}` : place.file || "");

  // Lines of a file around a place.
  const source = (sources, file, line) => {
    const lines = sources[file];
    if (!lines || !line) return null;
    const numbers = Object.keys(lines).map(Number).filter((n) => Math.abs(n - line) <= 4);
    if (!numbers.length) return null;
    const rows = numbers.map((n) =>
      make("span", { class: n === line ? "here" : null }, `${String(n).padStart(5)} │ ${lines[n]}`));
    return make("pre", { class: "source" }, rows);
  };

  // What does not depend on the step at hand, once for each execution: steps by their numbers, the place of each store
  // in modification order, and each step's thread and place in it.
  const indexes = new WeakMap();
  const indexOf = (execution) => {
    if (indexes.has(execution)) return indexes.get(execution);
    const [byNumber, positions, order, counts] = [new Map(), new Map(), new Map(), new Map()];
    for (const step of execution.steps) {
      if (!step.n) continue;
      byNumber.set(step.n, step);
      counts.set(step.t, (counts.get(step.t) || 0) + 1);
      order.set(step.n, [step.t, counts.get(step.t)]);
    }
    execution.coherence.forEach(([, stores]) => stores.forEach((store, i) => positions.set(store, i + 1)));
    const index = { byNumber, positions, order };
    indexes.set(execution, index);
    return index;
  };

  // What memory, buffers and threads' views are after each step.
  const replay = (execution, upTo) => {
    const { byNumber, positions, order } = indexOf(execution);
    const memory = new Map();
    const buffers = execution.threads.map(() => []);
    const clocks = execution.threads.map(() => []);
    // By thread and location: the newest store in modification order that it has read or written.
    const seen = execution.threads.map(() => new Map());
    let last = 0;
    for (let i = 0; i <= upTo; i += 1) {
      const step = execution.steps[i];
      if (!step.n) continue;
      last = step.n;
      if (step.clock) clocks[step.t] = step.clock;
      if (step.k === "commit") {
        const store = byNumber.get(step.of);
        buffers[step.t] = buffers[step.t].filter((one) => one !== store);
        if (store && store.at !== undefined) memory.set(store.at, store.wrote);
        continue;
      }
      if (step.at === undefined) continue;
      const known = seen[step.t].get(step.at) || 0;
      const met = Math.max(positions.get(step.from) || 0, step.wrote !== undefined ? positions.get(step.n) || 0 : 0);
      seen[step.t].set(step.at, Math.max(known, met));
      if (step.read !== undefined && step.from === 0 && !memory.has(step.at)) memory.set(step.at, step.read);
      if (step.wrote === undefined) continue;
      if (step.buffered) buffers[step.t].push(step);
      else memory.set(step.at, step.wrote);
    }
    // Under c11: which stores a thread could still read.
    const happened = (store, thread) => {
      const [by, index] = order.get(store) || [0, Infinity];
      return by === thread || (clocks[thread][by] || 0) >= index;
    };
    const views = new Map();
    if (execution.model === "c11") {
      for (const [name, stores] of execution.coherence) {
        const made = stores.filter((store) => store <= last);
        views.set(name, execution.threads.map((_, thread) => {
          let first = seen[thread].get(name) || 0;
          made.forEach((store) => {
            if (happened(store, thread)) first = Math.max(first, positions.get(store));
          });
          const readable = made.filter((store) => positions.get(store) >= Math.max(first, 1));
          const values = readable.map((store) => byNumber.get(store).wrote);
          return first === 0 ? ["initial", ...values] : values;
        }));
      }
    }
    return { memory, buffers, views };
  };

  const ROW = 64;
  const LANE = 300;
  // By the number of threads.
  const NARROW = [240, 240, 240, 190];
  const RELATIONS = { rf: "reads from", fr: "from-read", mo: "modification order", sw: "synchronises with",
    po: "program order" };

  class Board {
    // A narrow one stands beside others, and has all steps.
    constructor(finding, execution, narrow = false) {
      this.finding = finding;
      this.execution = execution;
      this.narrow = narrow;
      this.lane = narrow ? NARROW[execution.threads.length] || 165 : LANE;
      this.on = new Set(narrow ? ["rf", "fr", "mo"] : ["rf", "fr"]);
      this.all = narrow || !this.execution.steps.some((step) => step.main);
      this.cycle = new Set(this.execution.cycle);
      this.choose();
      // Where something is odd, or at the end.
      const odd = this.shown.findLastIndex((i) => (this.execution.steps[i].r || []).length);
      this.now = odd < 0 ? this.shown.length - 1 : odd;
      this.build();
    }

    // The steps that are shown, and where each number stands among them.
    choose() {
      const steps = this.execution.steps;
      this.shown = steps.map((_, i) => i).filter((i) => this.all || steps[i].main);
      const threads = [...new Set(this.shown.map((i) => steps[i].t))].sort((a, b) => a - b);
      this.lanes = new Map(threads.map((thread, i) => [thread, i]));
      this.rowOf = new Map(this.shown.map((i, row) => [steps[i].n, row]));
      this.edges = [...this.execution.edges, ...this.programOrder()].filter(([, from, to]) =>
        this.rowOf.has(from) && this.rowOf.has(to));
      this.edgesOf = new Map();
      this.spans = new Int32Array(2 * this.edges.length);
      this.edges.forEach(([, from, to], i) => {
        const [a, b] = [this.rowOf.get(from), this.rowOf.get(to)];
        this.spans[2 * i] = Math.min(a, b);
        this.spans[2 * i + 1] = Math.max(a, b);
      });
      for (const edge of this.edges) {
        for (const end of [edge[1], edge[2]]) {
          if (!this.edgesOf.has(end)) this.edgesOf.set(end, []);
          this.edgesOf.get(end).push(edge);
        }
      }
    }

    // From each step to the next of its thread, and along the cycle from one of its steps to the next.
    programOrder() {
      const before = new Map();
      const edges = [];
      for (const i of this.shown) {
        const { n, t } = this.execution.steps[i];
        if (!n) continue;
        if (before.has(t)) edges.push(["po", before.get(t), n]);
        before.set(t, n);
      }
      const threads = new Map(this.execution.steps.map((step) => [step.n, step.t]));
      const known = new Set(edges.map(([, from, to]) => `${from} ${to}`));
      this.execution.cycle.forEach((from, i, all) => {
        const to = all[(i + 1) % all.length];
        if (from < to && threads.get(from) === threads.get(to) && !known.has(`${from} ${to}`)) {
          edges.push(["po", from, to]);
        }
      });
      return edges;
    }

    build() {
      const button = (label, title, act) => make("button", { type: "button", title, onclick: act }, label);
      this.slider = make("input", { type: "range", min: 0, "aria-label": "step",
        oninput: () => this.go(Number(this.slider.value)) });
      this.position = make("span", { class: "mono position" });
      const toggles = Object.entries(RELATIONS).map(([name, words]) =>
        make("label", { class: name, title: words },
          make("input", { type: "checkbox", checked: this.on.has(name) ? "" : null, onchange: (event) => {
            if (event.target.checked) this.on.add(name);
            else this.on.delete(name);
            this.draw();
          } }), ` ${name}`));
      const all = make("label", { title: "steps that have nothing to do with the finding" },
        this.everything = make("input", { type: "checkbox", checked: this.all ? "" : null, onchange: (event) => {
          const step = this.shown[this.now];
          this.all = event.target.checked;
          this.choose();
          this.now = Math.max(0, this.shown.findLastIndex((i) => i <= step));
          this.layOut();
        } }), ` all ${this.execution.steps.length.toLocaleString("en")} steps`);
      this.names = make("div", { class: "names" });
      this.rows = make("div", { class: "rows" });
      this.view = make("div", { class: "lanes", tabindex: 0, role: "listbox", "aria-label": "execution",
        onscroll: () => this.draw(), onkeydown: (event) => this.key(event) }, this.names, this.rows);
      this.panel = make("div", { class: "panel", "aria-live": "polite" });
      this.node = make("div", {},
        make("div", { class: "tools" },
          button("«", "first step (Home)", () => this.go(0)),
          button("◀", "back (←)", () => this.go(this.now - 1)),
          button("▶", "forwards (→)", () => this.go(this.now + 1)),
          button("»", "last step (End)", () => this.go(this.shown.length - 1)),
          this.slider, this.position, toggles, all),
        make("div", { class: this.narrow ? "board narrow" : "board" }, this.view, this.panel));
    }

    layOut() {
      this.slider.max = this.shown.length - 1;
      this.names.replaceChildren(make("div", { style: "width:56px" }, "#"),
        ...[...this.lanes.keys()].map((t) =>
          make("div", { style: `width:${this.lane}px` }, this.execution.threads[t])));
      this.rows.style.height = `${this.shown.length * ROW + 8}px`;
      this.rows.style.width = `${56 + this.lanes.size * this.lane + 60}px`;
      this.go(this.now);
    }

    key(event) {
      const last = this.shown.length - 1;
      const moves = { ArrowLeft: -1, ArrowUp: -1, k: -1, ArrowRight: 1, ArrowDown: 1, j: 1, PageUp: -10, PageDown: 10 };
      if (event.key in moves) this.go(this.now + moves[event.key]);
      else if (event.key === "Home") this.go(0);
      else if (event.key === "End") this.go(last);
      else return;
      event.preventDefault();
    }

    go(row) {
      this.now = Math.min(Math.max(row, 0), this.shown.length - 1);
      this.slider.value = this.now;
      this.position.textContent = `step ${this.now + 1} of ${this.shown.length}`;
      const top = this.now * ROW;
      const room = this.view.clientHeight - this.names.offsetHeight;
      if (top < this.view.scrollTop || top + ROW > this.view.scrollTop + room) {
        this.view.scrollTop = Math.max(0, top - room / 2);
      }
      this.draw();
      this.tell();
      if (this.ready) this.remember();
    }

    // The address names the step, once nobody has gone on for a moment: browsers do not let it change all the time.
    remember() {
      clearTimeout(this.later);
      this.later = setTimeout(() => history.replaceState(null, "", this.link()), 300);
    }

    // Shows the step of this number, whether it matters to the finding or not.
    show(number) {
      if (!this.rowOf.has(number)) {
        this.all = true;
        this.everything.checked = true;
        this.choose();
        this.layOut();
      }
      if (this.rowOf.has(number)) this.go(this.rowOf.get(number));
    }

    box(row) {
      const step = this.execution.steps[this.shown[row]];
      const x = 56 + this.lanes.get(step.t) * this.lane;
      return { x, y: row * ROW + 4, width: this.lane - 12, height: ROW - 10 };
    }

    // Only what can be seen is in the page.
    draw() {
      const first = Math.max(0, Math.floor(this.view.scrollTop / ROW) - 8);
      const last = Math.min(this.shown.length, first + Math.ceil(this.view.clientHeight / ROW) + 16);
      const nodes = [];
      for (let row = first; row < last; row += 1) {
        const step = this.execution.steps[this.shown[row]];
        const { x, y, width, height } = this.box(row);
        const number = make("div", { class: "faint mono", style: `position:absolute;left:8px;top:${y + 2}px` },
          step.n ? `#${step.n}` : "");
        const kinds = ["step", step.k, row > this.now ? "later" : "", row === this.now ? "now" : "",
          this.cycle.has(step.n) ? "cycle" : ""];
        const lines = [step.s, step.e, ...(step.r || [])].filter(Boolean).slice(0, 3);
        const remark = (line) => (step.r || []).includes(line);
        nodes.push(number, make("div", {
          class: kinds.filter(Boolean).join(" "), role: "option", "aria-selected": row === this.now ? "true" : "false",
          title: [step.s, step.e, ...(step.r || []), step.clock ? `clock ${step.clock.join(" ")}` : ""]
            .filter(Boolean).join("\n"),
          style: `left:${x}px;top:${y}px;width:${width}px;height:${height}px`, onclick: () => this.go(row),
        }, lines.map((line) => make("div", { class: remark(line) ? "remark" : null }, line))));
      }
      this.rows.replaceChildren(...nodes, this.arrows(first, last));
    }

    arrows(first, last) {
      const space = "http://www.w3.org/2000/svg";
      const svg = document.createElementNS(space, "svg");
      svg.setAttribute("width", this.rows.style.width);
      svg.setAttribute("height", this.rows.style.height);
      const now = this.execution.steps[this.shown[this.now]];
      const chosen = new Set(now && now.n ? this.edgesOf.get(now.n) || [] : []);
      const add = (name, attributes, text) => {
        const node = document.createElementNS(space, name);
        for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
        if (text) node.textContent = text;
        svg.append(node);
      };
      let drawn = 0;
      for (let i = 0; i < this.edges.length; i += 1) {
        if (this.spans[2 * i + 1] < first || this.spans[2 * i] > last) continue;
        const edge = this.edges[i];
        const [name, from, to] = edge;
        const strong = (chosen.has(edge) && name !== "po")
          || (this.cycle.has(from) && this.cycle.has(to) && name !== "sw");
        if (!this.on.has(name) && !strong) continue;
        const [a, b] = [this.rowOf.get(from), this.rowOf.get(to)];
        if (drawn > 400) break;
        drawn += 1;
        const [p, q] = [this.box(a), this.box(b)];
        const same = p.x === q.x;
        const right = same || p.x < q.x;
        const [x1, x2] = [right ? p.x + p.width : p.x, same || !right ? q.x + q.width : q.x];
        const [y1, y2] = [p.y + p.height / 2, q.y + q.height / 2];
        const bend = same ? 40 + 10 * (drawn % 3) : 0;
        const middle = (x1 + x2) / 2 + bend;
        const path = same
          ? `M${x1},${y1} C${x1 + bend},${y1} ${x2 + bend},${y2} ${x2},${y2}`
          : `M${x1},${y1} C${middle},${y1} ${middle},${y2} ${x2},${y2}`;
        const look = { d: path, fill: "none", stroke: `var(--${name})`, "stroke-width": strong ? 2.5 : 1.2 };
        if (!strong) look.opacity = 0.6;
        if (name === "fr") look["stroke-dasharray"] = "6 3";
        if (name === "mo") look["stroke-dasharray"] = "2 3";
        add("path", look);
        const turn = x2 > (same ? x2 + 1 : x1) ? -7 : 7;
        add("path", { d: `M${x2},${y2} l${turn},-4 l0,8 z`, fill: `var(--${name})` });
        if (strong) {
          // Two arrows of one pair of threads have their names apart.
          const share = { rf: 0.3, fr: 0.7 }[name] || 0.5;
          const x = same ? middle + 3 : x1 + share * (x2 - x1) + 3;
          add("text", { x, y: y1 + share * (y2 - y1), fill: `var(--${name})`, "font-size": 11 }, name);
        }
      }
      return svg;
    }

    // Threads that could read the same share a row. Of many values the newest are told.
    alike(name, all) {
      const rows = new Map();
      for (const t of this.lanes.keys()) {
        const older = all[t].length > 12 ? all[t].length - 8 : 0;
        const values = [...(older ? [`${older.toLocaleString("en")} older`] : []), ...all[t].slice(older)].join(", ");
        rows.set(values, [...(rows.get(values) || []), this.execution.threads[t].replace(/^thread /, "")]);
      }
      return [...rows].map(([values, threads], i) => [i ? "" : name, threads.join(", "), values]);
    }

    // The link to the step at hand.
    link() {
      const step = this.execution.steps[this.shown[this.now]];
      return `#finding-${this.finding.id}/${step && step.n ? `step-${step.n}` : ""}`;
    }

    tell() {
      const index = this.shown[this.now];
      const step = this.execution.steps[index];
      if (!step) return;
      const { memory, buffers, views } = replay(this.execution, index);
      const table = (head, rows) => make("table", {},
        make("tr", {}, head.map((cell) => make("th", {}, cell))),
        rows.map((row) => make("tr", {}, row.map((cell) => make("td", { class: "mono" }, String(cell))))));
      const worth = ([name]) => name !== "mo" && name !== "po";
      const links = (this.edgesOf.get(step.n) || []).filter(worth).map(([name, from, to]) => {
        const other = from === step.n ? to : from;
        const words = from === step.n ? `${RELATIONS[name]} → #${to}` : `${RELATIONS[name]} ← #${from}`;
        return make("button", { type: "button", class: name, onclick: () => this.go(this.rowOf.get(other)) }, words);
      });
      const stored = (one) => (one.at === undefined ? one.s : `${one.at} = ${one.wrote}`);
      const held = buffers.map((list, t) => [t, list]).filter(([, list]) => list.length);
      const parts = [
        make("h3", {}, `${step.n ? `#${step.n} · ` : ""}${this.execution.threads[step.t]}`),
        make("div", { class: "mono" }, step.s), make("div", { class: "mono" }, step.e),
        (step.r || []).map((remark) => make("div", { class: "mono fail" }, remark)),
        make("div", { class: "faint" }, [step.fn, where(step)].filter(Boolean).join(", ")),
        make("div", { class: "tools" }, links),
        source(this.finding.sources, step.file, step.line),
        memory.size ? [make("h3", {}, "memory"), table(["variable", "value"], [...memory])] : null,
        held.length ? [make("h3", {}, "store buffers"), table(["thread", "stores, oldest first"],
          held.map(([t, list]) => [this.execution.threads[t], list.map(stored).join(", ")]))] : null,
        views.size ? [make("h3", {}, "what threads could read"),
          table(["variable", "thread", "values"], [...views].flatMap(([name, all]) => this.alike(name, all)))] : null,
        step.clock ? make("div", { class: "faint mono" }, `happens after: ${step.clock.map((time, t) =>
          `${time} of ${this.execution.threads[t]}`).join(", ")}`) : null,
      ];
      this.panel.replaceChildren(...parts.flat(3).filter(Boolean));
    }
  }

  const boards = [];
  const finding = (one) => {
    const output = (name, text) =>
      (text ? make("details", {}, make("summary", {}, name), make("pre", {}, text)) : null);
    const section = make("section", { class: "finding", id: `finding-${one.id}` },
      make("h2", {}, `finding ${one.id}: ${one.kind} `, make("span", { class: `badge ${one.severity}` }, one.severity)),
      make("p", {}, make("strong", {}, one.message)),
      one.reason.length ? make("ul", {}, one.reason.map((reason) => make("li", {}, reason))) : null,
      one.fix ? make("p", {}, make("strong", {}, "fix: "), one.fix) : null,
      one.memory ? make("p", { class: "faint" }, `memory: ${one.memory}`) : null,
      one.labels.map((label) => [
        make("div", {}, `${label.thread}: ${label.access} `,
          make("code", {}, [label.function, where(label)].filter(Boolean).join(", "))),
        source(one.sources, label.file, label.line)]).flat(),
      one.stacks.filter((stack) => stack.frames.length).map((stack) => make("details", {},
        make("summary", {}, stack.title),
        make("pre", {}, stack.frames.map((frame) => `${frame.function}  ${where(frame)}`).join("\n")))),
      output("standard output", one.stdout), output("standard error", one.stderr),
      make("p", { class: "faint" },
        one.count ? `in ${count(one.count, "execution")}, first in execution ${one.first}` : "",
        one.replay ? make("span", {}, " · again: ", make("code", {}, `fencepost replay ${one.replay}`)) : null),
      one.needs ? make("p", { class: "needs" }, `needs ${one.needs}`) : null);
    if (one.execution && one.execution.steps.length) {
      const board = new Board(one, one.execution);
      boards.push(board);
      section.append(make("h3", {}, "the execution"), board.node);
      if (one.execution.state.length) {
        section.append(make("p", { class: "mono" },
          `final state: ${one.execution.state.map(([name, value]) => `${name} = ${value}`).join(", ")}`));
      }
    }
    if (one.first_execution) section.append(firstMet(one));
    return section;
  };

  // The execution in which a finding was met first, below the smaller one. It is laid out when somebody looks at it.
  const firstMet = (one) => {
    const again = one.first_replay
      ? make("p", { class: "faint" }, "again: ", make("code", {}, `fencepost replay ${one.first_replay}`)) : null;
    const details = make("details", { class: "first" },
      make("summary", {}, `as it was met first: ${one.first_needs}`), again);
    details.addEventListener("toggle", () => {
      if (!details.open || details.board) return;
      details.board = new Board(one, one.first_execution);
      details.append(details.board.node);
      details.board.layOut();
    });
    return details;
  };

  const cycles = (list) => make("section", {}, make("h2", {}, count(list.length, "predicted cycle")),
    make("table", {},
      make("tr", {}, ["cycle", "outcome", "trials", "exposed", "harmful"].map((h) => make("th", {}, h))),
      list.map((cycle) => make("tr", {},
        make("td", { class: "mono" }, cycle.labels.map((l) => `${l.thread} ${l.access} ${where(l)}`).join(" → ")),
        make("td", { class: cycle.outcome }, cycle.outcome),
        [cycle.trials, cycle.exposed, cycle.harmful].map((n) => make("td", {}, n.toLocaleString("en")))))));

  // How many pairs of a store and a read had been seen after so many executions, and where findings were met first.
  const chart = () => {
    const points = data.growth || [];
    if (!points.length || data.executions < 2) return null;
    const [width, height, left, right, top, bottom] = [760, 170, 48, 24, 22, 34];
    const most = points[points.length - 1][1];
    const x = (n) => left + (Math.log(Math.max(n, 1)) / Math.log(data.executions)) * (width - left - right);
    const y = (n) => height - bottom - (n / most) * (height - top - bottom);
    const space = "http://www.w3.org/2000/svg";
    const draw = (name, attributes, text) => {
      const node = document.createElementNS(space, name);
      for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
      if (text !== undefined) node.textContent = text;
      return node;
    };
    const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", class: "chart",
      "aria-label": "pairs of a store and a read over executions" });
    const label = (at, down, anchor, text, color) => draw("text",
      { x: at, y: down, "text-anchor": anchor, "font-size": 12, fill: `var(--${color})` }, text);
    const line = (x1, y1, x2, y2, color) => draw("line", { x1, y1, x2, y2, stroke: `var(--${color})` });
    svg.append(line(left, height - bottom, width - right, height - bottom, "faint"),
      line(left, top, left, height - bottom, "faint"),
      label(left - 6, y(most) + 4, "end", most.toLocaleString("en"), "faint"),
      label(left - 6, y(0) + 4, "end", "0", "faint"));
    const ticks = [1];
    while (ticks[ticks.length - 1] * 10 < data.executions / 2) ticks.push(ticks[ticks.length - 1] * 10);
    for (const tick of [...ticks, data.executions]) {
      svg.append(line(x(tick), height - bottom, x(tick), height - bottom + 4, "faint"),
        label(x(tick), height - bottom + 18, "middle", tick.toLocaleString("en"), "faint"));
    }
    const path = points.map(([n, pairs]) => `H${x(n)} V${y(pairs)}`).join(" ");
    svg.append(draw("path", { d: `M${left},${y(0)} ${path} H${x(data.executions)}`, fill: "none",
      stroke: "var(--mo)", "stroke-width": 2 }));
    for (const one of data.findings.filter((finding) => finding.first)) {
      svg.append(draw("line", { x1: x(one.first), y1: top, x2: x(one.first), y2: height - bottom,
        stroke: "var(--bad)", "stroke-dasharray": "4 3" }),
      label(x(one.first), top - 6, "middle", `finding ${one.id}`, "bad"));
    }
    const each = data.seconds > 0 ? Math.round(data.executions / data.seconds) : 0;
    const rate = each ? `, ${each.toLocaleString("en")} a second` : "";
    const news = count(most, "pair") + " of a store and a read, by program points";
    return make("section", {}, make("h2", {}, "the campaign"), svg,
      make("p", { class: "faint" }, `${count(data.executions, "execution")}${rate}, `,
        data.failing ? `${count(data.failing, "execution")} with findings, ` : "",
        `${news}; the last new one in execution ${points[points.length - 1][0].toLocaleString("en")}`));
  };

  // A litmus test: which states there are under which models, and for one of them its executions side by side.
  const litmus = (test, number) => {
    const key = (state) => state.values.join(" ");
    const rows = new Map();
    for (const state of test.models.flatMap((model) => (model.race ? [] : model.states))) {
      if (!rows.has(key(state))) rows.set(key(state), state);
    }
    const compare = (a, b) => a.values.map((value, i) => value - b.values[i]).find((one) => one) || 0;
    const states = [...rows.values()].sort(compare);
    const side = make("div", { class: "side" });
    const lines = states.map((state) => make("tr", { tabindex: 0, onclick: () => choose(state),
      onkeydown: (event) => {
        if (event.key === "Enter") choose(state);
      } },
    state.values.map((value) => make("td", { class: "mono" }, String(value))),
    make("td", {}, state.satisfies ? "✓" : ""),
    test.models.map((model) => {
      const own = model.states.find((one) => key(one) === key(state));
      return make("td", { class: model.race ? "fail" : null },
        model.race ? "race" : own ? own.executions.toLocaleString("en") : model.complete ? "–" : "?");
    })));
    const graph = (model, state) => {
      const own = model.race ? model.states[0] : state && model.states.find((one) => key(one) === key(state));
      const title = model.race ? "has a data race, and so means nothing" : own ? ""
        : model.complete ? "no execution ends so" : "not met before the search ended";
      const board = own && own.execution
        ? new Board({ id: `${number}-${model.model}`, sources: test.sources }, own.execution, true) : null;
      return [make("div", { class: board ? "model" : "model none" }, make("h3", {}, model.model),
        title ? make("p", { class: model.race ? "fail" : "faint" }, title) : null, board && board.node), board];
    };
    const choose = (state) => {
      lines.forEach((line, i) => line.classList.toggle("chosen", states[i] === state));
      const graphs = test.models.map((model) => graph(model, state));
      side.replaceChildren(...graphs.map(([node]) => node));
      graphs.forEach(([, board]) => board && board.layOut());
    };
    const section = make("section", { class: "litmus" }, make("h2", {}, test.test),
      make("p", {}, make("code", {}, test.file), test.condition ? " asks: " : "",
        test.condition ? make("code", {}, test.condition) : ""),
      states.length ? make("table", { class: "states" },
        make("thead", {}, make("tr", {}, test.vars.map((name) => make("th", { class: "mono" }, name)),
          make("th", {}, "asked for"), test.models.map((model) => make("th", {}, model.model)))),
        make("tbody", {}, lines)) : null,
      make("p", { class: "faint" }, "Executions that end in a state, under each model. A click shows one of each."),
      side);
    return [section, () => choose(states.find((state) => state.satisfies) || states[states.length - 1])];
  };

  const page = document.getElementById("page");
  if (data.tests) {
    const tests = data.tests.map(litmus);
    page.append(make("h1", {}, data.target),
      make("p", { class: "faint" }, `fencepost litmus · Fencepost ${data.version}`), ...tests.map(([node]) => node));
    tests.forEach(([, begin]) => begin());
    return;
  }
  page.append(
    make("h1", {}, data.target),
    make("p", {}, make("span", { class: `badge ${data.verdict}` }, data.verdict),
      ` ${data.command} under ${data.model}: `,
      `${count(data.executions, "execution")}, ${count(data.findings.length, "finding")}, ${data.seconds.toFixed(2)} s`,
      make("span", { class: "faint" }, ` · seed ${data.seed} · Fencepost ${data.version}`)),
    data.findings.length > 1 ? make("nav", {}, data.findings.map((one) =>
      make("a", { href: `#finding-${one.id}` }, `${one.id}: ${one.kind}`))) : "",
    ...data.findings.map(finding), data.cycles ? cycles(data.cycles) : "", chart() || "");
  boards.forEach((board) => board.layOut());
  // A link may name a finding and a step, or the execution that was met first: #finding-1/step-12, #finding-1/first.
  const follow = () => {
    const [, other] = /^#finding-(\d+)\/first$/.exec(location.hash) || [];
    const details = other && document.querySelector(`#finding-${other} > details.first`);
    if (details) {
      details.open = true;
      details.scrollIntoView();
    }
    const [, id, step] = /^#finding-(\d+)(?:\/step-(\d+))?/.exec(location.hash) || [];
    const board = boards.find((one) => String(one.finding.id) === id);
    if (board && step) board.show(Number(step));
    if (step) document.getElementById(`finding-${id}`)?.scrollIntoView();
  };
  follow();
  window.addEventListener("hashchange", follow);
  boards.forEach((board) => { board.ready = true; });
  window.fencepost = { data, boards };
})();
