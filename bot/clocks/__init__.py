"""This package tells the bot what time it is, and what to do if the machine's clock was set.

`clock` is the bot's own clock, which does not jump; the others compare it with that of the former
process (`resumed`), with the machine's (`strayed`) and with the trail (`told`).
"""
