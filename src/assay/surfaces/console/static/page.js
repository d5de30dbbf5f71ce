// What every page has: local times, copy buttons, cards on a narrow screen, appearance, and the palette (Ctrl+K).

const ZONED = { year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false, timeZoneName: "short" };

// `2026-11-18 14:05:07 CET`: the order of ISO 8601, in the zone of this browser.
const local = (moment) => {
  const parts = Object.fromEntries(new Intl.DateTimeFormat("en-GB", ZONED).formatToParts(moment).map((one) => [one.type, one.value]));
  return `${parts.year}-${parts.month}-${parts.day} ${parts.hour}:${parts.minute}:${parts.second} ${parts.timeZoneName}`;
};

const showTimes = (root) => {
  for (const time of root.querySelectorAll("time[datetime]:not([data-local])")) {
    const moment = new Date(time.dateTime);
    if (Number.isNaN(moment.valueOf())) continue;
    const here = local(moment);
    time.dataset.local = here;
    if (time.classList.contains("at")) {
      time.textContent = here;
      time.title = `${time.dateTime} (UTC)`;
    } else {
      time.title = `${here}\n${time.dateTime} (UTC)`;
    }
  }
};

const showCopies = (root) => {
  for (const button of root.querySelectorAll("button.copy[hidden]")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      const words = button.textContent;
      try {
        await navigator.clipboard.writeText(button.dataset.copy);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Not copied";
      }
      setTimeout(() => { button.textContent = words; }, 1500);
    });
  }
};

// Each cell knows its column, so that a narrow screen can show a row as a card.
const labelCells = (root) => {
  for (const table of root.querySelectorAll(".wide:not(.fits) > table:not([data-cards])")) {
    const heads = [...table.querySelectorAll("thead th")].map((one) => one.textContent.trim());
    if (heads.length === 0) continue;
    for (const row of table.tBodies[0]?.rows ?? []) {
      [...row.cells].forEach((cell, place) => { if (cell.colSpan === 1) cell.dataset.head = heads[place] ?? ""; });
    }
    table.dataset.cards = "yes";
  }
};

const dress = (root) => {
  showTimes(root);
  showCopies(root);
  labelCells(root);
};

dress(document);
// What is swapped in is dressed too; a focused row or field of the same id has the focus again.
let focused = null;
document.body.addEventListener("htmx:beforeSwap", () => { focused = document.activeElement?.id ?? null; });
document.body.addEventListener("htmx:afterSettle", (event) => {
  dress(event.target.parentElement ?? document);
  if (focused && document.activeElement === document.body) document.getElementById(focused)?.focus();
});

const theme = document.getElementById("theme");
if (theme !== null) {
  document.getElementById("theme-choice").hidden = false;
  theme.value = document.documentElement.dataset.theme ?? "";
  theme.addEventListener("change", () => {
    if (theme.value === "") {
      localStorage.removeItem("assay.theme");
      delete document.documentElement.dataset.theme;
    } else {
      localStorage.setItem("assay.theme", theme.value);
      document.documentElement.dataset.theme = theme.value;
    }
    document.dispatchEvent(new Event("theme"));
  });
}

const palette = document.getElementById("palette");
if (palette !== null) {
  const text = document.getElementById("palette-text");
  const options = [...document.querySelectorAll("#palette-list [role=option]")];
  const finder = options.at(-1);
  options.forEach((option, place) => { option.id = `palette-${place}`; });
  const shown = () => options.filter((option) => !option.hidden);
  const select = (option) => {
    options.forEach((one) => one.setAttribute("aria-selected", String(one === option)));
    if (option) {
      text.setAttribute("aria-activedescendant", option.id);
      option.scrollIntoView({ block: "nearest" });
    }
  };
  const narrow = () => {
    const wanted = text.value.trim().toLowerCase();
    for (const option of options) option.hidden = option !== finder && !option.textContent.toLowerCase().includes(wanted);
    finder.hidden = wanted === "";
    finder.textContent = `Find “${text.value.trim()}”`;
    finder.dataset.href = finder.dataset.find + encodeURIComponent(text.value.trim());
    select(shown()[0]);
  };
  const open = () => {
    text.value = "";
    narrow();
    palette.showModal();
    text.focus();
  };
  const go = (option) => { if (option?.dataset.href) location.assign(option.dataset.href); };
  const opener = document.getElementById("palette-open");
  opener.hidden = false;
  opener.addEventListener("click", open);
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      if (palette.open) palette.close(); else open();
    }
  });
  text.addEventListener("input", narrow);
  text.addEventListener("keydown", (event) => {
    const rows = shown();
    const here = rows.findIndex((one) => one.getAttribute("aria-selected") === "true");
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      select(rows[(here + (event.key === "ArrowDown" ? 1 : rows.length - 1)) % rows.length]);
    } else if (event.key === "Enter" && here >= 0) {
      event.preventDefault();
      go(rows[here]);
    }
  });
  options.forEach((option) => option.addEventListener("click", () => go(option)));
}
