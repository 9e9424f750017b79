"""This package runs Sentinel's rules in threads, leaves late ones behind, and runs rules' cases."""
