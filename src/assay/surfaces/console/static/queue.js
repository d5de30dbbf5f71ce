// The filter that somebody works through: whoever opens a ticket from it comes back to it, and goes on within it.
//
// Kept for this tab alone. Without scripts the links lead to the whole queue.

const KEPT = "assay.queue";
const queue = document.querySelector("[data-keep-queue]");

// Whoever begins anew from the overview works through everything.
if (document.querySelector("[data-forget-queue]") !== null) sessionStorage.removeItem(KEPT);
if (queue !== null) {
  // When the page is left, since its filter changes while it is shown.
  addEventListener("pagehide", () => sessionStorage.setItem(KEPT, location.search));
}

const lead = (link) => {
  const wanted = new URLSearchParams(queue === null ? sessionStorage.getItem(KEPT) ?? "" : location.search);
  const own = new URL(link.href).searchParams;
  // A page of the queue is left for its whole; after which ticket to go on, the link says itself.
  wanted.delete("after");
  own.forEach((value, name) => wanted.set(name, value));
  link.search = wanted.toString();
};

for (const link of document.querySelectorAll("a[data-queue]")) {
  lead(link);
  link.addEventListener("click", () => lead(link));
}
