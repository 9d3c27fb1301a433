"""Several devices that train one run."""
