// Sorting tables by a click on a heading, a filter by language, and a word where a table scrolls
// sideways; the page is whole without it.
"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  for (const head of table.tHead.querySelectorAll("th")) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const column = head.cellIndex;
      const descending = head.getAttribute("aria-sort") === "ascending";
      const key = (row) => {
        const cell = row.cells[column];
        const value = cell.dataset.value;
        return value === undefined ? cell.textContent.trim().toLowerCase() : Number(value);
      };
      const unknown = (value) => value === "" || Number.isNaN(value);
      const rows = [...body.rows].map((row) => [key(row), row]);
      rows.sort(([a], [b]) => {
        if (unknown(a) || unknown(b)) return unknown(a) - unknown(b);
        const order = a < b ? -1 : a > b ? 1 : 0;
        return descending ? -order : order;
      });
      body.append(...rows.map(([, row]) => row));
      for (const other of table.tHead.querySelectorAll("th")) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    });
  }
}
// One filter for all tables: which languages to show.
const tagged = [...document.querySelectorAll("tr[data-tag]")];
const tags = [...new Set(tagged.map((row) => row.dataset.tag))].sort();
if (tags.length > 1) {
  const bar = document.createElement("div");
  bar.className = "filter";
  bar.setAttribute("role", "group");
  bar.setAttribute("aria-label", "Languages to show");
  const shown = new Set(tags);
  const show = () => {
    for (const row of tagged) row.hidden = !shown.has(row.dataset.tag);
    for (const [tag, button] of buttons) button.setAttribute("aria-pressed", shown.has(tag));
    hints();
  };
  const buttons = tags.map((tag) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = tag;
    button.addEventListener("click", () => {
      // The first click leaves that one alone; when none is left, all are back.
      if (shown.size === tags.length) shown.clear();
      if (!shown.delete(tag)) shown.add(tag);
      if (shown.size === 0) for (const other of tags) shown.add(other);
      show();
    });
    bar.append(button);
    return [tag, button];
  });
  tagged[0].closest(".scroll").before(bar);
  addEventListener("load", show);
}
const hints = () => {
  for (const box of document.querySelectorAll(".scroll")) {
    box.classList.toggle("more", box.scrollWidth > box.clientWidth + 1);
  }
};
addEventListener("resize", hints);
hints();
