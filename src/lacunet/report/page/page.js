"use strict";
(function () {
  // Everything from the data reaches the page as text: textContent, never innerHTML.
  const tip = document.getElementById("tip");

  function fill(words) {
    tip.textContent = "";
    words.split("\n").forEach(function (line, i) {
      const row = document.createElement("div");
      const parts = line.split("\t");
      row.className = i === 0 && words.includes("\n") ? "head" : "row";
      parts.forEach(function (part) {
        const span = document.createElement("span");
        span.textContent = part;
        row.appendChild(span);
      });
      tip.appendChild(row);
    });
  }

  function place(x, y) {
    const box = tip.getBoundingClientRect();
    const room = document.documentElement.clientWidth;
    let left = x + 14;
    if (left + box.width > room - 8) left = x - box.width - 14;
    left = Math.max(8, Math.min(left, room - box.width - 8));
    let top = y + 16;
    if (top + box.height > window.innerHeight - 8) top = y - box.height - 12;
    tip.style.left = left + "px";
    tip.style.top = Math.max(8, top) + "px";
  }

  let shown = null;
  function show(target, x, y) {
    if (target !== shown) {
      if (shown) shown.classList.remove("touched");
      shown = target;
      target.classList.add("touched");
      fill(target.getAttribute("data-tip"));
      tip.hidden = false;
    }
    place(x, y);
  }
  function hide() {
    if (shown) shown.classList.remove("touched");
    shown = null;
    tip.hidden = true;
  }
  function touched(event) {
    const target = event.target.closest ? event.target.closest("[data-tip]") : null;
    if (target) show(target, event.clientX, event.clientY);
    else hide();
  }
  // The keyboard reaches what can be pointed at in pictures.
  function focused() {
    const target = document.activeElement;
    return target && target.matches("[data-tip]:focus-visible") ? target : null;
  }
  function follow() {
    const target = focused();
    if (!target) return hide();
    const box = target.getBoundingClientRect();
    show(target, box.left, box.bottom - 6);
  }
  document.addEventListener("pointermove", touched);
  document.addEventListener("pointerdown", touched);
  document.addEventListener("focusin", follow);
  document.addEventListener("focusout", hide);
  document.addEventListener("scroll", follow, { capture: true, passive: true });
  document.addEventListener("keydown", function (event) {
    if (event.key === "Escape") hide();
  });

  // What is wider than its room says so, and on which side there is more of it.
  const wide = Array.from(document.querySelectorAll(".scroll, nav ul"));
  function cue(box) {
    const more = box.scrollWidth - box.clientWidth;
    box.classList.toggle("more-left", more > 4 && box.scrollLeft > 4);
    box.classList.toggle("more-right", more > 4 && box.scrollLeft < more - 4);
    const said = box.previousElementSibling;
    const told = said && said.classList.contains("beside");
    if (more > 4 && box.clientWidth && !told && box.classList.contains("scroll")) {
      const words = document.createElement("span");
      words.className = "beside";
      words.textContent = "more to the right: slide \u2192";
      box.before(words);
    } else if (told) said.hidden = more <= 4;
  }
  function cues() { wide.forEach(cue); }
  wide.forEach(function (box) {
    box.addEventListener("scroll", function () { cue(box); }, { passive: true });
  });
  window.addEventListener("resize", cues);
  document.addEventListener("toggle", cues, true);
  document.addEventListener("change", cues);
  cues();

  const copy = document.getElementById("copy");
  if (navigator.clipboard) {
    copy.hidden = false;
    copy.addEventListener("click", function () {
      navigator.clipboard.writeText(document.getElementById("command").textContent).then(
        function () { copy.textContent = "Copied"; },
        function () { copy.textContent = "Not allowed here"; }
      );
    });
  }

  // Paper cannot be clicked: open everything while printing.
  let closed = [];
  window.addEventListener("beforeprint", function () {
    hide();
    closed = Array.from(document.querySelectorAll("details:not([open])"));
    closed.forEach(function (d) { d.open = true; });
  });
  window.addEventListener("afterprint", function () {
    closed.forEach(function (d) { d.open = false; });
  });
})();
