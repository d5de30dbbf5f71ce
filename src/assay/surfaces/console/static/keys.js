// Single keys for the review desk: a digit chooses, Enter signs and goes on, Ctrl+Enter does so while writing, u undoes.
//
// Other keys are ignored while somebody writes; every combination but Ctrl+Enter is left to the browser. They can be
// turned off.

const REMEMBERED = "assay.keys";
const PRESSED = new Set(["button", "checkbox", "file", "radio", "reset", "submit"]);

const panel = document.getElementById("keys");
const wanted = document.getElementById("keys-on");

const isWriting = (element) =>
  element.isContentEditable ||
  element.matches("textarea, select") ||
  (element.matches("input") && !PRESSED.has(element.type));

// The first link of each row is where the row leads.
const rowLinks = () =>
  [...document.querySelectorAll("main tbody tr")].map((row) => row.querySelector("a[href]")).filter(Boolean);

const step = (by) => {
  const links = rowLinks();
  const here = links.findIndex((link) => link.closest("tr").contains(document.activeElement));
  const next = here < 0 ? (by > 0 ? 0 : links.length - 1) : here + by;
  links[next]?.focus();
};

const focusOn = (selector) => document.querySelector(selector)?.focus();

const choose = (number) => {
  const choice = document.querySelectorAll("main input[type=radio][name=choice]")[number - 1];
  if (choice === undefined) return;
  choice.checked = true;
  choice.focus();
};

const LAST = "assay.last";
const UNDO = "assay.undo";

// Sign the chosen answer and go on with the next ticket of the queue.
const sign = () => {
  const form = document.getElementById("answer");
  const next = document.getElementById("next");
  if (form === null || form.querySelector("input[name=choice]:checked") === null) return false;
  if (!form.reportValidity()) return true;
  form.elements.then.value = next === null ? "" : new URL(next.href).pathname + new URL(next.href).search;
  sessionStorage.setItem(LAST, location.pathname);
  form.requestSubmit(document.getElementById("sign"));
  return true;
};

// The answer on this page, else the last one that was signed by a key.
const undo = () => {
  const button = document.getElementById("undo");
  const last = sessionStorage.getItem(LAST);
  if (button !== null) {
    sessionStorage.removeItem(LAST);
    button.click();
  } else if (last !== null && last !== location.pathname) {
    sessionStorage.setItem(UNDO, last);
    location.assign(last);
  }
};

const acts = new Map([
  ["j", () => step(1)],
  ["k", () => step(-1)],
  ["b", () => document.querySelector("main .trail a")?.click()],
  ["u", undo],
  ["n", () => document.getElementById("next")?.click()],
  ["/", () => focusOn("main form.filters input")],
  ["r", () => focusOn("main textarea[name=reason]")],
  ["?", () => { panel.open = !panel.open; }],
  ...[..."123456789"].map((digit) => [digit, () => choose(Number(digit))]),
]);

const hear = (event) => {
  const isEnter = wanted.checked && event.key === "Enter" && !event.isComposing && event.target instanceof Element;
  if (isEnter && (event.ctrlKey ? event.target.closest("#answer") : event.target.matches("#answer input[type=radio]"))) {
    if (sign()) event.preventDefault();
    return;
  }
  if (!wanted.checked || event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
  if (event.target instanceof Element && isWriting(event.target)) return;
  const act = acts.get(event.key);
  if (act === undefined) return;
  event.preventDefault();
  act();
};

if (panel !== null) {
  panel.hidden = false;
  wanted.checked = localStorage.getItem(REMEMBERED) !== "off";
  wanted.addEventListener("change", () => localStorage.setItem(REMEMBERED, wanted.checked ? "on" : "off"));
  document.addEventListener("keydown", hear);
  const last = sessionStorage.getItem(LAST);
  const flash = document.getElementById("flash");
  if (sessionStorage.getItem(UNDO) === location.pathname) {
    sessionStorage.removeItem(UNDO);
    undo();
  } else if (flash !== null && last !== null && last !== location.pathname) {
    const link = Object.assign(document.createElement("a"), { href: last, textContent: "previous ticket" });
    flash.append("Recorded: ", link, ". Press u to undo it.");
    flash.hidden = false;
  }
}
