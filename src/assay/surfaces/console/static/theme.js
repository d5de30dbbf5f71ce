// Light, dark, or as the system has it: chosen once in a browser, applied before the page is painted.

const chosen = localStorage.getItem("assay.theme");
if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
