
"use strict";
// Everything can be read without this: it sorts and searches tables, opens findings together, and marks an object wherever it is.
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  if (body.rows.length < 2) continue;
  const value = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v);
  };
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const rows = [...body.rows];
      const isNumeric = rows.some((row) => typeof value(row, column) === "number");
      const now = head.getAttribute("aria-sort");
      const order = now === (isNumeric ? "descending" : "ascending") ? (isNumeric ? "ascending" : "descending") : (isNumeric ? "descending" : "ascending");
      const sign = order === "ascending" ? 1 : -1;
      const compare = (a, b) =>
        isNumeric
          ? (Number(a) || 0) - (Number(b) || 0)
          : String(a).localeCompare(String(b), "en", { numeric: true });
      rows.sort((a, b) => sign * compare(value(a, column), value(b, column)));
      heads.forEach((it) => it.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", order);
      body.append(...rows);
    });
  });
}
for (const box of document.querySelectorAll("[data-searched]")) {
  const search = document.createElement("input");
  search.type = "search";
  search.placeholder = "Search";
  search.setAttribute("aria-label", "Search in the table");
  box.before(search);
  search.addEventListener("input", () => {
    const wanted = search.value.toLowerCase();
    for (const row of box.querySelectorAll("tbody > tr")) {
      row.hidden = !row.textContent.toLowerCase().includes(wanted);
    }
  });
}
for (const tools of document.querySelectorAll("[data-findings]")) {
  const all = () => tools.parentElement.querySelectorAll("details.finding");
  for (const [words, open] of [["Open all", true], ["Close all", false]]) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = words;
    button.addEventListener("click", () => all().forEach((it) => (it.open = open)));
    tools.append(button);
  }
}
const objects = [...document.querySelectorAll(".o")];
const mark = (object) => {
  const isMarked = object.classList.contains("marked");
  for (const it of objects) {
    it.classList.toggle("marked", !isMarked && it.textContent === object.textContent);
  }
};
for (const object of objects) {
  object.tabIndex = 0;
  object.setAttribute("role", "button");
  object.title = "Mark it wherever it is";
  object.addEventListener("click", (event) => {
    event.preventDefault();
    mark(object);
  });
  object.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      mark(object);
    }
  });
}
const openTarget = () => {
  const target = document.getElementById(location.hash.slice(1));
  if (target instanceof HTMLDetailsElement) target.open = true;
};
addEventListener("hashchange", openTarget);
openTarget();
