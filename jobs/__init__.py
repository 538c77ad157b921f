"""What a command does from beginning to end: compile, choose, compare, prove, estimate."""
