"""This package reads texts as their reader takes them: hidden, imitating, secret, or money."""
