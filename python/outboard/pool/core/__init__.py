"""The pool's rules: a pure function of state, command and time, without I/O, clock or chance."""
