"""What the commands do: each reads its arguments, calls one function of the package, and prints."""
