"""Many runs as one program: parameters with a leading dimension of runs, one forward and backward pass for all."""
