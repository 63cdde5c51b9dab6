// Filter by verdict, open what an anchor points at, open everything on paper. The page reads well without it.
const buttons = document.querySelectorAll("nav.filter button");
function show(wanted) {
  buttons.forEach((b) => b.setAttribute("aria-pressed", String(b.value === wanted)));
  document.querySelectorAll("[data-verdict]").forEach((e) => {
    e.hidden = wanted !== "" && !e.dataset.verdict.split(" ").includes(wanted);
  });
  document.querySelectorAll("section.cause").forEach((cause) => {
    cause.hidden = !cause.querySelector("article:not([hidden])");
  });
  document.querySelectorAll("details.area").forEach((area) => {
    area.hidden = !area.querySelector("tr:not([hidden])");
    if (wanted !== "") area.open = true;
  });
}
function open() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  if (target.closest("[hidden]")) show("");
  for (let d = target.closest("details"); d; d = d.parentElement.closest("details")) d.open = true;
  target.querySelectorAll(":scope > details").forEach((d) => (d.open = true));
  target.scrollIntoView();
}
buttons.forEach((b) => b.addEventListener("click", () => show(b.value)));
addEventListener("hashchange", open);
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => (d.open = true)));
open();
