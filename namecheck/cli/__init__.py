"""The command line: one file a verb, in `verbs`."""
