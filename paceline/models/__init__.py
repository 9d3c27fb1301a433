"""Networks as plain modules, one family a file. A model is built from (input_shape, outputs, its own arguments)."""
