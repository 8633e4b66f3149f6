// Measures the page that it is appended to, and sends what it found to where the page came from.
"use strict";
(async () => {
  const frame = () => new Promise((resolve) => { requestAnimationFrame(resolve); });
  // After the next frame has been drawn: what comes after the callbacks that run before it.
  const drawn = async () => {
    await frame();
    const { port1, port2 } = new MessageChannel();
    await new Promise((resolve) => { port1.onmessage = resolve; port2.postMessage(0); });
  };
  const summary = (times) => {
    const sorted = [...times].sort((a, b) => a - b);
    return { median: sorted[Math.floor(sorted.length / 2)], worst: sorted[sorted.length - 1] };
  };
  await drawn();
  const usable = performance.now();
  const [board] = window.fencepost.boards;
  const start = performance.now();
  board.everything.click();
  const all = performance.now() - start;
  const { view } = board;
  const last = board.shown.length - 1;
  // The work of one step, with layout; then the frame that shows it.
  const steps = async (key) => {
    const times = { work: [], shown: [] };
    for (const from of [0.05, 0.5, 0.95]) {
      board.go(Math.floor(last * from));
      await drawn();
      for (let i = 0; i < 60; i += 1) {
        const before = performance.now();
        view.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
        view.getBoundingClientRect();
        times.work.push(performance.now() - before);
        await drawn();
        times.shown.push(performance.now() - before);
      }
    }
    return { work: summary(times.work), shown: summary(times.shown) };
  };
  // From one frame to the next while it scrolls: a wheel's notch a frame, or to another end as with the bar's handle.
  const scrolls = async (next) => {
    const times = [];
    view.scrollTop = 0;
    await drawn();
    for (let i = 0; i < 180; i += 1) {
      const before = performance.now();
      view.scrollTop = next(i);
      await drawn();
      times.push(performance.now() - before);
    }
    return summary(times);
  };
  const idle = [];
  for (let i = 0; i < 60; i += 1) {
    const before = performance.now();
    await drawn();
    idle.push(performance.now() - before);
  }
  const height = view.scrollHeight - view.clientHeight;
  const results = {
    steps: board.execution.steps.length, usable, all, idle: summary(idle),
    forwards: await steps("ArrowRight"), backwards: await steps("ArrowLeft"),
    wheel: await scrolls((i) => 120 * (i + 1)), far: await scrolls((i) => (height * ((i * 61) % 180)) / 180),
  };
  await fetch("/results", { method: "POST", body: JSON.stringify(results) });
})();
