(function () {
  // Colours as the screen has them, whatever notation they are written in.
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  function rgba(colour) {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    return Array.from(pen.getImageData(0, 0, 1, 1).data);
  }
  function luminance(c) {
    const [r, g, b] = c.slice(0, 3).map(function (v) {
      v /= 255;
      return v <= 0.04045 ? v / 12.92 : Math.pow((v + 0.055) / 1.055, 2.4);
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }
  function behind(element) {
    for (let e = element; e; e = e.parentElement) {
      const c = rgba(getComputedStyle(e).backgroundColor);
      if (c[3] > 200) return c;
    }
    return [255, 255, 255, 255];
  }
  function visible(e) {
    const box = e.getBoundingClientRect();
    return box.width > 2 && box.height > 2 && e.checkVisibility();
  }

  let worst = { ratio: 99, text: "" }, smallest = 99;
  const audit = () => document.querySelectorAll("body *").forEach(function (e) {
    const own = Array.from(e.childNodes).some((n) => n.nodeType === 3 && n.data.trim());
    if (!own || !visible(e) || e.closest("#tip, script, .hide, .skip")) return;
    const style = getComputedStyle(e);
    const inSvg = e instanceof SVGElement;
    const a = luminance(rgba(inSvg ? style.fill : style.color));
    const b = luminance(behind(inSvg ? e.ownerSVGElement.parentElement : e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < worst.ratio) worst = { ratio: ratio, text: e.textContent.trim().slice(0, 60) };
    const to = inSvg ? e.getScreenCTM() : { a: 1, b: 0 };
    const scale = Math.hypot(to.a, to.b); // also of turned text
    smallest = Math.min(smallest, parseFloat(style.fontSize) * scale);
  });
  audit();

  // What the pointer touches tells its values.
  const touch = (e) => e.dispatchEvent(new PointerEvent("pointermove", { bubbles: true, clientX: 40, clientY: 40 }));
  const band = Array.from(document.querySelectorAll(".power")).filter(visible)[0];
  let told = "";
  if (band) {
    touch(band);
    told = document.getElementById("tip").innerText;
    touch(document.body);
  }
  const hidden = document.getElementById("tip").hidden;

  // The keyboard reaches the boxes of the network, and tells their tables.
  const box = document.querySelector(".node");
  let table = "";
  if (box) {
    box.focus({ focusVisible: true });
    table = document.getElementById("tip").innerText;
    box.blur();
  }
  const away = document.getElementById("tip").hidden;
  const nodes = Array.from(document.querySelectorAll(".node")).map(function (node) {
    const inner = Array.from(node.querySelectorAll("text")).map((t) => t.getBBox());
    const outer = node.querySelector("path").getBBox();
    return inner.every((b) => b.x >= outer.x && b.x + b.width <= outer.x + outer.width);
  });

  // What is wider than its room says so.
  const cues = Array.from(document.querySelectorAll(".scroll")).filter(visible).map(function (e) {
    const before = e.previousElementSibling;
    const said = Boolean(before && before.classList.contains("beside") && visible(before));
    return [e.scrollWidth > e.clientWidth + 4, e.classList.contains("more-right"), said];
  });
  // No heading of a table is broken within a word: its words have a box each.
  const broken = Array.from(document.querySelectorAll("thead th")).filter(visible).filter(function (e) {
    const range = document.createRange();
    return Array.from(e.childNodes).filter((n) => n.nodeType === 3).some(function (n) {
      return Array.from(n.data.matchAll(/\S+/g)).some(function (word) {
        if (word[0].length > 12) return false;
        range.setStart(n, word.index);
        range.setEnd(n, word.index + word[0].length);
        return range.getClientRects().length > 1;
      });
    });
  }).map((e) => e.textContent);

  const root = document.documentElement;
  return JSON.stringify({
    scrollWidth: root.scrollWidth, innerWidth: window.innerWidth,
    dark: matchMedia("(prefers-color-scheme: dark)").matches,
    paper: luminance(rgba(getComputedStyle(document.body).backgroundColor)),
    contrast: worst, smallest: smallest, told: told, hidden: hidden, alerts: window.alerted || 0,
    text: document.body.innerText, scripts: document.scripts.length,
    cues: cues, broken: broken, table: table, away: away, nodes: nodes,
    charts: Array.from(document.querySelectorAll("svg.chart")).filter(visible).map(function (e) {
      const box = e.getBoundingClientRect();
      return [box.left, box.right];
    }),
  });
})();
