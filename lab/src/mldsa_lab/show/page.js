// Sorting tables by a click on a heading, and a word where a table scrolls sideways; the page is
// whole without it.
"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  for (const head of table.tHead.querySelectorAll("th:not(.interval)")) {
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
const hints = () => {
  for (const box of document.querySelectorAll(".scroll")) {
    box.classList.toggle("more", box.scrollWidth > box.clientWidth + 1);
  }
};
addEventListener("resize", hints);
hints();
