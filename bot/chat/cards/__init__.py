"""Builds the cards of proposals, free of any platform's form; each platform renders them."""
