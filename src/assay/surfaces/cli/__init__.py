"""The command line: `assay NOUN VERB`, data on standard output, words on standard error, the exit code as the answer.

arguments -> LazyGroup -> one command -> one flow -> Call.answer
May import: wiring and everything below, when a command runs. Importing `main` imports nothing heavy.
"""
