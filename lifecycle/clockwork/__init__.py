"""This package does what time brings (windows, deadlines), and recovers after a start."""
