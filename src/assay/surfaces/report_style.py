"""How an audit report looks: on light and dark screens, and on paper."""

STYLE = """\
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #ffffff; --faint: #57606a; --line: #d0d7de; --tint: #f6f8fa;
  --link: #0550ae; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --paper: #0d1117; --faint: #9da7b1; --line: #3d444d; --tint: #161b22; --link: #79b8ff; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", "Liberation Sans", Arial, sans-serif; }
main { max-width: 72rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 1rem; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 0.75rem; }
a { color: var(--link); }
dl { margin: 0; border-top: 1px solid var(--line); }
dl > div { display: grid; grid-template-columns: 9rem 1fr; gap: 1rem; padding: 0.35rem 0;
  border-bottom: 1px solid var(--line); }
dt { color: var(--faint); }
dd { margin: 0; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
.scroll:focus-visible, a:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
table { width: 100%; border-collapse: collapse; font-size: 0.9rem; }
caption { text-align: left; color: var(--faint); padding: 0.25rem 0; }
th, td { text-align: left; vertical-align: top; padding: 0.45rem 0.6rem; border-bottom: 1px solid var(--line);
  overflow-wrap: anywhere; }
thead th { background: var(--tint); white-space: nowrap; }
tbody th { font-weight: 600; font-variant-numeric: tabular-nums; white-space: nowrap; }
td time { white-space: nowrap; }
[aria-labelledby="summary"] :is(th, td):last-child { text-align: right; font-variant-numeric: tabular-nums; }
tr:target { background: var(--tint); }
time, code, pre { font-family: ui-monospace, "Liberation Mono", Menlo, Consolas, monospace; font-size: 0.85em; }
small { color: var(--faint); }
pre { background: var(--tint); border: 1px solid var(--line); padding: 0.75rem; white-space: pre-wrap;
  overflow-wrap: anywhere; }
@page { size: A4; margin: 16mm 14mm;
  @bottom-right { content: "page " counter(page) " of " counter(pages);
    font: 8pt "Liberation Sans", Arial, sans-serif; } }
@media print {
  :root { --ink: #000000; --paper: #ffffff; --faint: #444444; --line: #999999; --tint: #f2f2f2; --link: #000000; }
  body { font-size: 9.5pt; }
  main { max-width: none; padding: 0; }
  h2 { break-after: avoid; }
  .scroll { overflow: visible; }
  thead { display: table-header-group; }
  tr, pre { break-inside: avoid; }
  table { font-size: 8.5pt; }
  a { text-decoration: none; }
  #proofs { break-before: page; }
}
"""
