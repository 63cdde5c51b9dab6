// The table of guarantees: filter, search, order, and moving by keys. Without it the page is a plain table of links.
const byId = (id) => document.getElementById(id);
const grid = byId("grid");
const fields = { q: "search", target: "target", is: "is", level: "level", harm: "harm", order: "order", differs: "differs" };
const rows = [...grid.querySelectorAll("tr.row")];
const bodies = [...grid.tBodies];
const homes = new Map(rows.map((row) => [row, row.parentNode]));
const columns = new Map([...byId("target").options].slice(1).map((option, place) => [option.value, place]));
const texts = new Map(rows.map((row) => [row, `${row.cells[0].textContent} ${row.dataset.cases}`.toLowerCase()]));
const flat = document.createElement("tbody");
const value = (name) => (name === "differs" ? (byId("differs").checked ? "1" : "") : byId(fields[name]).value);

function fits(row, wanted) {
  const words = wanted.q.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.every((word) => texts.get(row).includes(word))) return false;
  if (wanted.level && row.dataset.level !== wanted.level) return false;
  if (wanted.differs && !("differs" in row.dataset)) return false;
  let asked = [...row.querySelectorAll("td[class^='is-']")];
  if (columns.has(wanted.target)) asked = [asked[columns.get(wanted.target)]];
  const some = (fitting) => asked.some(fitting);
  return (!wanted.is || some((cell) => cell.className === `is-${wanted.is}`)) && (!wanted.harm || some((cell) => cell.dataset.harm === wanted.harm));
}

function show() {
  const wanted = Object.fromEntries(Object.keys(fields).map((name) => [name, value(name)]));
  let shown = 0;
  for (const row of rows) {
    row.hidden = !fits(row, wanted);
    shown += row.hidden ? 0 : 1;
  }
  choose(columns.get(wanted.target));
  arrange(wanted.order === "harm");
  for (const body of bodies) body.hidden = !body.querySelector("tr.row:not([hidden])");
  byId("shown").textContent = `${shown} of ${rows.length} guarantees`;
  const told = Object.entries(wanted).filter(([, text]) => text);
  history.replaceState(null, "", `#${new URLSearchParams(told)}`);
  if (!current || current.closest("[hidden]")) enter(cells()[0]?.[0]);
}

// The column of a chosen target is marked, and brought into sight.
let chosen;
function choose(place) {
  if (place === chosen) return;
  const heads = [...grid.querySelectorAll("th.target")];
  heads.forEach((head, number) => head.classList.toggle("chosen", number === place));
  chosen = place;
  const pinned = grid.querySelector("thead .corner").offsetWidth;
  if (place !== undefined) grid.parentNode.scrollLeft = heads[place].offsetLeft - pinned - 8;
}

function arrange(harmful) {
  if (harmful) {
    const sorted = [...rows].sort((a, b) => a.dataset.harm - b.dataset.harm);
    grid.append(flat);
    flat.append(...sorted);
  } else if (flat.isConnected) {
    for (const row of rows) homes.get(row).append(row);
    flat.remove();
  }
}

// One link of the table can be reached by Tab; arrows move it.
let current = null;
const cells = () => [...grid.querySelectorAll("tr.row:not([hidden])")].map((row) => [...row.querySelectorAll("a")]);
function enter(link, focus) {
  if (current) current.tabIndex = -1;
  current = link ?? null;
  if (!current) return;
  current.tabIndex = 0;
  if (focus) {
    current.focus();
    current.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
}
function move(event) {
  const link = event.target.closest("a");
  if (!link || event.altKey || event.metaKey) return;
  const table = cells();
  let y = table.findIndex((row) => row.includes(link));
  let x = table[y]?.indexOf(link);
  const last = table[0].length - 1;
  const steps = {
    ArrowUp: () => (y -= 1), ArrowDown: () => (y += 1), ArrowLeft: () => (x -= 1), ArrowRight: () => (x += 1),
    PageUp: () => (y -= 10), PageDown: () => (y += 10),
    Home: () => ((x = 0), event.ctrlKey && (y = 0)), End: () => ((x = last), event.ctrlKey && (y = table.length - 1)),
  };
  if (!(event.key in steps)) return;
  event.preventDefault();
  steps[event.key]();
  const clamp = (number, most) => Math.max(0, Math.min(most, number));
  enter(table[clamp(y, table.length - 1)][clamp(x, last)], true);
}

function read() {
  const told = new URLSearchParams(location.hash.slice(1));
  for (const name of Object.keys(fields)) {
    if (name === "differs") byId("differs").checked = told.has("differs");
    else byId(fields[name]).value = told.get(name) ?? "";
  }
  show();
}

// On a phone the filters would take the whole screen: they begin closed; how many rows are shown stands below.
const filter = byId("filter");
filter.open = !matchMedia("(max-width: 700px)").matches;
function search() {
  filter.open = true;
  byId("search").focus();
}

grid.setAttribute("role", "grid");
for (const link of grid.querySelectorAll("tr.row a")) link.tabIndex = -1;
grid.addEventListener("keydown", move);
grid.addEventListener("focusin", (event) => event.target.matches("tr.row a") && enter(event.target));
for (const id of Object.values(fields)) byId(id).addEventListener("input", show);
byId("clear").addEventListener("click", () => {
  history.replaceState(null, "", "#");
  read();
  search();
});
addEventListener("keydown", (event) => {
  if (event.key === "/" && !event.target.matches("input, select")) {
    event.preventDefault();
    search();
  }
});
addEventListener("hashchange", read);
read();
