"""Text as its reader takes it: what hides in it, what it imitates, what is secret or money."""
