"""What the bot needs of its own process and of the system beneath it: the loop and its threads, its
end, the copies that tools fork, the standard streams, sockets, names, folders and files.

Nothing here knows the config or a chat; of the law, `supervised.py` asks the store whether it
answers.
"""

from __future__ import annotations
