"""Where examples come from, one source a file: `name(files, **arguments) -> Dataset`."""
