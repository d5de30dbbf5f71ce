"""Console: pages for people, rendered here; a browser needs nothing from elsewhere.

cookie -> session -> person -> one flow -> page;   a form with its token -> one flow -> the page that shows what holds
May import: node and everything below, and `surfaces.http` for what every request shares.
"""
