"""Where packs are trained: in this process, or in several; by one worker in either case."""
