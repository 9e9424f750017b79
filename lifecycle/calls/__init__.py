"""This package calls tools: claims calls, makes them, judges answers, finishes (section 7)."""
