"""Records: a folder a study, a folder a pack in it, plain files that any shared filesystem can hold."""
