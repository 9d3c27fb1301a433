"""Two nodes on one machine: network namespaces joined by a link of a stated speed."""
