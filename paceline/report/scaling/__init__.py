"""What more devices buy: the runs by their number of devices, the tables and sentences of them."""
