"""How many instructions a getrandom executes, by the length of a call and the position in the
batch, where it needs no system call."""
